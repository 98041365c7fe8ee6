"""Recordings of the real platform, run in a world."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from durasim.actors import InputGate, Section
from durasim.actors.layers import Layer, Layers
from durasim.actors.output import OutputGate
from durasim.sim.conform import Conformance, ProgramResult, UnreadableCorpus, conform
from durasim.sim.conform.corpus import BACKENDS, compare, judge, not_applicable, read, same

SAMPLE = Path(__file__).parent / "recordings" / "sample.json"
BESIDE = Path(__file__).parents[4] / "shared" / "conformance"

REQUIRED = (
    "lifecycle identity inputgate outputgate kv list transaction alarm order reset lifetime clock "
    "fuzzgate fuzzkv"
).split()

RECORDINGS = (
    [pytest.param(BESIDE / f"{topic}.json", id=topic) for topic in REQUIRED]
    if BESIDE.is_dir()
    else [pytest.param(SAMPLE, id="only the sample: no shared/conformance beside this clone")]
)


def program(identity: str) -> dict[str, Any]:
    """One program of the sample."""
    return next(dict(each) for each in read(SAMPLE) if each["id"] == identity)


@pytest.mark.parametrize("path", RECORDINGS)
def test_all_programs_do_what_the_platform_did(path: Path) -> None:
    """Every program of a required topic passes on each of its back ends."""
    report = conform([path])

    assert report.count("passed") > 0
    assert not [each for each in report.programs if each.result == "failed"]


def test_the_sample_passes() -> None:
    """The recordings copied into this repository pass, whatever lies beside it."""
    report = conform([SAMPLE])

    assert report.lines() == [f"{len(report.programs)} passed, 0 failed, 0 not applicable"]
    assert len(report.programs) == sum(len(each.get("backends", BACKENDS)) for each in read(SAMPLE))


def test_few_programs_are_excused_and_each_with_rule_and_reason() -> None:
    """At most 25 pairs do not apply; each says by which rule and why."""
    excused = not_applicable()

    assert 0 < len(excused) <= 25
    assert all(reason.partition(": ")[2] for reason in excused.values())


@pytest.mark.parametrize("path", RECORDINGS)
def test_no_excuse_is_given_without_need(path: Path) -> None:
    """A pair that is excused would fail; one that passes needs no excuse."""
    excused = not_applicable()

    needless = [
        (each["id"], backend)
        for each in read(path)
        for backend in each.get("backends", BACKENDS)
        if (each["id"], backend) in excused and judge(each, backend).result == "passed"
    ]

    assert needless == []


def ignore_sections(
    self: InputGate,
    scope: Section | None,
    action: Callable[[], bool],
    right: Callable[..., None] = InputGate.enter,
) -> None:
    """A defect: every event counts as begun in the section that runs."""
    del scope
    right(self, self.top, action)


def keep_all(
    self: Layers, layer: Layer, *, keep: bool, right: Callable[..., bool] = Layers.pop
) -> bool:
    """A defect: a transaction that raised is kept."""
    del keep
    return right(self, layer, keep=True)


def let_out(self: OutputGate, action: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """A defect: nothing waits until what was written before it is durable."""
    del self
    action(*arguments)


def stop_at_an_end(self: InputGate, section: Section, action: Callable[[], bool]) -> None:
    """A defect: whoever awaits a section hears of its end behind all others."""
    section.ended = True
    self.top = section.parent
    self.enter(section.parent, action)


@pytest.mark.parametrize(
    ("owner", "name", "defect", "identity", "seen"),
    [
        (InputGate, "enter", ignore_sections, "inputgate-007", "t.fired"),
        (InputGate, "end", stop_at_an_end, "inputgate-032", "after-block"),
        (Layers, "pop", keep_all, "transaction-019", 'event 3 is {"at": "a", "ev": "a", "ok": 2}'),
        (OutputGate, "emit", let_out, "outputgate-010", '{"at": "main", "ev": "violator", "ok": '),
    ],
)  # fmt: skip
def test_a_planted_defect_is_seen(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    defect: Callable[..., Any],
    identity: str,
    seen: str,
) -> None:
    """A checker that cannot fail shows nothing: with a defect in the actors a program fails."""
    monkeypatch.setattr(owner, name, defect)

    result = judge(program(identity), "sqlite")

    assert result.result == "failed"
    assert seen in str(result.difference)


def event(at: str, ev: str, **outcome: Any) -> dict[str, Any]:
    """One event of a trace."""
    return {"at": at, "ev": ev, **outcome}


def observed(*trace: dict[str, Any], result: Any = None) -> dict[str, Any]:
    """What a run observed."""
    return {"trace": list(trace), "result": {"ok": result}}


def test_orders_are_compared_in_whole_or_by_participant() -> None:
    """Of the order "actor" only the events of each participant count."""
    one = observed(event("a", "x"), event("main", "y"), event("a", "z"))
    other = observed(event("main", "y"), event("a", "x"), event("a", "z"))

    assert compare(one, other, "actor") is None
    assert compare(one, other, "total") == (
        'event 1 is {"at": "main", "ev": "y"}, not {"at": "a", "ev": "x"}'
    )


@pytest.mark.parametrize(
    ("seen", "difference"),
    [
        (observed(event("a", "x", ok=1)), None),
        (observed(), 'event 1 is missing: {"at": "a", "ev": "x", "ok": 1}'),
        (
            observed(event("a", "x", ok=1), event("a", "x", ok=1)),
            'event 2 is one too many: {"at": "a", "ev": "x", "ok": 1}',
        ),
        (
            observed(event("a", "x", ok=True)),
            'event 1 is {"at": "a", "ev": "x", "ok": true}, not {"at": "a", "ev": "x", "ok": 1}',
        ),
        (observed(event("a", "x", ok=1), result=2), 'the result is {"ok": 2}, not {"ok": null}'),
        ({"trace": [event("a", "x", ok=1)]}, 'the result is null, not {"ok": null}'),
    ],
)
def test_the_first_difference_is_told(seen: dict[str, Any], difference: str | None) -> None:
    """Another event, one missing, one too many, another result."""
    assert compare(observed(event("a", "x", ok=1)), seen, "total") == difference


def test_long_differences_are_cut() -> None:
    """A difference is one line of bounded length."""
    wanted = observed(event("a", "x", ok="w" * 1000))

    assert len(str(compare(wanted, observed(event("a", "x")), "total"))) < 400


def test_values_are_the_same_only_with_their_type() -> None:
    """True is not 1, "1" is not 1; members have no order, elements have."""
    assert same({"a": [1, None], "b": 2.0}, {"b": 2, "a": [1, None]})
    assert not same(True, 1)
    assert not same(0, False)
    assert not same("1", 1)
    assert not same([1, 2], [2, 1])
    assert not same([1], [1, 1])
    assert not same({"a": 1}, {"a": 1, "b": 1})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a recording"),
        ('{"format": "other/1", "programs": []}', "not a recording"),
        ('{"format": "do-conformance/1"}', "a program that lacks id"),
        ('{"format": "do-conformance/1", "programs": [{"id": "x"}]}', "a program that lacks id"),
        ("\udcff", "not JSON"),
    ],
)
def test_what_is_no_recording_is_one_clear_error(tmp_path: Path, text: str, reason: str) -> None:
    """Nothing is run, and the error names the file."""
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(UnreadableCorpus, match=reason) as caught:
        conform([SAMPLE, path])

    assert str(path) in str(caught.value)


def test_a_path_without_recordings_is_one_clear_error(tmp_path: Path) -> None:
    """A missing file and an empty directory are told."""
    with pytest.raises(UnreadableCorpus, match="No such file"):
        conform([tmp_path / "missing.json"])
    with pytest.raises(UnreadableCorpus, match="without recordings"):
        conform([tmp_path])


def test_a_directory_is_read_by_file_name(tmp_path: Path) -> None:
    """All its recordings, in the order of their names."""
    for name, identity in (("b", "order-003"), ("a", "kv-004")):
        document = {"format": "do-conformance/1", "programs": [program(identity)]}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))

    assert [each["id"] for each in read(tmp_path)] == ["kv-004", "order-003"]


def test_the_report_is_a_document_and_lines() -> None:
    """Counts and every program for scripts; failures, excuses and sums for people."""
    report = Conformance(
        (
            ProgramResult("a-1", "sqlite", "passed"),
            ProgramResult("a-1", "cache", "failed", "event 1 is missing"),
            ProgramResult("a-2", "cache", "not applicable", "AL-1: why"),
        )
    )

    assert not report.ok
    assert report.as_json() == {
        "passed": 1,
        "failed": 1,
        "not_applicable": 1,
        "programs": [
            {"id": "a-1", "backend": "sqlite", "result": "passed", "difference": None},
            {
                "id": "a-1",
                "backend": "cache",
                "result": "failed",
                "difference": "event 1 is missing",
            },
            {
                "id": "a-2",
                "backend": "cache",
                "result": "not applicable",
                "difference": "AL-1: why",
            },
        ],
    }
    assert report.lines() == [
        "not applicable: a-2 (cache): AL-1: why",
        "failed: a-1 (cache): event 1 is missing",
        "1 passed, 1 failed, 1 not applicable",
    ]

"""A replay file is read as it was written, and its run is the exact run again or says where not."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from durasim.sim import (
    Deviation,
    Found,
    Mutant,
    ReplayFile,
    System,
    UnknownScenario,
    UnreadableReplay,
    UnwritableReplay,
    explore,
    read_replay,
    replay,
    systems,
    write_replay,
)

from ..quality.planted import BUGS, Bug
from .stories import retried, right, unwritable

each_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.broken.name)

STORY = """
from durasim.actors import DurableObject, OutcomeUnknown
from durasim.sim import LoseReply, scenario


class Box(DurableObject):
    async def add(self) -> int:
        total = await self.storage.get("total", 0) + 1
        self.storage.put("total", total)
        return total


@scenario(faults=(LoseReply(Box.add, at_most=1),))
async def boxes(world):
    box = world.client("ann").get(Box, "b")
    for _ in range(2):
        try:
            await box.add()
        except OutcomeUnknown:
            await box.add()
    assert world.stored(Box, "b")["total"] == 2
"""


def no_step(by: int) -> int:
    """Add nothing."""
    return 0 * by


def found(**rest: Any) -> Found:
    """Return a failure of `retried`, with one deviation left."""
    return explore(retried, runs=50, **rest).found[0]


def document(path: Path) -> dict[str, Any]:
    """Return the JSON of a file."""
    read: dict[str, Any] = json.loads(path.read_text())
    return read


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a failure of `retried`."""
    path = tmp_path / "retried.json"
    write_replay(found().replay, path)
    return path


# ---- files


def test_a_file_holds_what_the_contract_says(file: Path) -> None:
    """The fields and their order are a contract that scripts rely on."""
    fields = document(file)

    assert " ".join(fields) == (
        "format durasim python scenario parameters mutant seed strategy deviations property digest"
    )
    assert fields["format"] == 1
    assert list(fields["deviations"][0]) == ["choice", "option", "sentence"]
    assert fields["deviations"][0]["sentence"].endswith(" is lost")
    assert fields["property"] == "scenario"


def test_a_file_is_read_as_it_was_written(file: Path) -> None:
    """Only the path of the scenario is told from where the file lies."""
    expected = found().replay

    assert expected.scenario == "tests/sim/stories.py:retried"
    assert attrs.evolve(read_replay(file), scenario=expected.scenario) == expected


def test_a_parameter_that_json_does_not_hold_is_refused(tmp_path: Path) -> None:
    """One line names it, and nothing is written."""
    path = tmp_path / "none.json"
    failure = explore(unwritable, runs=1).found[0]

    with pytest.raises(UnwritableReplay, match=r"^parameter 'where' is \(1, 2\): JSON does not"):
        write_replay(failure.replay, path)
    assert not path.exists()


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    """Return a function from the text of a file to that of a changed one."""

    def changed(text: str) -> str:
        fields = json.loads(text)
        change(fields)
        return json.dumps(fields)

    return changed


BAD: dict[str, tuple[Callable[[str], str], str]] = {
    "cut": (lambda text: text[:100], "is not JSON: line"),
    "empty": (lambda text: text[:0], "is not JSON: line 1"),
    "no object": (lambda text: f"[{text}]", "the top is not an object"),
    "deep": (lambda text: "[" * 100_000 + text, "recursion|is not JSON"),
    "format 2": (broken(lambda f: f.update(format=2)), "is of format 2, and this durasim reads 1"),
    "format true": (broken(lambda f: f.update(format=True)), "is of format True"),
    "no format": (broken(lambda f: f.pop("format")), "is of format None"),
    "no seed": (broken(lambda f: f.pop("seed")), "has no 'seed'"),
    "seed": (broken(lambda f: f.update(seed="x")), "'seed' is 'x', not int"),
    "bool": (broken(lambda f: f.update(seed=True)), "'seed' is True, not int"),
    "strategy": (broken(lambda f: f.update(strategy=3)), "'strategy' is 3, not str"),
    "parameters": (broken(lambda f: f.update(parameters=[])), r"'parameters' is \[\], not dict"),
    "deviations": (broken(lambda f: f.update(deviations=[1])), "a deviation is 1, without"),
    "choice": (broken(lambda f: f["deviations"][0].update(choice="x")), "'x' is not the name"),
    "option": (broken(lambda f: f["deviations"][0].pop("option")), "a deviation is {"),
    "twice": (broken(lambda f: f.update(deviations=f["deviations"] * 2)), "is chosen twice"),
    "mutant": (broken(lambda f: f.update(mutant="gone")), "no mutant is called 'gone'"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_damaged_file_is_told_in_one_line(file: Path, kind: str) -> None:
    """Its name and what is wrong: nothing ran."""
    change, message = BAD[kind]
    file.write_text(change(file.read_text()))

    with pytest.raises(UnreadableReplay, match=message) as caught:
        replay(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_told_in_one_line(tmp_path: Path) -> None:
    """As any other that cannot be read."""
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(UnreadableReplay, match="No such file"):
        read_replay(tmp_path / "none.json")
    with pytest.raises(UnreadableReplay, match="is not UTF-8 text"):
        read_replay(tmp_path / "bytes.json")
    with pytest.raises(UnreadableReplay):
        read_replay(tmp_path)


def test_a_scenario_that_is_gone_is_told(file: Path) -> None:
    """The file is fine; what it is of is not here."""
    fields = document(file)
    file.write_text(json.dumps(fields | {"scenario": "nowhere.py:gone"}))

    with pytest.raises(UnknownScenario, match=r"there is no file nowhere\.py"):
        replay(file)


# ---- the exact run again


@each_bug
def test_replaying_a_printed_file_gives_the_printed_digest_and_failure(
    bug: Bug, tmp_path: Path
) -> None:
    """Also with the name of the strategy deleted, which says nothing to a replay."""
    failure = explore(bug.broken, runs=bug.runs).found[0]
    path = tmp_path / "bug.json"
    write_replay(failure.replay, path)

    for _ in range(2):
        verdict = replay(path)
        assert verdict.diverged_at is None
        assert verdict.result.digest == failure.replay.digest
        assert failure.property in [each.property for each in verdict.result.failures]
        assert verdict.status == 1
        fields = document(path)
        fields.pop("strategy", None)
        path.write_text(json.dumps(fields))


def test_another_process_with_another_hash_seed_replays_it(file: Path) -> None:
    """A file means the same run everywhere."""
    code = (
        "import sys; from durasim.sim import replay; verdict = replay(sys.argv[1]);"
        "print(verdict.result.digest, verdict.diverged_at, verdict.status)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code, str(file)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "4242")
    }

    assert told == {f"{document(file)['digest']} None 1"}


def test_a_mutant_is_applied_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name in the file finds it in a registered system."""
    mutant = Mutant("still", "tests.sim.stories:step", no_step, right, ["scenario"])
    monkeypatch.setattr(systems, "registered", lambda: (System("demo", (), (), (mutant,)),))
    write_replay(explore(right, runs=5, mutant="still").found[0].replay, file)

    assert document(file)["mutant"] == "still"
    verdict = replay(file)
    assert (verdict.diverged_at, verdict.status) == (None, 1)


# ---- a changed program


def story_file(folder: Path) -> Path:
    """Write a scenario and a replay file of its failure; returns that of the replay."""
    code = (
        "import sys; from durasim.sim import explore, resolve, write_replay;"
        "found = explore(resolve('story.py:boxes'), runs=50).found[0];"
        "write_replay(found.replay, 'boxes.json')"
    )
    (folder / "story.py").write_text(STORY)
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    return folder / "boxes.json"


def replayed(path: Path, *, lenient: bool = False) -> tuple[str | None, int]:
    """Replay in another process, since a file is loaded once; returns divergence and status."""
    code = (
        "import sys, json; from durasim.sim import replay;"
        f"verdict = replay(sys.argv[1], lenient={lenient});"
        "print(json.dumps([verdict.diverged_at, verdict.status]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    diverged_at, status = json.loads(ran.stdout)
    return diverged_at, status


def changed(path: Path, old: str, new: str) -> None:
    """Change the program that a replay file is of."""
    story = path.parent / "story.py"
    assert old in story.read_text()
    story.write_text(story.read_text().replace(old, new))


def test_a_program_that_has_not_changed_is_followed(tmp_path: Path) -> None:
    """The file names its scenario from where it lies."""
    path = story_file(tmp_path)

    assert document(path)["scenario"] == "story.py:boxes"
    assert replayed(path) == (None, 1)


def test_a_choice_that_never_comes_up_is_named(tmp_path: Path) -> None:
    """A renamed method has no reply of the old name; leniently, what is left holds."""
    path = story_file(tmp_path)
    changed(path, "add", "increase")
    choice = document(path)["deviations"][0]["choice"]

    diverged_at, status = replayed(path)
    assert diverged_at is not None
    assert diverged_at.startswith(f"{choice}: the choice never came up (reply 1 of Box/b.add")
    assert status == 3
    assert replayed(path, lenient=True)[1] == 0


def test_an_option_that_is_gone_is_named(tmp_path: Path) -> None:
    """The reply is there, and cannot be lost any more."""
    path = story_file(tmp_path)
    changed(path, "(faults=(LoseReply(Box.add, at_most=1),))", "()")

    diverged_at, status = replayed(path)
    assert diverged_at is not None
    assert "has no option 'lost'" in diverged_at
    assert status == 3


def test_another_digest_is_a_divergence(tmp_path: Path) -> None:
    """All deviations are met, and yet the run is another one; leniently the properties judge."""
    path = story_file(tmp_path)
    changed(path, '"total"', '"sum"')

    diverged_at, status = replayed(path)
    assert diverged_at is not None
    assert diverged_at.startswith("after every deviation was met, the trace has digest ")
    assert f"not {document(path)['digest'][:12]}… as with" in diverged_at
    assert status == 3
    assert replayed(path, lenient=True)[1] == 1


def test_the_first_place_that_is_left_is_named(file: Path) -> None:
    """Of several deviations that are gone, the first in the file."""
    fields = document(file)
    gone = [
        attrs.asdict(Deviation(f"reply {number} of Gone/g.m to x", "lost", "gone"))
        for number in (7, 8)
    ]
    file.write_text(json.dumps(fields | {"deviations": [*gone, *fields["deviations"]]}))

    diverged_at = replay(file).diverged_at
    assert diverged_at == "reply 7 of Gone/g.m to x: the choice never came up (gone)"


def test_versions_are_those_that_wrote_it() -> None:
    """A reader can see what the file comes from."""
    file = ReplayFile(
        scenario="a.py:b",
        parameters={},
        mutant=None,
        seed=0,
        strategy=None,
        deviations=(),
        property=None,
        digest="0" * 64,
    )

    assert file.python == ".".join(map(str, sys.version_info[:3]))
    assert json.loads(file.text())["durasim"] == file.durasim

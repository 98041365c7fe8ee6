"""The verb `soak`: what it prints, records and returns."""

import re
from pathlib import Path

import pytest

from durasim.sim import Comparison, System, registered, resolve, soaking
from durasim.sim.soaking import RECORDED

from .commands import Folder, folder

__all__ = ["folder"]

DOCUMENT = "seed runs distinct stories kinds compared bars missed ok seconds".split()
ABOVE = "# Record\n\nAs it came out.\n\n"


@pytest.fixture
def shop(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """The folder, with a system "shop" registered: `once`, and `twice` compared by its topology."""
    once, twice = resolve(folder.name("once")), resolve(folder.name("twice"))
    compared = Comparison(twice, "topology", ("direct",), ("wire",), ("scenario",))
    system = System("shop", (once,), comparisons=(compared,))
    monkeypatch.setattr(soaking, "registered", lambda: (system,))
    return folder


def test_a_scenario_that_holds_is_status_0(folder: Folder) -> None:
    """Its counts, those of each kind of fault, and what they amount to."""
    ran = folder.run("soak", folder.name("once"), "--runs", "3", "--seed", "5")

    assert (ran.status, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["story", "runs", "distinct", "struck", "failed"] in lines
    assert ["all", "3", "3", lines[2][3], "0"] in lines
    assert ["reply", "lost", lines[2][3]] in lines
    assert (
        "✓ 3 runs of 1 story held: 1 of 1 `sometimes` were reached, 100.0% are distinct" in ran.out
    )
    assert re.search(r"^in \d+\.\d s$", ran.out, re.MULTILINE)


def test_a_violation_is_told_with_its_replay(folder: Folder) -> None:
    """Status 1; the file is there."""
    ran = folder.run("soak", folder.name("twice"), "--runs", "20")

    assert ran.status == 1
    assert "✗ twice: scenario does not hold" in ran.out
    (file,) = re.findall(r"again: durasim replay (\S+)", ran.out)
    assert (folder.path / file).exists()
    assert "✗ 1 failure of a kind that may not be" in ran.out


def test_a_bar_that_is_missed_is_status_1(folder: Folder) -> None:
    """Nothing failed, and still it was not enough."""
    few = folder.run("soak", folder.name("alone"), "--runs", "5")
    ran = folder.run("soak", folder.name("alone"), "--runs", "50")

    assert "two_are_in" not in few.out
    assert ran.status == 1
    assert "✗ " in ran.out
    assert "no run of 50 reached 'two_are_in'" in ran.out


def test_a_system_is_told_and_its_designs_are_compared(shop: Folder) -> None:
    """Those that must fail are expected to, and no replay is written of that."""
    ran = shop.run("soak", "shop", "--runs", "20", "--compared", "20")

    rows = [line.split() for line in ran.out.splitlines()]
    (direct,) = [row for row in rows if "topology=direct" in row]
    (wire,) = [row for row in rows if "topology=wire" in row]
    assert (direct[-1], wire[-1]) == ("fail", "hold")
    assert int(direct[-2]) > 0
    # The wire fails as well: that is the only violation.
    assert int(wire[-2]) > 0
    assert ran.out.count("again: durasim replay") == 1


def test_nothing_is_compared_if_not_wanted(shop: Folder) -> None:
    """The stories alone."""
    ran = shop.run("soak", "shop", "--runs", "3", "--compared", "0", "--seed", "5")

    assert ran.status == 0
    assert "compared" not in ran.out


def test_a_soak_is_a_document(shop: Folder) -> None:
    """The keys that scripts rely on; the same seed gives the same counts."""
    words = ("soak", "shop", "--runs", "10", "--compared", "4", "--seed", "3", "--json")
    one, two = shop.run(*words).document, shop.run(*words).document

    assert list(one) == DOCUMENT
    del one["seconds"], two["seconds"]
    assert one == two
    (story,) = one["stories"]
    assert list(story) == ["name", "runs", "distinct", "faults", "sometimes", "failed"]
    assert [(each["value"], each["must"]) for each in one["compared"]] == [
        ("direct", "fail"),
        ("wire", "hold"),
    ]


def test_a_record_is_written_below_its_line(shop: Folder) -> None:
    """The command and its tables take the place of those that were there; what is above stays."""
    path = shop.write("record.md", f"{ABOVE}{RECORDED}\n\nwhat was before\n")
    shop.run("soak", "shop", "--runs", "10", "--compared", "4", "--record", "record.md")
    text = path.read_text(encoding="utf-8")

    command = "durasim soak shop --runs 10 --seed 0 --compared 4"
    assert text.startswith(f"{ABOVE}{RECORDED}\n\n    {command}\n\n")
    assert "what was before" not in text
    assert "| story | runs | distinct | struck | failed |\n| --- | ---: |" in text
    assert "| once | 10 |" in text
    assert "| twice with topology=direct | 4 |" in text


def test_a_record_that_cannot_be_written_at_the_end_is_said(
    shop: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found has been printed by then."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    shop.write("record.md", f"{ABOVE}{RECORDED}\n")
    monkeypatch.setattr(Path, "write_text", full)
    ran = shop.run("soak", "shop", "--runs", "10", "--compared", "4", "--record", "record.md")

    assert ran.status == 2
    assert "twice with topology=direct" in ran.out
    assert ran.err.splitlines()[-1] == (
        "durasim: record.md: cannot be written: No space left on device"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("{once} --record missing.md", "missing.md: cannot be read: No such file"),
        ("{once} --record /dev/zero", "/dev/zero: is no file"),
        ("{once} --record bare.md", f"bare.md: there is no line {RECORDED}, below which to write"),
        ("{once} --record binary.md", "binary.md: is not UTF-8 text"),
        ("{once} {twice} --runs 1", "1 run for 2 stories: give at least one to each"),
        ("nothing", "no scenario is called 'nothing'"),
        ("{once} --strategy luck", "no strategy is called 'luck'"),
        ("", "Missing argument 'NAME...'"),
    ],
)
def test_wrong_input_is_refused(folder: Folder, words: str, why: str) -> None:
    """In one line, before anything runs."""
    folder.write("bare.md", "# Bare\n")
    (folder.path / "binary.md").write_bytes(b"\xff")
    given = words.format(once=folder.name("once"), twice=folder.name("twice"))

    assert why in folder.refused("soak", *given.split())


def test_fewer_runs_than_comparisons_are_refused(
    shop: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each needs one; none at all is fine."""
    stories, comparisons = soaking.asked_for(["shop"])

    def asked_for(names: tuple[str, ...]) -> object:
        del names
        return stories, comparisons * 2

    monkeypatch.setattr(soaking, "asked_for", asked_for)

    assert shop.refused("soak", "shop", "--runs", "5", "--compared", "1") == (
        "durasim: 1 run for 2 comparisons: give at least one to each, or --compared 0"
    )


def test_systems_that_are_registered_can_be_soaked() -> None:
    """Each has its stories; what is compared draws, of its own accord, only what holds."""
    for system in registered():
        stories, comparisons = soaking.asked_for([system.name])
        assert [scenario for _, scenario in stories] == list(system.scenarios)
        for each in comparisons:
            assert set(each.scenario.parameters[each.parameter]) <= set(each.holds)

"""The verbs that run scenarios: what they print, write and return."""

import json
from pathlib import Path

import pytest

from durasim.sim import exploring
from durasim.sim.exploring import RUNS

from .commands import Folder, folder, outside

__all__ = ["folder"]

RUN = ["scenario", "seed", "ok", "failures", "digest", "events", "virtual_seconds", "wall_seconds"]
EXPLORATION = ["scenario", "runs", "distinct", "failures", "faults", "sometimes", "seconds"]
SINGLE = ("--strategy", "singles", "--seed", "1")
"""The first reply is lost."""


# ---- run


def test_a_run_that_holds_says_how_long_it_took(folder: Folder) -> None:
    """Status 0: verdict, events, both times, digest."""
    ran = folder.run("run", folder.name("twice"), "--seed", "3")

    first, second, third = ran.out.splitlines()
    assert (ran.status, ran.err) == (0, "")
    assert first == "✓ twice held, 0 deviations"
    assert "events, virtual 30 s, wall 0." in second
    assert third.startswith("  digest ")
    assert len(third) == len("  digest ") + 64


def test_a_run_is_a_document(folder: Folder) -> None:
    """The keys that scripts rely on; the same seed gives the same digest."""
    one = folder.run("run", folder.name("twice"), "--seed", "3", "--json")
    two = folder.run("run", folder.name("twice"), "--seed", "3", "--json")

    assert one.status == 0
    assert list(one.document) == RUN
    assert one.document["scenario"] == "twice"
    assert one.document["seed"] == 3
    assert one.document["ok"] is True
    assert one.document["failures"] == []
    assert one.document["digest"] == two.document["digest"]


def test_a_run_that_fails_is_status_1(folder: Folder) -> None:
    """The property and what was seen, as text and as a document."""
    words = (
        "run",
        folder.name("twice"),
        "--strategy",
        "singles",
        "--seed",
        "1",
        "--set",
        "count=1",
    )
    ran = folder.run(*words, "--json")

    assert ran.status == 1
    (failure,) = ran.document["failures"]
    assert failure["property"] == "scenario"
    assert failure["message"].startswith("AssertionError: 1 were bought, 2 are in the cart")
    told = folder.run(*words).out
    assert "✗ twice: scenario does not hold" in told
    assert "  1. reply 1 of Cart/c.add to alice is lost" in told


def test_a_run_is_drawn_when_asked(folder: Folder) -> None:
    """The chart stands before the verdict, as wide as the terminal."""
    lines = folder.run("run", folder.name("once"), "--trace").out.splitlines()

    assert lines[0].split() == ["time", "alice", "Cart/c"]
    assert any("add()" in line and "▶┃" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_mermaid_leaves_stdout_to_the_diagram(folder: Folder) -> None:
    """What is said beside it goes to stderr, so that it can be sent to a file."""
    ran = folder.run("run", folder.name("once"), "--mermaid")

    assert ran.out.startswith("sequenceDiagram\n")
    assert "held" not in ran.out
    assert "✓ once held" in ran.err


def test_a_document_stands_alone_on_stdout(folder: Folder) -> None:
    """Prints of the user's code, the chart and Mermaid go to stderr then, in processes too."""
    ran = folder.run("run", folder.name("noisy"), "--json", "--trace", "--mermaid")
    assert list(ran.document) == RUN
    assert "a print of the scenario" in ran.err
    assert "sequenceDiagram" in ran.err

    words = ("explore", folder.name("noisy"), "--runs", "20", "--jobs", "2", "--json")
    apart = outside(folder.path, *words)
    assert json.loads(apart.stdout)["runs"] == 20
    assert "a print of the scenario" in apart.stderr


def test_parameters_and_topology_are_fixed(folder: Folder) -> None:
    """`--topology` is `--set topology`; the others are still drawn."""
    words = (
        "run",
        folder.name("twice"),
        "--strategy",
        "singles",
        "--seed",
        "1",
        "--set",
        "count=2",
    )
    by_set = folder.run(*words, "--set", "topology=wire")
    by_name = folder.run(*words, "--topology", "wire")

    assert by_set.out.partition("wall")[0] == by_name.out.partition("wall")[0]
    assert "count = 2" in by_name.out
    assert "topology = 'wire'" in by_name.out


# ---- explore


def test_a_failure_is_shrunk_written_and_told(folder: Folder) -> None:
    """Sentences, the command, the chart, what struck; the file has the default name."""
    ran = folder.run("explore", folder.name("twice"))

    (file,) = folder.path.glob("*.json")
    assert ran.status == 1
    assert file.name.startswith("twice-")
    assert "✗ twice: scenario does not hold" in ran.out
    assert "  1. reply 1 of Cart/c.add to alice is lost" in ran.out
    assert f"  again: durasim replay {file.name}" in ran.out
    assert "✗────────── reply lost ───────────│" in ran.out
    assert "reply lost" in ran.out.partition("fault ")[2]


def test_a_failing_exploration_is_a_document(folder: Folder) -> None:
    """The keys that scripts rely on; the seed is first seed + run."""
    ran = folder.run("explore", folder.name("twice"), "--seed", "100", "--json")

    document = ran.document
    (failure,) = document["failures"]
    assert ran.status == 1
    assert list(document) == EXPLORATION
    assert list(failure) == ["property", "seed", "deviations", "replay", "shrunk_from"]
    assert failure["seed"] == 100 + document["runs"] - 1
    assert failure["deviations"] == ["reply 1 of Cart/c.add to alice is lost"]
    assert failure["replay"] == f"twice-{failure['seed']}.json"
    assert failure["shrunk_from"] >= 1
    assert document["faults"]["reply lost"] >= 1


def test_the_first_failure_does_not_depend_on_jobs(folder: Folder) -> None:
    """The lowest run, whoever finishes first."""
    one = folder.run("explore", folder.name("twice"), "--json").document
    two = json.loads(
        outside(folder.path, "explore", folder.name("twice"), "--jobs", "2", "--json").stdout
    )

    assert one.pop("seconds") != two.pop("seconds")
    assert one == two


def test_an_exploration_that_holds_is_status_0(folder: Folder) -> None:
    """With what was reached and what struck, and no file."""
    ran = folder.run("explore", folder.name("once"), "--runs", "60")

    assert ran.status == 0
    assert "✓ once held" in ran.out
    assert "60 runs, " in ran.out
    assert "two_are_in   yes" in ran.out
    assert list(folder.path.glob("*.json")) == []
    document = folder.run("explore", folder.name("once"), "--runs", "60", "--json").document
    assert document["sometimes"] == {"two_are_in": True}
    assert document["failures"] == []


def test_a_sometimes_that_is_never_reached_is_status_1(folder: Folder) -> None:
    """A batch that tried nothing does not hold."""
    ran = folder.run("explore", folder.name("alone"), "--runs", "10")

    assert ran.status == 1
    assert "✗ two_are_in: no run of 10 reached it" in ran.out
    assert "✓" not in ran.out
    assert "two_are_in   never" in ran.out


def test_out_names_the_file(folder: Folder) -> None:
    """Also in another folder, from which the scenario is still found."""
    (folder.path / "deep").mkdir()
    ran = folder.run("explore", folder.name("twice"), "--out", "deep/found.json")

    assert "again: durasim replay deep/found.json" in ran.out
    assert folder.run("replay", "deep/found.json").status == 1
    assert json.loads(Path("deep/found.json").read_text())["scenario"].startswith("../shop_")


def test_an_exploration_that_holds_leaves_the_file_alone(folder: Folder) -> None:
    """Whether it can be written is tried before anything runs, and changes nothing."""
    kept = folder.write("kept.json", "kept")
    for name in ("kept.json", "new.json"):
        words = ("explore", folder.name("once"), "--runs", "5", "--out", name)
        assert folder.run(*words).status == 0

    assert kept.read_text() == "kept"
    assert not Path("new.json").exists()


def test_a_file_that_cannot_be_written_at_the_end_is_said(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is told all the same."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exploring, "write_replay", full)
    ran = folder.run("explore", folder.name("twice"), "--json")

    assert ran.status == 1
    assert ran.document["failures"][0]["replay"] is None
    assert ".json: no replay file was written: No space left on device" in ran.err


@pytest.mark.parametrize("verb", ["run", "explore"])
def test_a_mutant_of_another_system_is_refused(folder: Folder, verb: str) -> None:
    """It would replace what the story never calls, and the story would hold."""
    line = folder.refused(verb, "crowd", "--mutant", "instanceof_only")

    assert line == "durasim: mutant 'instanceof_only' is not of fleet, which crowd is a story of"


def test_keep_going_tells_each_kind_of_failure(folder: Folder) -> None:
    """With a file for each, and runs to the end."""
    folder.write(
        f"two_{folder.module}.py",
        "from durasim.sim import always, at_rest, scenario\n"
        "@at_rest\n"
        "def even(world):\n"
        "    assert world.ledger.entries[0].value != 1, 'it is odd'\n"
        "@scenario(properties=(even,), parameters={'n': (0, 1, 2)})\n"
        "async def story(world, n):\n"
        "    world.ledger.note('n', n)\n"
        "    if n == 2:\n"
        "        raise KeyError(n)\n",
    )
    name = f"two_{folder.module}.py:story"
    ran = folder.run("explore", name, "--runs", "30", "--keep-going", "--out", "a.json", "--json")

    found = ran.document["failures"]
    assert ran.document["runs"] == 30
    assert sorted(each["property"] for each in found) == ["even", "scenario"]
    assert found[0]["replay"] == "a.json"
    assert found[1]["replay"] == f"a-{found[1]['seed']}.json"
    assert [folder.run("replay", each["replay"]).status for each in found] == [1, 1]


def test_time_ends_an_exploration(folder: Folder) -> None:
    """Without a number of runs there is none."""
    ran = folder.run("explore", folder.name("once"), "--time", "0.5", "--json")

    assert ran.status == 0
    assert 0.3 < ran.document["seconds"] < 10
    assert RUNS == 1000


# ---- replay


def found(folder: Folder) -> str:
    """Explore, and return the name of the replay file."""
    name: str = folder.run("explore", folder.name("twice"), "--json").document["failures"][0][
        "replay"
    ]
    return name


def test_a_replay_gives_the_recorded_digest_and_failure(folder: Folder) -> None:
    """Status 1, because a property fails; nothing diverged."""
    file = found(folder)
    ran = folder.run("replay", file, "--json")

    recorded = json.loads(Path(file).read_text())
    assert ran.status == 1
    assert list(ran.document) == [*RUN, "diverged_at"]
    assert ran.document["digest"] == recorded["digest"]
    assert ran.document["failures"][0]["property"] == recorded["property"]
    assert ran.document["diverged_at"] is None


def test_a_replay_of_other_code_is_status_3(folder: Folder) -> None:
    """It names the place; `--lenient` judges by the properties."""
    file = found(folder)
    source = (folder.path / f"{folder.module}.py").read_text()
    folder.write(f"{folder.module}.py", source.replace("await shop(world, count, True)", "pass"))

    ran = outside(folder.path, "replay", file)
    assert ran.returncode == 3
    assert f"the code no longer follows {file}:" in ran.stdout
    assert "reply 1 of Cart/c.add to alice: the choice never came up" in ran.stdout
    assert "Traceback" not in ran.stderr

    document = json.loads(outside(folder.path, "replay", file, "--json").stdout)
    assert "never came up" in document["diverged_at"]
    assert document["ok"] is True
    lenient = outside(folder.path, "replay", file, "--lenient")
    assert lenient.returncode == 0
    assert f"it ran leniently, so this may differ from {file}:" in lenient.stdout
    assert "no longer" not in lenient.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_a_replay_can_be_drawn(folder: Folder) -> None:
    """As a run can."""
    file = found(folder)

    assert "reply lost" in folder.run("replay", file, "--trace").out
    drawn = folder.run("replay", file, "--mermaid")
    assert drawn.out.startswith("sequenceDiagram\n")
    assert "-x" in drawn.out
    assert "does not hold" in drawn.err


def test_a_fault_that_never_struck_is_told(folder: Folder) -> None:
    """One line on stderr says which, and why as far as the class tells; the status stays."""
    folder.write(
        "plan.py",
        f"from {folder.module} import Cart, shop\n"
        "from durasim.sim import LoseReply, SlowDisk, scenario\n"
        "@scenario(faults=(LoseReply('Cart.ad'), SlowDisk(Cart), LoseReply(at_most=0)))\n"
        "async def aimed(world):\n"
        "    await shop(world, 1, False)\n",
    )

    ran = folder.run("explore", "plan.py:aimed", "--runs", "40")

    assert ran.status == 0
    assert ran.err == (
        "durasim: aimed: never struck in any of 40 runs: "
        "reply lost of Cart.ad (Cart has no method 'ad'; it has add)\n"
    )
    assert folder.run("explore", "plan.py:aimed", "--strategy", "ordinary").err == ""


TAKEN = """\
from typing import Literal
from durasim.sim import scenario


@scenario(parameters={"design": ("right",)})
async def drawn(world, design: Literal["right", "wrong"] = "right"):
    assert design == "right"
"""
"""A story that draws what holds, and takes more."""


def test_what_a_story_takes_beside_what_it_draws_may_be_set(folder: Folder) -> None:
    """Its annotation names it; any other word is a mistake."""
    folder.write("taken.py", TAKEN)

    assert folder.run("explore", "taken.py:drawn", "--runs", "5").status == 0
    assert folder.run("run", "taken.py:drawn", "--set", "design=wrong").status == 1
    assert folder.refused("run", "taken.py:drawn", "--set", "design=other") == (
        "durasim: design is 'other'; drawn knows 'right' and 'wrong'"
    )

"""Scenarios and replay files as pytest tests, in sessions of their own."""

import json
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from durasim.sim import Exploration, Scenario, scenario
from durasim.sim.pytest_plugin import RUNS

pytest_plugins = ("pytester",)

CONFIGURATION = """
[pytest]
trio_mode = true
addopts = --import-mode=importlib -p no:cacheprovider
filterwarnings = error
durasim_runs = 30
"""

COUNTER = '''
from durasim.actors import DurableObject
from durasim.sim import LoseReply, scenario, simulate, sometimes
from durasim.wire import OutcomeUnknown
import trio


class Counter(DurableObject):
    """Counts."""

    async def add(self):
        total = await self.storage.get("total", 0) + 1
        await self.storage.put("total", total)


async def click(world, retry):
    sure = False
    while not sure:
        try:
            await world.client("alice").get(Counter, "c").add()
            sure = True
        except OutcomeUnknown:
            sure = not retry
    assert world.stored(Counter, "c")["total"] == 1


@scenario(faults=(LoseReply(at_most=1),))
async def test_once(world):
    """Holds."""
    await click(world, False)


@scenario(faults=(LoseReply(at_most=1),))
async def test_twice(world):
    """Fails if the reply is lost."""
    await click(world, True)
'''


@pytest.fixture
def tests(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one test module."""
    # What the session around it was started with is none of its business.
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makefile(".ini", pytest=CONFIGURATION)
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_counter.py").write_text(COUNTER)
    return pytester


def ran(
    tests: pytest.Pytester, *arguments: str, apart: bool = False, **more: bool
) -> pytest.RunResult:
    """Run pytest in this process, or *apart*; the plugin is there as if it were installed."""
    installed = any(each.name == "durasim" for each in entry_points(group="pytest11"))
    flags = () if installed else ("-p", "durasim.sim.pytest_plugin")
    # Installed for development, the distribution names its own tests, which this process runs.
    arguments = (*flags, "-W", "ignore:Module already imported", *arguments)
    if apart:
        return tests.runpytest_subprocess(*arguments)
    return tests.runpytest_inprocess(*arguments, **more)


def test_the_plugin_is_declared() -> None:
    """The project names it as pytest looks for it."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()

    assert '[project.entry-points.pytest11]\ndurasim = "durasim.sim.pytest_plugin"' in project


def test_a_scenario_is_a_test(tests: pytest.Pytester) -> None:
    """One holds, one fails, with the sentences, the command and the chart."""
    result = ran(tests, "-v", apart=True)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "tests/test_counter.py::test_once PASSED*",
            "tests/test_counter.py::test_twice FAILED*",
            "✗ test_twice: scenario does not hold",
            "  AssertionError: *",
            "  It happens when",
            "  1. reply 1 of Counter/c.add to alice is lost",
            "  again: durasim replay .durasim/test_counter-test_twice-*.json",
            "time * alice * Counter/c",
            "*✗─*reply lost*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_the_command_of_a_failure_runs_it_again(tests: pytest.Pytester) -> None:
    """As it is printed, from the folder where pytest was started."""
    result = ran(tests)
    # Under CI pytest's summary says everything once more.
    (line,) = {line for line in result.outlines if line.startswith("  again: ")}
    words = line.removeprefix("  again: ").split()
    assert words[0] == "durasim"
    again = tests.run(sys.executable, "-m", "durasim.sim.cli", *words[1:])

    assert again.ret == 1
    again.stdout.fnmatch_lines(["✗ test_twice: scenario does not hold"])
    assert (tests.path / ".durasim" / ".gitignore").read_text() == "*\n"


def test_a_replay_file_is_a_regression(tests: pytest.Pytester) -> None:
    """It fails until the fault is mended, though what follows the fault is another story then."""
    assert ran(tests, "-k", "twice").ret == 1
    (found,) = (tests.path / ".durasim").glob("*.json")
    folder = tests.path / "tests" / "replays"
    folder.mkdir()
    found.rename(folder / "twice.json")
    result = ran(tests, "tests/replays", "-v")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*replays/twice.json::replay FAILED*",
            "  1. reply 1 of Counter/c.add to alice is lost",
            "  again: durasim replay --lenient tests/replays/twice.json",
        ]
    )

    module = tests.path / "tests" / "test_counter.py"
    module.write_text(COUNTER.replace("click(world, True)", "click(world, False)"))
    ran(tests, "tests/replays").assert_outcomes(passed=1)
    # The same from another folder, and with every test of the project.
    ran(tests, "--rootdir=.", f"{folder}/twice.json").assert_outcomes(passed=1)
    ran(tests).assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "twice.json: is not JSON"), ('{"format": 1}', "has no 'durasim'")],
)
def test_an_unreadable_regression_fails_in_one_line(
    tests: pytest.Pytester, text: str, words: str
) -> None:
    """It is a failing test, and no internal error."""
    (tests.path / "tests" / "replays").mkdir()
    (tests.path / "tests" / "replays" / "twice.json").write_text(text)
    result = ran(tests, "tests/replays")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{words}*"])
    assert "Traceback" not in result.stdout.str()


def test_a_regression_of_a_scenario_that_is_gone_fails(tests: pytest.Pytester) -> None:
    """Whoever renames a scenario is told."""
    assert ran(tests, "-k", "twice").ret == 1
    (found,) = (tests.path / ".durasim").glob("*.json")
    document = json.loads(found.read_text())
    assert document["scenario"] == "tests/test_counter.py:test_twice"
    (tests.path / "tests" / "replays").mkdir()
    document["scenario"] = "tests/test_counter.py:test_thrice"
    (tests.path / "tests" / "replays" / "a.json").write_text(json.dumps(document))
    result = ran(tests, "tests/replays")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*has no scenario 'test_thrice'; there is test_once, test_twice"])


def test_other_files_and_scenarios_are_left_alone(tests: pytest.Pytester) -> None:
    """A scenario that is not named as a test is for `simulate`; JSON elsewhere is just JSON."""
    (tests.path / "tests" / "other.json").write_text("{")
    (tests.path / "tests" / "test_plain.py").write_text(
        COUNTER.replace("test_", "story_")
        + '''

def test_plain():
    """A plain test may simulate."""
    assert simulate(story_once, seed=7).ok
    assert not simulate(
        story_twice, deviations=[("reply 1 of Counter/c.add to alice", "lost")]
    ).ok


async def test_trio():
    """And pytest-trio is not disturbed."""
    await trio.sleep(0)


class TestClass:
    """A class of tests is none of ours."""

    story = story_twice
    test_story = 1

    def test_method(self):
        """Runs."""
        assert self.story is story_twice
'''
    )
    result = ran(tests, "tests/test_plain.py", "-v")

    result.assert_outcomes(passed=3)


def test_settings_come_from_the_file_and_from_the_command_line(tests: pytest.Pytester) -> None:
    """Runs and the first seed; a seed that is fixed is in the name of the file."""
    failing = COUNTER.replace("assert world.stored", "assert not world.stored")
    (tests.path / "tests" / "test_counter.py").write_text(failing)
    ran(tests, "--durasim-seed", "500", "--durasim-runs", "1").assert_outcomes(failed=2)

    assert sorted(path.name for path in (tests.path / ".durasim").glob("*.json")) == [
        "test_counter-test_once-500.json",
        "test_counter-test_twice-500.json",
    ]
    assert RUNS == 100


@pytest.mark.parametrize(
    "flags", [("--durasim-runs", "0"), ("--durasim-runs", "many"), ("--durasim-seed", "-1")]
)
def test_settings_that_cannot_be_used_are_refused(
    tests: pytest.Pytester, flags: tuple[str, str]
) -> None:
    """Before anything is collected, in one line."""
    result = ran(tests, f"{flags[0]}={flags[1]}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: durasim_* is *, not a number from * on"])


def test_an_unknown_strategy_is_refused(tests: pytest.Pytester) -> None:
    """With the known ones."""
    result = ran(tests, "-o", "durasim_strategy=luck")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: durasim_strategy: no strategy is called 'luck'; *"])


def test_from_another_folder_the_command_goes_to_the_root(
    tests: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths in a replay file are from there."""
    monkeypatch.chdir(tests.path / "tests")
    result = ran(tests, "--rootdir=..", "test_counter.py")

    result.assert_outcomes(passed=1, failed=1)
    # Under CI pytest's summary says everything once more.
    (line,) = {line for line in result.outlines if line.startswith("  again: ")}
    assert line.startswith(f"  again: cd {tests.path} && durasim replay .durasim/test_counter-")


def test_ctrl_c_ends_the_session(tests: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exploration that was interrupted holds for nobody."""

    def interrupted(which: Scenario, **_: object) -> Exploration:
        return Exploration(
            scenario=which, runs=1, distinct=1, found=(), faults={}, sometimes={}, seconds=0.1,
            interrupted=True,
        )  # fmt: skip

    monkeypatch.setattr("durasim.sim.pytest_plugin.explore", interrupted)
    result = ran(tests, no_reraise_ctrlc=True)

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes()


def test_a_sometimes_that_is_never_reached_fails(tests: pytest.Pytester) -> None:
    """The batch tried nothing."""
    (tests.path / "tests" / "test_never.py").write_text(
        "from durasim.sim import scenario, sometimes\n"
        "@sometimes\n"
        "def the_moon_is_reached(world):\n"
        "    return False\n"
        "@scenario(properties=(the_moon_is_reached,))\n"
        "async def test_travel(world):\n"
        "    world.ledger.note('step')\n"
    )
    result = ran(tests, "tests/test_never.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["✗ test_travel: the_moon_is_reached: no run of 30 reached it"])


def test_many_processes_run_the_same_tests(tests: pytest.Pytester) -> None:
    """With xdist, failures are told as without."""
    result = ran(tests, "-n", "2", apart=True)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["  1. reply 1 of Counter/c.add to alice is lost"])


def test_without_trio_and_terminal_plugins_it_works(tests: pytest.Pytester) -> None:
    """It rests on nothing but pytest."""
    (tests.path / "pytest.ini").write_text("[pytest]\n")
    result = ran(
        tests, "-p", "no:trio", "-p", "no:terminal", "-p", "no:xdist", "-p", "no:cacheprovider"
    )

    assert result.ret == pytest.ExitCode.TESTS_FAILED


@scenario()
async def test_a_scenario_in_this_very_session(world: object) -> None:
    """Collected because of its name, and explored."""
    assert world is not None


def test_a_decorated_scenario_is_a_value() -> None:
    """What stands in the module is the scenario, which `simulate` takes."""
    assert isinstance(test_a_scenario_in_this_very_session, Scenario)


def test_a_fault_that_never_struck_is_a_warning(tests: pytest.Pytester) -> None:
    """It stands in the report and fails nothing, though warnings are errors here."""
    source = COUNTER.replace(
        "faults=(LoseReply(at_most=1),)", "faults=(LoseReply(Counter, caller='bo'),)"
    )
    (tests.path / "tests" / "test_counter.py").write_text(source)

    result = ran(tests, "-k", "test_once")

    result.assert_outcomes(passed=1, deselected=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*FaultNeverStruck: test_once: never struck in any of 30 runs: reply lost of Counter*"]
    )
    result = ran(tests, "-k", "test_once", "-W", "ignore::UserWarning")
    result.assert_outcomes(passed=1, deselected=1)

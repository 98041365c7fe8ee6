"""Each example: the naive one is found, in few words, and the repaired one holds."""

import ast
import re

import pytest

from durasim.sim import Scenario
from durasim.sim.explore import explore
from durasim.sim.systems import UnknownScenario, resolve

from ..tidy import ROOT

# How few facts a failure comes down to, and what is seen then, told of the ordinary way to fail.
FEWEST = {
    "counter": (1, r"visits count \d, and the total is \d"),
    "lease": (1, r"written under the leases \[1, 1, 1, 2, 1\]"),
    "lost_reply": (1, r"people clicked 2 times, and the total is 3"),
    "outbox": (1, r"the (book|lamp) was charged 2 times"),
    "transfer": (1, r"there were 200; now ann has (70 and bob has 100|100 and bob has 130)"),
}
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))

each_example = pytest.mark.parametrize("example", EXAMPLES)


def scenario_of(example: str, name: str) -> Scenario:
    """Return a scenario of an example, as the command line does."""
    return resolve(f"examples/{example}.py:{name}", beside=ROOT)


def test_each_example_is_tested() -> None:
    """No example is without the facts that it is judged by."""
    assert sorted(FEWEST) == EXAMPLES


@pytest.mark.parametrize("seed", range(5))
@each_example
def test_the_naive_one_is_found(example: str, seed: int) -> None:
    """The default exploration finds it within 200 runs, and tells it in the fewest facts."""
    exploration = explore(scenario_of(example, "naive"), runs=200, seed=seed)
    facts, message = FEWEST[example]

    assert len(exploration.found) == 1
    found = exploration.found[0]
    assert len(found.deviations) == facts
    assert re.search(message, found.message)


@each_example
def test_the_repaired_one_holds(example: str) -> None:
    """The default exploration finds nothing in 500 runs in which every fault of the plan struck."""
    scenario = scenario_of(example, "repaired")

    exploration = explore(scenario, runs=500)

    assert exploration.found == ()
    assert exploration.ok
    assert len(exploration.faults) == len(scenario.faults)
    assert all(exploration.faults.values())


@each_example
def test_the_repaired_one_meets_the_same(example: str) -> None:
    """Both scenarios of an example have the same fault plan and the same parameters."""
    naive, repaired = scenario_of(example, "naive"), scenario_of(example, "repaired")

    assert naive.faults == repaired.faults
    assert naive.parameters == repaired.parameters
    assert set(naive.properties) <= set(repaired.properties)


@each_example
def test_an_example_says_how_to_run_it(example: str) -> None:
    """Its docstring shows the commands for both scenarios."""
    source = (ROOT / "examples" / f"{example}.py").read_text()
    docstring = ast.get_docstring(ast.parse(source)) or ""

    for name in ("naive", "repaired"):
        assert f"    durasim explore examples/{example}.py:{name}\n" in f"{docstring}\n"


@each_example
def test_a_file_alone_is_answered_with_its_scenarios(example: str) -> None:
    """Who names only the file is told the names that would do."""
    name = f"examples/{example}.py"

    with pytest.raises(UnknownScenario, match=f"there is {name}:naive, {name}:repaired"):
        resolve(name, beside=ROOT)


@each_example
def test_an_example_is_read_in_two_minutes(example: str) -> None:
    """It is at most 120 lines long."""
    source = (ROOT / "examples" / f"{example}.py").read_text()

    assert source.count("\n") <= 120

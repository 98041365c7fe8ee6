"""The stories of the system `runs`: right code holds in them, and they tell designs apart."""

import ast

import pytest

from durasim.sim import Job, Ordinary, Scenario, explore, run_once
from durasim.sim.runs import SYSTEM
from durasim.sim.runs.giving_back import GIVING_BACK
from durasim.sim.runs.scenarios import drain_reopen, duplicate_start, stale_release

BREAKS_ROUTER = (duplicate_start, stale_release)
"""Stories that drop an assumption of the router's way of giving back (cases 41 and 42)."""

MUTANTS = {mutant.name: mutant for mutant in GIVING_BACK}


def finals(topology: str, design: str = "router", keys: int = 3) -> list[str | None]:
    """Return the last code of each key of an ordinary run of `drain_reopen`."""
    parameters = {"topology": topology, "design": design, "keys": keys}
    result = run_once(Job(scenario=drain_reopen, seed=0, source=Ordinary(), parameters=parameters))
    told = [
        row.detail[1] for row in result.rows if row.kind == "effect" and row.detail[0] == "final"
    ]
    assert len(told) == keys
    return [ast.literal_eval(each)[2] for each in told]


@pytest.mark.parametrize("topology", ["objects", "agents"])
def test_class_tests_alone_strand_every_key_over_the_wire(topology: str) -> None:
    """A predicate that only knows classes strands each key in flight, as early versions did."""
    with MUTANTS["instanceof_only"].applied():
        assert finals(topology) == ["IDEMPOTENT_START_UNRESOLVABLE"] * 3


def test_class_tests_alone_strand_nothing_in_process() -> None:
    """In process the class itself arrives."""
    with MUTANTS["instanceof_only"].applied():
        assert finals("process") == [None] * 3


@pytest.mark.parametrize("design", ["router", "holder", "sealer"])
@pytest.mark.parametrize("topology", ["process", "objects", "agents"])
def test_right_code_strands_no_key(topology: str, design: str) -> None:
    """Drained and reopened, every key executes, wherever runs live and whoever gives back."""
    assert finals(topology, design) == [None] * 3


@pytest.mark.parametrize("scenario", SYSTEM.scenarios, ids=lambda each: each.name)
def test_right_code_holds(scenario: Scenario) -> None:
    """Nothing is found in a few runs of each story, which draws the designs that stand its plan."""
    exploration = explore(scenario, runs=6, shrink=False)

    assert exploration.found == ()


def test_each_comparison_is_expected_to_break_what_the_test_above_holds() -> None:
    """Cases 41 and 42, and what a lost message strands, are compared; each draws what holds."""
    compared = {each.scenario.name: each.fails for each in SYSTEM.comparisons}

    assert compared == {
        "duplicate_start": ("router",),
        "stale_release": ("router",),
        "never_stuck": ("router", "holder"),
    }


@pytest.mark.parametrize("scenario", BREAKS_ROUTER, ids=lambda each: each.name)
def test_router_breaks_without_its_assumptions(scenario: Scenario) -> None:
    """A start delivered twice, and a release that takes effect twice, are found, in few facts."""
    exploration = explore(scenario, runs=500, parameters={"design": "router"})

    (found,) = exploration.found
    assert found.property == "no claim goes back after its run began"
    assert len(found.deviations) <= 2


def test_the_system_is_registered_as_runs() -> None:
    """Names of scenarios and mutants are unique."""
    assert SYSTEM.name == "runs"
    for named in (SYSTEM.scenarios, SYSTEM.mutants):
        names = [each.name for each in named]
        assert len(set(names)) == len(names)

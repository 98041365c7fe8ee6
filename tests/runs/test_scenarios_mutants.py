"""Each mutant of the system `runs` is found by its story, and right code is silent there."""

import attrs
import pytest

from durasim.sim import Mutant, Scenario, explore
from durasim.sim.runs import SYSTEM

RUNS = 500


@pytest.mark.parametrize("mutant", SYSTEM.mutants, ids=lambda each: each.name)
def test_mutant_is_found(mutant: Mutant) -> None:
    """The default strategy reports an expected property, and right code nothing on those runs."""
    scenario = mutant.scenario
    assert isinstance(scenario, Scenario)

    exploration = explore(
        scenario, runs=RUNS, mutant=mutant, parameters=mutant.parameters, shrink=False
    )

    assert [found.property in mutant.expected for found in exploration.found] == [True]
    right = explore(scenario, runs=exploration.runs, parameters=mutant.parameters, shrink=False)
    assert right.found == ()


@pytest.mark.parametrize(
    "mutant", [each for each in SYSTEM.mutants if each.needs_fault], ids=lambda each: each.name
)
def test_mutant_is_silent_without_its_fault(mutant: Mutant) -> None:
    """Without faults a mutant that needs one is not found."""
    scenario = mutant.scenario
    assert isinstance(scenario, Scenario)
    calm = attrs.evolve(scenario, faults=())

    exploration = explore(calm, runs=30, mutant=mutant, parameters=mutant.parameters, shrink=False)

    assert exploration.found == ()

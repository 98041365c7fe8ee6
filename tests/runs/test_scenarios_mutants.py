"""Each mutant of the system `runs` is found by its story, and right code is silent there.

By default a handful of each file of mutants is explored, from seed 0; `DURASIM_MUTANTS=all`
explores every one of them, as far as it takes.
"""

import os
from collections.abc import Sequence

import attrs
import pytest

from durasim.sim import Mutant, Scenario, explore
from durasim.sim.runs import SYSTEM

QUICK = (
    "cached_fence",
    "claim_without_cas",
    "instanceof_only",
    "row_state_before_persisted",
    "sealed_start_runs",
    "storage_error_replaces_refusal",
)
"""Some of each file of mutants."""
ALL = os.environ.get("DURASIM_MUTANTS") == "all"
RUNS = 500
CALM_RUNS = 30 if ALL else 5


def chosen(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return those to explore now."""
    return [each for each in mutants if ALL or each.name in QUICK]


each_chosen = pytest.mark.parametrize("mutant", chosen(SYSTEM.mutants), ids=lambda each: each.name)
each_faulty = pytest.mark.parametrize(
    "mutant",
    [each for each in chosen(SYSTEM.mutants) if each.needs_fault],
    ids=lambda each: each.name,
)


def test_the_quick_ones_are_there() -> None:
    """A mutant that is renamed is not silently left out."""
    assert {each.name for each in SYSTEM.mutants} >= set(QUICK)


@pytest.mark.parametrize("mutant", SYSTEM.mutants, ids=lambda each: each.name)
def test_mutant_replaces_what_is_there(mutant: Mutant) -> None:
    """Its target exists, and is put back."""
    with mutant.applied():
        pass

    assert isinstance(mutant.scenario, Scenario)
    assert mutant.expected


@each_chosen
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


@each_faulty
def test_mutant_is_silent_without_its_fault(mutant: Mutant) -> None:
    """Without faults a mutant that needs one is not found."""
    scenario = mutant.scenario
    assert isinstance(scenario, Scenario)
    calm = attrs.evolve(scenario, faults=())

    exploration = explore(
        calm, runs=CALM_RUNS, mutant=mutant, parameters=mutant.parameters, shrink=False
    )

    assert exploration.found == ()

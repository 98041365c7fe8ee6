"""The system `fleet`: its stories hold with right code, and its mutants are found in them."""

import os
from importlib import import_module

import attrs
import pytest

from durasim.sim import Mutant, Scenario, explore
from durasim.sim.fleet import SYSTEM

ALL = os.environ.get("DURASIM_MUTANTS") == "all"
RUNS = 500
"""Within so many runs from a base seed each mutant has to be found."""
SEEDS = range(5) if ALL else range(1)
FEW_RUNS = 500 if ALL else 2
QUICK = ("refusal_keeps_fence", "commit_from_artifact_id")
"""Explored by default; all of them with `DURASIM_MUTANTS=all`."""


def named(each: Mutant | Scenario) -> str:
    """Return what a test calls it."""
    return each.name


def story_of(mutant: Mutant) -> Scenario:
    """Return the story that is to find a mutant."""
    assert isinstance(mutant.scenario, Scenario)
    return mutant.scenario


each_mutant = pytest.mark.parametrize("mutant", SYSTEM.mutants, ids=named)
each_chosen = pytest.mark.parametrize(
    "mutant", [each for each in SYSTEM.mutants if ALL or each.name in QUICK], ids=named
)


@pytest.mark.parametrize("story", SYSTEM.scenarios, ids=named)
def test_right_code_holds(story: Scenario) -> None:
    """Nothing is found in a few runs of each story."""
    assert explore(story, runs=FEW_RUNS, shrink=False).found == ()


def test_names_are_unique() -> None:
    """A story, a property and a mutant are each called by a name of their own."""
    for found in (SYSTEM.scenarios, SYSTEM.properties, SYSTEM.mutants):
        names = [each.name for each in found]
        assert len(names) == len(set(names))


def test_every_property_says_its_sentence() -> None:
    """An invariant or a statement of progress has its sentence as docstring."""
    for each in SYSTEM.properties:
        if each.name.startswith(("INV-", "LIV-")):
            assert (each.__doc__ or "").strip(), each.name


@each_mutant
def test_mutant_replaces_what_is_there(mutant: Mutant) -> None:
    """Its target exists, and is put back."""
    place, _, path = mutant.target.partition(":")
    owner: object = import_module(place)
    *parents, attribute = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    before = vars(owner)[attribute]
    with mutant.applied():
        assert vars(owner)[attribute] is not before
    assert vars(owner)[attribute] is before


@each_mutant
def test_mutant_is_seen_by_properties_of_its_story(mutant: Mutant) -> None:
    """What must report it is a property of its story, and so is each parameter that it gives."""
    story = story_of(mutant)
    assert mutant.expected
    assert {each.name for each in story.properties} & set(mutant.expected)
    assert set(mutant.parameters) <= set(story.parameters)


@pytest.mark.parametrize("seed", SEEDS)
@each_chosen
def test_mutant_is_found(mutant: Mutant, seed: int) -> None:
    """One of the properties that break is expected, and right code breaks none on those runs."""
    story, given = story_of(mutant), mutant.parameters
    found = explore(story, runs=RUNS, seed=seed, mutant=mutant, parameters=given, shrink=False)
    broken = {failure.property for each in found.found for failure in each.failures}
    assert broken & set(mutant.expected), broken
    right = explore(story, runs=found.runs, seed=seed, parameters=given, shrink=False)
    assert right.found == ()


def test_a_mutant_that_needs_a_fault_is_silent_without_it() -> None:
    """With an empty fault plan it is not found."""
    for mutant in SYSTEM.mutants:
        if mutant.needs_fault and (ALL or mutant.name in QUICK):
            calm, given = attrs.evolve(story_of(mutant), faults=()), mutant.parameters
            found = explore(calm, runs=FEW_RUNS, mutant=mutant, parameters=given, shrink=False)
            assert found.found == (), mutant.name

"""The system `fleet`: its stories hold with right code, and its mutants are found in them."""

import os
from collections.abc import Sequence
from importlib import import_module

import attrs
import pytest

from durasim.sim import Mutant, Scenario, explore
from durasim.sim.fleet import SYSTEM
from durasim.sim.kill import first_kill

from ..kills import CALM_RUNS, RUNS, SEEDS, scenario_of
from ..tidy import ROOT
from .listed import LISTED

ALL = os.environ.get("DURASIM_MUTANTS") == "all"
STORY_RUNS = 50 if ALL else 1
"""Runs of each story with right code; the soak has more."""
FEW_CALM_RUNS = 5
QUICK = (
    "callback_of_any_boot",
    "commit_from_artifact_id",
    "delete_clean_head",
    "fence_by_drain_triple",
    "finally_is_settlement",
    "late_end_receipt",
    "no_lag_wait",
    "partial_audit_match",
    "refusal_keeps_fence",
)
"""Some of each file of mutants; all of them with `DURASIM_MUTANTS=all`."""


def named(each: Mutant | Scenario) -> str:
    """Return what a test calls it."""
    return each.name


def chosen(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return those to explore now."""
    return [each for each in mutants if ALL or each.name in QUICK]


each_mutant = pytest.mark.parametrize("mutant", SYSTEM.mutants, ids=named)
each_chosen = pytest.mark.parametrize("mutant", chosen(SYSTEM.mutants), ids=named)
each_faulty = pytest.mark.parametrize(
    "mutant", [each for each in chosen(SYSTEM.mutants) if each.needs_fault], ids=named
)
each_seed = pytest.mark.parametrize("seed", SEEDS if ALL else SEEDS[:1])


@pytest.mark.parametrize("story", SYSTEM.scenarios, ids=named)
def test_right_code_holds(story: Scenario) -> None:
    """Nothing is found in a few runs of each story."""
    assert explore(story, runs=STORY_RUNS, shrink=False).found == ()


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
    story = scenario_of(mutant)
    assert mutant.expected
    assert {each.name for each in story.properties} >= set(mutant.expected)
    assert set(mutant.parameters) <= set(story.parameters)


def test_every_mutant_of_the_specification_is_there() -> None:
    """None of part one is left out, and each expects what the specification lists for it."""
    expected = {each.name: frozenset(each.expected) for each in SYSTEM.mutants}
    assert {name: expected.get(name) for name in LISTED} == LISTED
    assert expected.keys() >= set(QUICK)


def test_every_other_mutant_is_told_about() -> None:
    """Where ours is not the specification's rule, a text says what the specification's breaks."""
    texts = [path.read_text() for path in (ROOT / "docs/findings/fleet").glob("*.md")]
    others = [each.name for each in SYSTEM.mutants if each.name not in LISTED]
    assert others
    assert [name for name in others if not any(name in text for text in texts)] == []


@each_seed
@each_chosen
def test_mutant_is_found(mutant: Mutant, seed: int) -> None:
    """One of the properties that break is expected, and right code breaks none on those runs."""
    story = scenario_of(mutant)
    kill = first_kill(mutant, story, runs=RUNS, seed=seed)
    assert kill.is_expected, kill.property
    right = explore(story, runs=kill.runs, seed=seed, parameters=mutant.parameters, shrink=False)
    assert right.found == ()


@each_faulty
def test_mutant_is_silent_without_its_fault(mutant: Mutant) -> None:
    """With an empty fault plan a mutant that needs a fault is not found."""
    calm, given = attrs.evolve(scenario_of(mutant), faults=()), mutant.parameters
    runs = CALM_RUNS if ALL else FEW_CALM_RUNS
    assert explore(calm, runs=runs, mutant=mutant, parameters=given, shrink=False).found == ()

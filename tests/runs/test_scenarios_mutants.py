"""Each mutant of the system `runs` is found by its story, and right code is silent there.

By default a handful of each file of mutants is explored, from base seed 0; `DURASIM_MUTANTS=all`
explores every one of them, from every base seed of the kill table, as far as it takes.
"""

import os
from collections.abc import Sequence
from pkgutil import resolve_name

import attrs
import pytest

from durasim.sim import Mutant, explore
from durasim.sim.runs import SYSTEM

from ..kills import CALM_RUNS, RUNS, SEEDS, scenario_of

NAMED = {
    "predicate and give-back": (
        "instanceof_only status_only code_in_message any_start_failure refusal_swallowed "
        "storage_error_replaces_refusal rethrow_wrapped group_wrapped_refusal never_released "
        "release_without_cas published_by_shape reason_dropped step_refusal_escapes"
    ),
    "reservation": (
        "claim_without_cas own_candidate_on_reclaim row_state_before_persisted "
        "pending_shell_replayed lost_claim_not_rechecked creator_shortcut_on_touched_row "
        "reclaim_without_probe target_before_owner unreadable_is_absent corrupt_stamp_is_zero "
        "grace_timer probe_new_thread settle_before_persist purge_readable_run read_creates_table "
        "approvals_refiled"
    ),
    "fence": (
        "unreadable_is_open missing_table_mid_chain cached_fence transition_without_cas "
        "gate_after_journal gate_after_create_run gate_after_existing_run gate_inside_run_lock "
        "proof_slot_bound_at_object second_proof_run deadline_charged tick_claims_first "
        "decision_before_gate"
    ),
    "holder and sealer": (
        "executes_without_bind stamp_is_clock holder_releases_by_key holder_trusts_status "
        "seal_in_memory seal_without_liveness sealed_start_runs"
    ),
}
"""What somebody might have written, one name for each."""
QUICK = (
    "cached_fence",
    "claim_without_cas",
    "decision_before_gate",
    "instanceof_only",
    "sealed_start_runs",
    "unreadable_is_open",
)
"""Some of each file of mutants."""
ALL = os.environ.get("DURASIM_MUTANTS") == "all"
FEW_CALM_RUNS = 5


def chosen(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return those to explore now."""
    return [each for each in mutants if ALL or each.name in QUICK]


def named(mutant: Mutant) -> str:
    """Return what a test calls a mutant."""
    return mutant.name


each_mutant = pytest.mark.parametrize("mutant", SYSTEM.mutants, ids=named)
each_chosen = pytest.mark.parametrize("mutant", chosen(SYSTEM.mutants), ids=named)
each_faulty = pytest.mark.parametrize(
    "mutant", [each for each in chosen(SYSTEM.mutants) if each.needs_fault], ids=named
)
each_seed = pytest.mark.parametrize("seed", SEEDS if ALL else SEEDS[:1])


def test_the_mutants_are_there() -> None:
    """None that has a name is left out, and those explored by default are some of them."""
    names = {each.name for each in SYSTEM.mutants}

    assert names >= set(" ".join(NAMED.values()).split())
    assert names >= set(QUICK)


@each_mutant
def test_mutant_replaces_what_is_there(mutant: Mutant) -> None:
    """Its target exists, is replaced, and is put back."""
    right = resolve_name(mutant.target)
    with mutant.applied():
        assert resolve_name(mutant.target) is mutant.replacement

    assert resolve_name(mutant.target) is right


@each_mutant
def test_mutant_says_where_it_runs(mutant: Mutant) -> None:
    """Design, topology and whatever else its story takes are given: none is drawn."""
    assert set(mutant.parameters) == set(scenario_of(mutant).parameters)


@each_mutant
def test_mutant_is_seen_by_properties(mutant: Mutant) -> None:
    """What must report it are properties of its story, never an assertion of the story itself."""
    properties = {each.name for each in scenario_of(mutant).properties}

    assert mutant.expected
    assert properties.issuperset(mutant.expected)


@each_seed
@each_chosen
def test_mutant_is_found(mutant: Mutant, seed: int) -> None:
    """The default strategy reports an expected property, and right code nothing on those runs."""
    scenario, given = scenario_of(mutant), mutant.parameters

    found = explore(scenario, runs=RUNS, seed=seed, mutant=mutant, parameters=given, shrink=False)

    (failed,) = found.found
    assert {each.property for each in failed.failures} & set(mutant.expected)
    right = explore(scenario, runs=found.runs, seed=seed, parameters=given, shrink=False)
    assert right.found == ()


@each_faulty
def test_mutant_is_silent_without_its_fault(mutant: Mutant) -> None:
    """Without faults a mutant that needs one is not found."""
    calm = attrs.evolve(scenario_of(mutant), faults=())

    exploration = explore(
        calm, runs=CALM_RUNS if ALL else FEW_CALM_RUNS, mutant=mutant,
        parameters=mutant.parameters, shrink=False,
    )  # fmt: skip

    assert exploration.found == ()

"""What the checkers of fence, upload, target, recovery and words reject: each by wrong code."""

from typing import Any

import pytest

from durasim.sim import Job, Mutant, Ordinary, Property, Scenario, explore, run_once
from durasim.sim.fleet import SYSTEM
from durasim.sim.fleet.attempting import g02_retained_over_image
from durasim.sim.fleet.inv_fence import FENCE
from durasim.sim.fleet.inv_ready import READY
from durasim.sim.fleet.inv_recovery import RECOVERY
from durasim.sim.fleet.inv_saying import SAYING
from durasim.sim.fleet.inv_upload import UPLOAD

FLEET = "durasim.actors.fleet"
RUNS = 100
"""Within so many runs a mutant that needs a fault is found here."""


def nothing(*given: Any) -> None:
    """Do not look."""
    del given


NO_RESERVE = Mutant(
    "no_reserve", f"{FLEET}.runner:DeployRunner._check_reserve", nothing,
    g02_retained_over_image, ("INV-22",), needs_fault=False,
)  # fmt: skip
MUTANTS = {each.name: each for each in (*SYSTEM.mutants, NO_RESERVE)}

REJECTED = {
    "INV-08": "read_then_fence",
    "INV-09": "drain_only",
    "INV-10": "member_gate_only",
    "INV-11": "read_then_fence",
    "INV-12": "skip_failed_members",
    "INV-16": "refusal_lifts_drain",
    "INV-17": "fence_as_flag",
    "INV-18": "drain_without_scope",
    "INV-19": "any_worker_lifts",
    "INV-20": "drain_replaces_fence",
    "INV-21": "undrain_ignores_debt",
    "INV-22": "no_reserve",
    "INV-23": "reserve_literal",
    "INV-24": "fallback_to_count",
    "INV-25": "undrain_before_reconcile",
    "INV-43": "compare_key_only",
    "INV-44": "audit_keeps_url",
    "INV-45": "overwrite_audit",
    "INV-46": "late_commit_any_fence",
    "INV-47": "retry_recovery",
    "INV-48": "url_is_proof",
    "INV-49": "recovery_cleans_up",
    "INV-50": "client_falls_back",
    "INV-51": "idle_is_ended",
    "INV-52": "compact_adds_hash",
    "INV-85": "target_refrozen",
    "INV-86": "accept_foreign_hint",
    "INV-87": "no_lag_wait",
    "INV-88": "single_native_read",
    "INV-89": "accept_foreign_hint",
    "INV-90": "reconcile_without_target",
    "INV-103": "withdrawn_without_readback",
    "INV-104": "url_is_proof",
    "INV-105": "partial_audit_match",
}
"""Each invariant, and wrong code that it rejects."""


def story_of(mutant: Mutant) -> Scenario:
    """Return the story that is to find a mutant."""
    assert isinstance(mutant.scenario, Scenario)
    return mutant.scenario


def broken_by(mutant: Mutant) -> set[str]:
    """Return what the ordinary run of wrong code breaks, or the first run that breaks anything."""
    story = story_of(mutant)
    if not mutant.needs_fault:
        drawn = {name: values[0] for name, values in story.parameters.items()}
        given = {**drawn, **mutant.parameters}
        with mutant.applied():
            result = run_once(Job(scenario=story, seed=0, source=Ordinary(), parameters=given))
        return {failure.property for failure in result.failures}
    found = explore(story, runs=RUNS, mutant=mutant, parameters=mutant.parameters, shrink=False)
    return {failure.property for each in found.found for failure in each.failures}


@pytest.mark.parametrize("name", sorted(set(REJECTED.values())))
def test_wrong_code_is_rejected(name: str) -> None:
    """Each invariant that a mutant is here for is broken by it."""
    wanted = {each for each, mutant in REJECTED.items() if mutant == name}

    assert wanted <= broken_by(MUTANTS[name])


def test_every_check_of_the_front_rejects_something() -> None:
    """None is left out."""
    checks: tuple[Property[Any], ...] = (*FENCE, *UPLOAD, *RECOVERY, *SAYING, *READY)

    assert {each.name for each in checks} == set(REJECTED)

"""The story of a case is able to fail: with the wrong code that the case is about, it does.

The mutants are those of the system, each here in the story of a case instead of its own.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from durasim.sim import Job, Ordinary, Recorded, Scenario, run_once
from durasim.sim.ordinary import OrdinaryLog
from durasim.sim.runs import (
    SYSTEM,
    aging,
    closing,
    lost,
    proving,
    raced,
    scenarios,
    standing,
    strangers,
)

MUTANTS = {each.name: each for each in SYSTEM.mutants}
OBJECTS = {"topology": "objects", "design": "router"}
PROCESS = {"topology": "process", "design": "router"}
AGENTS = {"topology": "agents", "design": "router"}
HOLDER = {"topology": "objects", "design": "holder"}

Wrong = tuple[str, str, Scenario, Mapping[str, Any]]

WRONG: tuple[Wrong, ...] = (
    ("2", "claim_without_cas", raced.overtaken, OBJECTS | {"workflow": "unhurried"}),
    ("3", "own_candidate_on_reclaim", raced.abandoned_row, OBJECTS),
    ("4", "row_state_before_persisted", raced.restarted, OBJECTS | {"is_over": True}),
    ("5", "row_state_before_persisted", lost.settle_lost, OBJECTS),
    ("6", "grace_timer", scenarios.much_later, OBJECTS | {"minutes": 11}),
    ("7", "grace_timer", raced.claimed_by_the_dead, OBJECTS),
    ("10", "target_before_owner", strangers.strangers_key, OBJECTS | {"state": "open"}),
    ("11", "target_before_owner", strangers.derived_key, OBJECTS | {"is_agent_first": True}),
    ("12", "probe_new_thread", scenarios.much_later, AGENTS | {"minutes": 1}),
    ("13", "corrupt_stamp_is_zero", scenarios.corrupt_row, OBJECTS),
    ("15", "approvals_refiled", scenarios.retried, OBJECTS | {"workflow": "approval"}),
    ("16", "claim_without_cas", raced.claimed_by_the_dead, OBJECTS),
    ("17", "lost_claim_not_rechecked", raced.outrun, OBJECTS),
    ("18", "pending_shell_replayed", scenarios.much_later, OBJECTS | {"minutes": 1}),
    ("20", "never_released", closing.closed_behind_claim, PROCESS),
    ("21", "instanceof_only", closing.closed_behind_claim, OBJECTS),
    ("22", "any_start_failure", scenarios.start_fails, OBJECTS | {"failure": "policy"}),
    ("23", "storage_error_replaces_refusal", lost.release_unapplied, OBJECTS),
    ("24", "release_without_cas", raced.late_release, OBJECTS),
    ("25", "cached_fence", closing.closed_during_run, PROCESS),
    ("26", "refusal_swallowed", closing.closed_between_gates, OBJECTS),
    ("27", "unreadable_is_open", scenarios.fence_unreadable, OBJECTS),
    ("28", "never_released", closing.killed_while_shut, OBJECTS),
    ("29", "decision_before_gate", standing.decision_under_lock, OBJECTS),
    ("30", "cached_fence", standing.decision_under_lock, PROCESS),
    ("31", "transition_without_cas", scenarios.operators_race, OBJECTS),
    ("32", "tick_claims_first", standing.tick_under_drain, OBJECTS),
    ("33", "deadline_charged", scenarios.deadline_under_lock, OBJECTS),
    ("34", "cached_fence", scenarios.proof_only, PROCESS),
    ("35", "second_proof_run", scenarios.proofs_race, OBJECTS),
    ("36", "second_proof_run", proving.proof_moved, OBJECTS),
    ("37", "cached_fence", proving.proof_goes_on, PROCESS),
    ("40", "proof_slot_bound_at_object", scenarios.proofs_race, OBJECTS),
    ("41", "holder_releases_by_key", closing.started_twice, HOLDER),
    ("43", "reclaim_without_probe", closing.closed_between_gates, HOLDER),
    ("44", "step_refusal_escapes", scenarios.start_fails, OBJECTS | {"failure": "step"}),
    ("45", "published_by_shape", scenarios.start_fails, OBJECTS | {"failure": "forged"}),
    ("46", "status_only", closing.unreadable_refusal, AGENTS),
    ("47", "rethrow_wrapped", closing.recovery_unread, OBJECTS),
    ("48", "refusal_swallowed", aging.abandoned_key, OBJECTS),
    ("50", "purge_readable_run", standing.grown_old, OBJECTS),
    ("52", "row_state_before_persisted", lost.settle_lost, AGENTS),
    ("53", "read_creates_table", aging.purged_unkeyed, OBJECTS),
    ("54", "read_creates_table", scenarios.unkeyed, OBJECTS),
    ("L1", "own_candidate_on_reclaim", lost.insert_unheard, OBJECTS),
    ("L7", "storage_error_replaces_refusal", lost.release_unapplied, AGENTS),
    ("L10", "row_state_before_persisted", lost.settle_lost, PROCESS),
)
"""Case, wrong code, and the story in which it shows."""


def is_found(story: Scenario, parameters: Mapping[str, Any]) -> bool:
    """Whether some run fails: without faults, or with one that strikes in one place."""
    told = {name: parameters.get(name, values[0]) for name, values in story.parameters.items()}
    calm = run_once(Job(scenario=story, seed=0, source=Ordinary(), parameters=told, log=True))
    log = OrdinaryLog.of(calm.log)
    struck = (
        run_once(Job(scenario=story, seed=0, source=Recorded([place]), parameters=told))
        for place in (*log.losses, *log.others)
    )
    return not calm.ok or not all(each.ok for each in struck)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: f"{each[0]}-{each[1]}")
def test_wrong_code_fails_in_the_story_of_its_case(wrong: Wrong) -> None:
    """Whatever watches it there."""
    _, mutant, story, parameters = wrong

    with MUTANTS[mutant].applied():
        found = is_found(story, parameters)

    assert found

"""The cases of a fence: against starts, and for one proof (spec/run-claims.md 5.2, 5.3)."""

from durasim.sim.runs import (
    closing,
    lost,
    proving,
    raced,
    scenarios,
    standing,
)

from .cases import ALARM, MESSAGE, TENANTS, WIRED, WORKFLOWS, Case, case

__all__ = ["FENCE", "PROOFS"]

FENCE: dict[str, Case] = {
    "20": case(
        "reserved again; after the reopening the same run runs once",
        closing.closed_behind_claim,
        (scenarios.drain_reopen, {"keys": 3}),
        "test_router.py::test_case_20_and_21_a_fence_that_closes_between_claim_and_start",
    ),
    "21": case(
        "the same over a boundary, where the class is lost",
        closing.closed_behind_claim,
        "test_threads.py::test_case_21_a_refusal_arrives_as_a_route_error_and_the_claim_goes_back",
        topologies=WIRED,
        why=MESSAGE,
    ),
    "22": case(
        "another failure: the claim is kept",
        (scenarios.start_fails, {"failure": "policy"}),
        "test_reservations.py::test_case_22_any_other_error_keeps_the_claim",
    ),
    "23": case(
        "the same refusal goes out, the row stays, the next retry is UNRESOLVABLE",
        lost.release_unapplied,
        "test_reservations.py::test_case_23_the_same_refusal_goes_on_whatever_becomes_of_the_release",
    ),
    "24": case(
        "a release after the settlement changes nothing",
        raced.late_release,
        "test_reservations.py::test_case_24_a_spent_key_never_becomes_startable",
    ),
    "25": case(
        "the run completes, the next start is refused",
        closing.closed_during_run,
        "test_run_object.py::test_case_25_a_run_past_its_gate_is_not_preempted",
    ),
    "26": case(
        "what was written is undone, the refusal goes out, the claim goes back",
        closing.closed_between_gates,
        "test_run_object.py::test_case_26_a_fence_that_closes_between_the_two_gates",
        "test_threads.py::test_case_26_what_a_refused_start_of_a_second_run_wrote_is_undone",
        topologies=WIRED,
        why="in process nothing is written before the one gate",
    ),
    "27": case("503 UNREADABLE, the claim goes back", scenarios.fence_unreadable),
    "28": case("a fresh process refuses from the row alone", closing.killed_while_shut),
    "29": case(
        "503 and nothing stored; after the reopening it completes",
        standing.decision_under_lock,
        "test_approvals.py::test_case_29_a_locked_deployment_stores_no_decision",
        topologies=WORKFLOWS,
        why=TENANTS,
    ),
    "30": case(
        "every read sees the fence as it is, in both directions",
        standing.decision_under_lock,
        "test_approvals.py::test_case_30_every_decision_reads_the_fence_anew",
        "test_gates.py::test_each_gate_reads_the_fence_once_and_anew",
        topologies=WORKFLOWS,
        why=TENANTS,
    ),
    "31": case(
        "the loser gets 409 with the state",
        scenarios.operators_race,
        "test_fence.py::test_case_31_of_two_transitions_one_wins",
        "test_admin.py::test_case_31_two_operators_race_and_the_loser_learns_the_state",
    ),
    "32": case(
        "the tick asks the fence first: no fire is lost",
        standing.tick_under_drain,
        "test_tick.py::test_case_32_the_tick_asks_the_fence_before_it_claims",
        topologies=WORKFLOWS,
        why=TENANTS,
    ),
    "33": case(
        "an uncharged deadline, tried every minute",
        scenarios.deadline_under_lock,
        "test_journal.py::test_case_33_a_refusal_of_the_fence_is_not_charged",
        "test_run_duties.py::test_case_33_a_deadline_under_a_lock_is_neither_charged_nor_lost",
        "test_thread_cases.py::test_case_33_a_deadline_under_a_lock_is_neither_charged_nor_lost",
        topologies=WIRED,
        why=ALARM,
    ),
}
"""Fence against start (5.2)."""

PROOFS: dict[str, Case] = {
    "34": case(
        "no key and another key are refused; the nominated one runs and binds",
        scenarios.proof_only,
        "test_run_duties.py::test_cases_34_35_37_one_proof_through_the_lock",
        "test_thread_cases.py::test_case_34_only_the_nominated_key_starts_and_binds",
    ),
    "35": case(
        "another run of the proof's key is refused by the binding",
        scenarios.proofs_race,
        "test_fence.py::test_cases_35_and_36_the_slot_is_bound_to_one_run",
        "test_thread_cases.py::test_case_35_a_second_start_with_the_proof_key_is_refused",
        topologies=WIRED,
        why="in process nobody starts a run by an id of its own",
    ),
    "36": case(
        "a fence that moved before the binding refuses, and the claim goes back",
        proving.proof_moved,
        "test_runtime.py::test_case_36_a_fence_that_moves_before_the_binding_refuses",
    ),
    "37": case(
        "the proof's run goes on, no other does",
        proving.proof_goes_on,
        "test_thread_cases.py::test_case_37_the_proof_run_goes_on_and_no_other",
    ),
    "38": case(
        "a replay restores the binding, for its key alone; one that fails still replays",
        proving.proof_bound_again,
        "test_claims.py::test_case_38_a_replay_binds_the_proof_run_again",
        "test_claims.py::test_case_38_a_binding_that_fails_does_not_stop_the_replay",
    ),
    "39": case(
        "leaving clears key and run; a new key drops the old run",
        proving.proof_bound_again,
        "test_fence.py::test_case_39_a_transition_drops_the_bound_run",
        "test_admin.py::test_case_39_leaving_proof_only_clears_key_and_run",
    ),
    "40": case(
        "only the runtime binds: a start refused before it burns no proof",
        scenarios.proofs_race,
        "test_run_duties.py::test_case_40_the_objects_own_gate_leaves_the_proof_alone",
        "test_thread_cases.py::test_case_40_a_start_that_is_refused_before_the_runtime_leaves_the_slot_alone",
        topologies=WIRED,
        why="in process there is one gate",
    ),
}
"""Proof-only (5.3)."""

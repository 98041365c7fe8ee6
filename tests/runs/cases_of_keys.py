"""The cases of one key: made, claimed, started, shown again (spec/run-claims.md 5.1)."""

from durasim.sim.runs import (
    aging,
    lost,
    raced,
    scenarios,
    strangers,
)

from .cases import TENANTS, WORKFLOWS, Case, case

__all__ = ["KEYS"]

KEYS: dict[str, Case] = {
    "1": case(
        "ten first calls: one execution",
        (scenarios.first_calls, {"callers": 10, "workflow": "order"}),
    ),
    "2": case(
        "whoever made the row is overtaken: told to wait, naming the run of the row",
        (raced.overtaken, {"workflow": "unhurried"}),
        "test_claims.py::test_case_2_the_creator_may_lose_the_claim",
        "test_claims.py::test_cases_2_and_17_a_lost_claim_is_looked_at_again",
    ),
    "3": case(
        "the next caller runs the row's id, and there is one row",
        raced.abandoned_row,
        "test_claims.py::test_cases_3_and_l1_a_row_that_nobody_claimed_starts_under_its_own_id",
    ),
    "4": case(
        "response lost, process killed: the same run is shown, charged once",
        (raced.restarted, {"is_over": True}),
        (raced.restarted, {"is_over": False}),
        "test_run_duties.py::test_case_4_what_a_dead_attempt_has_left_is_settled_by_the_alarm",
        "test_thread_cases.py::test_case_4_a_run_that_died_with_its_thread_runs_no_more",
    ),
    "5": case(
        "settle lost: replay",
        lost.settle_lost,
        "test_claims.py::test_case_5_what_is_persisted_is_shown_whatever_the_row_says",
    ),
    "6": case(
        "executing, nothing persisted: PENDING with the time of the claim",
        (scenarios.much_later, {"minutes": 1}),
        (scenarios.much_later, {"minutes": 11}),
        "test_claims.py::test_case_6_a_run_that_executes_is_pending",
        "test_run_object.py::test_case_6_a_start_under_way_is_live_beside_the_lock",
        "test_threads.py::test_case_6_a_live_run_is_pending",
    ),
    "7": case(
        "nothing persisted, nothing live: UNRESOLVABLE; the sealer takes it back",
        raced.claimed_by_the_dead,
        "test_claims.py::test_case_7_a_run_that_left_nothing_is_unresolvable",
    ),
    "8": case(
        "settled, summary purged: ALREADY_SETTLED",
        aging.spent_and_purged,
        "test_claims.py::test_case_8_a_spent_key_whose_result_is_gone_is_settled",
    ),
    "9": case(
        "a false alarm at worst: the winner executes once, the next retry replays",
        raced.claim_window,
    ),
    "10": case(
        "OWNER_MISMATCH with nothing else, whatever the target",
        (strangers.strangers_key, {"state": "open"}),
        (strangers.strangers_key, {"state": "draining"}),
        "test_reservations.py::test_cases_10_and_11_owners_are_compared_first",
    ),
    "11": case(
        "403 both ways",
        (strangers.derived_key, {"is_agent_first": False}),
        (strangers.derived_key, {"is_agent_first": True}),
        "test_threads.py::test_case_10_and_11_a_key_of_another_principal_is_refused_without_a_word",
        topologies=WORKFLOWS,
        why="each of them beside the agents' topology",
    ),
    "12": case(
        "the recorded thread is asked, probed and started in",
        (scenarios.much_later, {"minutes": 1}),
        (scenarios.retried, {"workflow": "order"}),
        "test_threads.py::test_case_12_a_retry_without_a_thread_goes_to_the_recorded_one",
        topologies=("agents",),
        why="only agents have threads",
    ),
    "13": case(
        "503 unreadable",
        scenarios.corrupt_row,
        "test_reservations.py::test_case_13_a_row_that_makes_no_sense_is_not_absent",
    ),
    "14": case(
        "any failure but a missing table: 503, nothing starts",
        lost.readback_failed,
        "test_reservations.py::test_case_14_a_failure_is_not_absence",
    ),
    "15": case(
        "approvals are filed once",
        (scenarios.retried, {"workflow": "approval"}),
        "test_approvals.py::test_case_15_a_suspension_is_filed_once",
        "test_process.py::test_case_15_a_parked_run_files_its_approval_once",
        topologies=WORKFLOWS,
        why=TENANTS,
    ),
    "16": case(
        "of five claims one is true; another run id claims nothing",
        raced.claimed_by_the_dead,
        "test_reservations.py::test_case_16_a_row_is_claimed_once",
    ),
    "17": case(
        "the loser looks again, and is shown what the winner has persisted",
        (raced.overtaken, {"workflow": "order"}),
        raced.outrun,
        "test_claims.py::test_case_17_a_winner_that_has_persisted_is_shown",
    ),
    "18": case(
        "a shell, or a run on its way, is no result: PENDING",
        (scenarios.much_later, {"minutes": 1}),
        "test_topology.py::test_case_18_what_is_on_its_way_is_no_result",
        "test_snapshots.py::test_case_18_a_result_is_parked_or_ended",
    ),
    "19": case(
        "the shortcut of a creator is for an untouched row alone",
        raced.touched_row,
        "test_claims.py::test_case_19_a_creator_is_no_creator_once_the_row_was_touched",
    ),
}
"""Reserve, claim, replay (5.1)."""

"""What each caller sees: the rows of the table of answers (spec/run-claims.md 2.6)."""

from durasim.sim.runs import aging, closing, lost, raced, scenarios, strangers

from .cases import TENANTS, WORKFLOWS, Case, case

__all__ = ["ANSWERS"]

ANSWERS: dict[str, Case] = {
    "first call": case(
        "200 with the summary", (scenarios.first_calls, {"callers": 2, "workflow": "order"})
    ),
    "retry, a result": case(
        "200 with the same summary",
        (scenarios.retried, {"workflow": "order"}),
        raced.late_release,
        "test_router.py::test_a_run_is_started_once_under_its_key",
    ),
    "retry, a result that waits": case(
        "200 without approvals, which are reconciled",
        (scenarios.retried, {"workflow": "approval"}),
        "test_process.py::test_case_15_a_parked_run_files_its_approval_once",
        topologies=WORKFLOWS,
        why=TENANTS,
    ),
    "retry, another payload": case(
        "the original run",
        strangers.other_payload,
        "test_router.py::test_a_run_is_started_once_under_its_key",
    ),
    "retry, executing": case("503 PENDING", (scenarios.much_later, {"minutes": 1})),
    "retry, nothing left": case("409 UNRESOLVABLE", raced.claimed_by_the_dead),
    "retry, purged summary": case("409 ALREADY_SETTLED", aging.spent_and_purged, lost.settle_lost),
    "retry, purged key": case("a new run", aging.spent_and_purged),
    "another target": case(
        "409 TARGET_MISMATCH",
        (strangers.strangers_key, {"state": "open"}),
        "test_process.py::test_2_6_what_each_caller_sees",
    ),
    "another principal": case(
        "403 OWNER_MISMATCH, before the target", (strangers.strangers_key, {"state": "open"})
    ),
    "many first calls": case(
        "one start; the rest 200, PENDING or UNRESOLVABLE",
        (scenarios.first_calls, {"callers": 10, "workflow": "approval"}),
        (raced.overtaken, {"workflow": "unhurried"}),
    ),
    "no store": case(
        "503 UNSUPPORTED",
        strangers.unsupported,
        "test_process.py::test_a_host_without_reservations_takes_no_key",
        "test_threads.py::test_a_host_without_reservations_takes_no_key",
    ),
    "no key": case("no reservation is touched", scenarios.unkeyed, aging.purged_unkeyed),
    "refused": case("503 EXECUTION_FENCED, and the key works", closing.closed_behind_claim),
}
"""Every situation of the table, and a start that the fence refuses."""

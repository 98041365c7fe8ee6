"""The thin premise, age, and each row of lost replies (spec/run-claims.md 5.4, 5.5, 2.9)."""

from durasim.sim.runs import aging, closing, lost, raced, scenarios, standing

from .cases import ASSUMED, MESSAGE, STEADFAST, WIRED, Case, case

__all__ = ["AGE", "LOSSES", "THIN"]

THIN: dict[str, Case] = {
    "41": case(
        "a start that comes again and is refused: the claim of a run that has begun stays",
        closing.started_twice,
        "test_scenarios.py::test_router_breaks_without_its_assumptions",
        topologies=WIRED,
        designs=STEADFAST,
        why=f"{MESSAGE}; {ASSUMED}",
    ),
    "42": case(
        "a release names its claim: one that comes again changes nothing",
        scenarios.stale_release,
        "test_reservations.py::test_case_42_an_exact_release_names_its_claim",
        "test_scenarios.py::test_router_breaks_without_its_assumptions",
        designs=STEADFAST,
        why=ASSUMED,
    ),
    "43": case(
        "refused and still registered: PENDING",
        closing.closed_between_gates,
        "test_claims.py::test_case_43_what_was_refused_may_still_be_on_its_way_out",
        "test_claims.py::test_case_43_a_row_that_came_back_once_more_meanwhile_is_not_claimed",
        "test_thread_cases.py::test_case_43_a_refused_start_that_is_still_registered_is_pending",
        topologies=WIRED,
        why="in process a refused start has nothing to undo",
    ),
    "44": case(
        "a refusal of a step ends its run as failed, and the claim is kept",
        (scenarios.start_fails, {"failure": "step"}),
        "test_engine.py::test_case_44_whatever_a_step_raises_ends_its_run",
        "test_runtime.py::test_case_44_a_refusal_raised_by_a_step_is_a_failed_run",
        "test_thread_cases.py::test_case_44_a_refusal_from_inside_of_a_run_ends_it_as_failed",
    ),
    "45": case(
        "what has the fields of a refusal and is none is not published: the claim is kept",
        (scenarios.start_fails, {"failure": "forged"}),
        topologies=WIRED,
        why=MESSAGE,
    ),
    "46": case(
        "a refusal that cannot be read is none: the router keeps the claim",
        closing.unreadable_refusal,
        "test_http.py::test_case_46_a_refusal_that_cannot_be_read_is_none",
        topologies=WIRED,
        why=MESSAGE,
    ),
    "47": case(
        "the refusal goes out and the claim back; the next start settles the journal first",
        closing.recovery_unread,
        "test_run_object.py::test_case_47_a_recovery_that_fails_keeps_the_refusal_and_the_journal",
        "test_thread_cases.py::test_case_47_a_recovery_that_fails_leaves_the_refusal_and_is_made_up_for",
        "test_thread_cases.py::test_case_47_the_alarm_makes_up_for_it_too",
        topologies=WIRED,
        why="in process there is no journal",
    ),
    "48": case(
        "an abandoned row stays outstanding, at any age, until its key is finished",
        aging.abandoned_key,
        "test_inventory.py::test_case_48_an_abandoned_reservation_stays_outstanding_until_its_key_is_finished",
    ),
    "49": case(
        "a retry between a refusal and its release: a false alarm at worst, which heals",
        closing.release_window,
        "test_claims.py::test_case_49_a_row_that_is_just_changing_gets_no_verdict",
        topologies=WIRED,
        why="in process nothing but the one query lies between the two",
    ),
}
"""Where the premise is thin (5.4)."""

AGE: dict[str, Case] = {
    "50": case(
        "a key is kept while its run is readable",
        standing.grown_old,
        "test_retention.py::test_case_50_a_key_is_kept_while_its_run_is_readable",
        "test_retention.py::test_case_50_a_run_of_another_workflow_keeps_the_key_as_well",
    ),
    "51": case(
        "a shorter horizon is floored",
        aging.short_horizon,
        "test_retention.py::test_case_51_a_key_is_kept_as_long_as_its_run_at_least",
        "test_retention.py::test_case_51_a_short_horizon_deletes_no_key_early",
    ),
    "52": case(
        "the started row of a purged run is terminal, stamped anew, and survives the pass",
        lost.settle_lost,
        "test_retention.py::test_case_52_a_key_whose_run_is_purged_is_spent_and_survives_the_pass",
    ),
    "53": case(
        "without a table of keys the purge works",
        aging.purged_unkeyed,
        "test_retention.py::test_case_53_a_missing_table_of_reservations_does_not_fail_the_purge",
    ),
    "54": case(
        "looking and counting make no table",
        aging.purged_unkeyed,
        scenarios.unkeyed,
        "test_reservations.py::test_case_54_only_a_reservation_makes_the_table",
        "test_inventory.py::test_case_54_a_sweep_makes_no_table",
        "test_retention.py::test_case_54_purging_and_reading_make_no_table",
        "test_snapshots.py::test_case_54_reading_makes_no_table",
    ),
}
"""Storage and retention (5.5)."""

LOSSES: dict[str, Case] = {
    "L1": case(
        "reserved: the next retry claims again and starts the same run",
        lost.insert_unheard,
        raced.abandoned_row,
        "test_claims.py::test_cases_3_and_l1_a_row_that_nobody_claimed_starts_under_its_own_id",
    ),
    "L2": case("as L1", lost.readback_failed),
    "L3": case("UNRESOLVABLE; the sealer gets it back", lost.claim_unheard),
    "L4": case(
        "UNRESOLVABLE; the sealer gets it back", lost.start_unheard, topologies=WIRED, why=MESSAGE
    ),
    "L5": case(
        "replay; UNRESOLVABLE if it died before a result",
        (lost.run_unheard, {"workflow": "order"}),
    ),
    "L6": case(
        "UNRESOLVABLE with the router; who refused has given back itself in the others",
        lost.refusal_unheard,
        topologies=WIRED,
        why=MESSAGE,
    ),
    "L7": case(
        "fenced all the same; UNRESOLVABLE; the sealer gets it back", lost.release_unapplied
    ),
    "L8": case("works; the log claims a failure", lost.release_unheard),
    "L9": case("UNRESOLVABLE, unless somebody else gave it back", lost.router_dies),
    "L10": case(
        "replay; the purge marks it terminal",
        lost.settle_lost,
        "test_runtime.py::test_a_settlement_that_fails_is_only_logged",
    ),
    "L11": case(
        "the same key starts the run that the fence is bound to",
        lost.proof_unheard,
        "test_runtime.py::test_l11_a_binding_that_fails_is_a_refusal",
    ),
}
"""Lost replies, step by step (2.9)."""

"""The system `runs`: stories of run claims behind an execution fence, and what holds in them."""

from .. import systems
from . import (
    designs,
    fencing,
    giving_back,
    holding,
    properties,
    reserving,
    scenarios,
    standing,
    storm,
)

__all__ = ["SYSTEM"]

SYSTEM = systems.System(
    "runs",
    (
        scenarios.drain_reopen,
        scenarios.claim_lost,
        scenarios.corrupt_row,
        scenarios.deadline_under_lock,
        scenarios.delivered_twice,
        scenarios.drain_midway,
        scenarios.duplicate_start,
        scenarios.echo_after_reopen,
        scenarios.echo_behind_drain,
        scenarios.echoed_start,
        scenarios.echoed_suspension,
        scenarios.fence_unreadable,
        scenarios.first_calls,
        scenarios.late_start,
        scenarios.lost_replies,
        scenarios.much_later,
        scenarios.operators_race,
        scenarios.proof_only,
        scenarios.proofs_race,
        scenarios.read_back_late,
        scenarios.refused_midway,
        scenarios.refused_start,
        scenarios.retried,
        scenarios.sent_again,
        scenarios.sent_while_live,
        scenarios.stale_release,
        scenarios.start_fails,
        scenarios.start_lost,
        scenarios.still_registered,
        scenarios.unkeyed,
        standing.decision_under_lock,
        standing.grown_old,
        standing.tick_under_drain,
        designs.never_stuck,
        storm.anything_fails,
        storm.router_assumed,
    ),
    (*properties.EVERYWHERE, properties.refused_runs_leave_nothing),
    (
        *giving_back.GIVING_BACK,
        *reserving.RESERVING,
        *fencing.FENCING,
        *holding.HOLDING,
        *standing.STANDING,
    ),
    designs.COMPARISONS,
)
"""What `durasim` finds by the name `runs`."""

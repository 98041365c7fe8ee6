"""The system `runs`: stories of run claims behind an execution fence, and what must hold in them."""

from ..systems import System
from . import scenarios
from .giving_back import GIVING_BACK
from .properties import EVERYWHERE, refused_runs_leave_nothing

__all__ = ["SYSTEM"]

SYSTEM = System(
    "runs",
    (
        scenarios.drain_reopen,
        scenarios.drain_midway,
        scenarios.refused_start,
        scenarios.fence_unreadable,
        scenarios.first_calls,
        scenarios.claim_lost,
        scenarios.lost_replies,
        scenarios.start_fails,
        scenarios.delivered_twice,
        scenarios.duplicate_start,
        scenarios.stale_release,
        scenarios.proof_only,
    ),
    (*EVERYWHERE, refused_runs_leave_nothing),
    GIVING_BACK,
)
"""What `durasim` finds by the name `runs`."""

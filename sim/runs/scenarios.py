"""Every story of the system, from where it is told."""

from .claimed import claim_lost, corrupt_row, first_calls, much_later, retried, start_fails, unkeyed
from .delivered import (
    delivered_twice,
    duplicate_start,
    echo_after_reopen,
    late_start,
    lost_replies,
    stale_release,
    start_lost,
    still_registered,
)
from .drained import (
    deadline_under_lock,
    drain_midway,
    drain_reopen,
    fence_unreadable,
    operators_race,
    proof_only,
    proofs_race,
    refused_start,
    sent_again,
    sent_while_live,
)
from .overtaken import echo_behind_drain, echoed_start, echoed_suspension, read_back_late

__all__ = [
    "claim_lost",
    "corrupt_row",
    "deadline_under_lock",
    "delivered_twice",
    "drain_midway",
    "drain_reopen",
    "duplicate_start",
    "echo_after_reopen",
    "echo_behind_drain",
    "echoed_start",
    "echoed_suspension",
    "fence_unreadable",
    "first_calls",
    "late_start",
    "lost_replies",
    "much_later",
    "operators_race",
    "proof_only",
    "proofs_race",
    "read_back_late",
    "refused_start",
    "retried",
    "sent_again",
    "sent_while_live",
    "stale_release",
    "start_fails",
    "start_lost",
    "still_registered",
    "unkeyed",
]

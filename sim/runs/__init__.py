"""The system `runs`: stories of run claims behind an execution fence, and what must hold in them."""

from ..systems import System
from .scenarios import drain_reopen, drain_midway, refused_start, fence_unreadable, first_calls, claim_lost, lost_replies, duplicate_start, proof_only

__all__ = ["SYSTEM"]

SYSTEM = System("runs", (drain_reopen, drain_midway, refused_start, fence_unreadable, first_calls, claim_lost, lost_replies, duplicate_start, proof_only))
"""What `durasim` finds by the name `runs`."""

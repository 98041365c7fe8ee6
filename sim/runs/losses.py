"""What may strand a key: what is lost, and which designs cannot make up for it (2.9, 8.2).

A key is stranded when whoever asks for it is told for good that nobody knows what became of its
run, and nobody does.
"""

from typing import Final

import attrs

from ..faults import (
    DuplicateQuery,
    FailQuery,
    LoseQuery,
    LoseQueryReply,
    SlowQuery,
)
from ..world import World

__all__ = [
    "ANSWER_LOST",
    "CLAIM_UNHEARD",
    "DIED",
    "FENCES",
    "LOSSES",
    "RELEASE_FAILED",
    "START_FAILED",
    "START_LOST",
    "Loss",
    "is_excused",
    "is_lossy",
]

FENCES = "flowsafe_execution_fence"

CLAIM_UNHEARD: Final = "its claim landed, and whoever claimed never learned of it"
START_LOST: Final = "the request that was to start it never arrived"
ANSWER_LOST: Final = "the answer of where it was to run was lost, or could not be read"
RELEASE_FAILED: Final = "its release did not land"
DIED: Final = "whoever held its claim died"
START_FAILED: Final = "its start failed, for another reason than the fence"


@attrs.frozen
class Loss:
    """One way to strand a key.

    Attributes:
        rows: of the table of 2.9, or numbered cases of section 5.
        what: happened to the key, since it was claimed.
        designs: which cannot make up for it.
        is_begun: whether it strands only a run that has begun, or is bound to its claim.
    """

    rows: str
    what: str
    designs: tuple[str, ...]
    is_begun: bool = False


LOSSES: Final = (
    Loss("L3", CLAIM_UNHEARD, ("router", "holder")),
    Loss("L4", START_LOST, ("router", "holder")),
    Loss("L6, case 46", ANSWER_LOST, ("router",)),
    Loss("L7", RELEASE_FAILED, ("router", "holder")),
    Loss("L5, L9", DIED, ("router", "holder")),
    Loss("case 22", START_FAILED, ("router", "holder")),
    Loss("L5", DIED, ("sealer",), is_begun=True),
    Loss("case 22", START_FAILED, ("sealer",), is_begun=True),
)
"""Every way. L1, L2, L8, L10 and L11 strand no key in any design."""


def is_excused(design: str, happened: set[str], *, is_begun: bool) -> bool:
    """Whether a key of *design* may be stranded by one of the things that *happened* to it."""
    return any(
        design in loss.designs and loss.what in happened and (is_begun or not loss.is_begun)
        for loss in LOSSES
    )


LOSING = (DuplicateQuery, FailQuery, LoseQuery, LoseQueryReply, SlowQuery)


def is_lossy(world: World, *, beside: str | None = None) -> bool:
    """Whether something has struck by which a design may strand a key (2.9).

    A fence that cannot be read is none of it: it refuses, and the claim goes back (case 27).

    Args:
        world: where.
        beside: what strikes there does not count.
    """
    for fault, count in zip(world.plan, world.choices.struck, strict=True):
        is_query = isinstance(fault, LOSING)
        harmless = is_query and isinstance(fault.where, str) and FENCES in fault.where
        if count and not harmless and (beside is None or fault.where != beside):
            return True
    return False

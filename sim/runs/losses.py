"""What may strand a key: faults that lose what a design needs to know (2.9)."""

from ..faults import (
    DuplicateQuery,
    FailQuery,
    LoseQuery,
    LoseQueryReply,
    SlowQuery,
)
from ..world import World

__all__ = [
    "FENCES",
    "is_lossy",
]

FENCES = "flowsafe_execution_fence"


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

"""What a stack on old code does for its permit: the Registry names it, and it ends by name alone.

Such stacks run while an upload replaces them; upgraded code serves them and is never one. Source:
spec/deploy-fence.md A.3, OP-11, H.1.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..context import Context
from ..program import Program
from .codes import refused
from .outcomes import Granted, Outcome, Refused, attempt
from .registry import Registry
from .wiring import REGISTRY

__all__ = ["LegacyCaller", "with_legacy_permit"]

T = TypeVar("T")


async def with_legacy_permit(context: Context, work: Callable[[str], Awaitable[T]]) -> T:
    """Run *work* under a permit that the Registry has made, and return what it returns.

    Raises:
        FleetRefused: *work* was not begun: by the code of the refusal, or OUTCOME_UNKNOWN: a permit
            may stand that nobody can name, and it is debt.
        Exception: whatever *work* raised.
    """
    registry = context.objects.get(Registry, REGISTRY)
    outcome = await attempt(registry.begin_deploy_admission())
    if isinstance(outcome, Refused):
        raise refused(outcome.code, outcome.detail)
    if not isinstance(outcome, Granted):
        raise refused("OUTCOME_UNKNOWN", outcome.why)
    permit = str(outcome.value["id"])
    try:
        return await work(permit)
    finally:
        await attempt(registry.end_deploy_admission(permit))


class LegacyCaller(Program):
    """An old stack by itself: one permit around one piece of work.

    Attributes:
        outcome: how that ended; None until it has.
    """

    def __init__(self, work: Callable[["LegacyCaller", str], Awaitable[Any]]) -> None:
        """Do *work*, which is given this program, for its stubs, and the permit."""
        self._work = work
        self.outcome: Outcome[Any] | None = None

    async def run(self) -> None:
        """Do it."""
        self.outcome = await attempt(with_legacy_permit(self, lambda id_: self._work(self, id_)))

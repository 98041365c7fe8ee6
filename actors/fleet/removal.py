"""What may be removed of a member, and what a detach may release: the workspace removal guard.

The exact owner has to be settled, and everything in the workspace has to exist elsewhere. Missing
evidence keeps it; a commit id is no evidence. Source: spec/deploy-fence.md OP-30, OP-46 (P11.1).
"""

from ..object import DurableObject
from .native import Containers
from .operations import InFlight, NativeRows
from .outcomes import Granted, attempt
from .owners import Standing
from .standings import read_standings
from .workspaces import Workspaces

__all__ = ["RemovalGuard", "is_settled"]


def is_settled(standing: Standing) -> bool:
    """Whether nothing that runs can need the workspace of a thread that stands so."""
    return standing in ("none", "retained")


class RemovalGuard:
    """Judges the workspaces of one member.

    Attributes:
        native: what was submitted to the container.
    """

    __slots__ = ("_containers", "_in_flight", "_member", "_workspaces", "native")

    def __init__(
        self,
        member: DurableObject,
        containers: Containers,
        workspaces: Workspaces,
        in_flight: InFlight,
    ) -> None:
        """Judge for *member* what is in its *containers*."""
        self._member = member
        self._containers = containers
        self._workspaces = workspaces
        self._in_flight = in_flight
        self.native = NativeRows(member.storage)

    async def remove(self, thread: str) -> bool:
        """Remove the workspace of *thread* if the guard lets it go; returns whether it did.

        The caller keeps everybody else off the thread. Its name is spent before it is removed.
        """
        if not await self.may_remove(thread):
            return False
        workspace = self._workspaces.remove(thread)
        await attempt(self._containers.remove(workspace))
        return True

    async def may_remove(self, thread: str) -> bool:
        """Whether nobody can need the workspace of *thread*, and nothing is lost with it."""
        if self._workspaces.is_evicted(thread) or self._in_flight.is_on(thread):
            return False
        standings = await read_standings(self._member, self._workspaces, (thread,))
        if not is_settled(standings[thread]):
            return False
        with self._in_flight.on(thread):
            return await self.why_keep(thread) is None

    async def why_keep(self, thread: str) -> str | None:
        """Return why the workspace of *thread* has to be kept; None if all of it is elsewhere.

        Whoever asks is the one operation that may be in flight on the thread.
        """
        begun = self._in_flight.begun_on(thread)
        if self._in_flight.others_on(thread):
            return "an operation runs"
        if self.native.is_open_on(thread) and not await self._runs_no_process():
            return "an operation may still run"
        if not await self.is_preserved(thread):
            return "it may hold files that exist nowhere else"
        is_same = self._in_flight.begun_on(thread) == begun
        return None if is_same else "an operation ran meanwhile"

    async def is_preserved(self, thread: str) -> bool:
        """Whether the container says for certain that everything in it exists elsewhere."""
        workspace = self._workspaces.workspace(thread)
        outcome = await attempt(self._containers.is_preserved(workspace))
        return isinstance(outcome, Granted) and outcome.value

    async def _runs_no_process(self) -> bool:
        probe = await attempt(self._containers.activity())
        if not isinstance(probe, Granted):
            return False
        return not probe.value.running or probe.value.processes == 0

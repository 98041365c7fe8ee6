"""The output gate: nothing leaves before what was written before it is durable (OG-1)."""

from collections import deque
from collections.abc import Awaitable, Callable

from .pending import Owner, Pending
from .ready import DONE

__all__ = ["OutputGate"]


class OutputGate:
    """What one incarnation lets out, by the numbers of its commits.

    Attributes:
        commits: how many were begun.
        lock: which of them has to be durable before anything else leaves.
        confirmed: up to which all are durable.
    """

    __slots__ = ("_held", "_synced", "commits", "confirmed", "lock")

    def __init__(self) -> None:
        self.commits = 0
        self.lock = 0
        self.confirmed = 0
        self._held: deque[tuple[int, Callable[..., None], tuple[object, ...]]] = deque()
        self._synced: deque[tuple[int, Pending]] = deque()

    def emit(self, action: Callable[..., None], arguments: tuple[object, ...]) -> None:
        """Run *action* now, or when the commit that locks the gate is durable."""
        if self.lock <= self.confirmed and not self._held:
            action(*arguments)
        else:
            self._held.append((self.lock, action, arguments))

    def confirm(self, number: int) -> None:
        """Commit *number* is durable: let out what waited for it."""
        self.confirmed = number
        while self._held and self._held[0][0] <= number:
            _, action, arguments = self._held.popleft()
            action(*arguments)
        while self._synced and self._synced[0][0] <= number:
            self._synced.popleft()[1].settle(None, None)

    def synced(self, owner: Owner, number: int) -> Awaitable[None]:
        """Return what waits until commit *number* is durable."""
        if number <= self.confirmed:
            return DONE
        pending = Pending(owner)
        self._synced.append((number, pending))
        return pending

    def close(self) -> None:
        """Whatever is held never leaves."""
        self._held.clear()
        self._synced.clear()

    def is_clear(self) -> bool:
        """Whether nothing is held and nothing is under way."""
        return not self._held and self.confirmed == self.commits

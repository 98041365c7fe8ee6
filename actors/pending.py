"""A value that will be there: the one way in which an object's code waits for an event."""

from collections.abc import Callable, Generator
from typing import Any, Protocol

import trio

from .gate import SCOPE, Section

__all__ = ["Owner", "Pending"]


class Owner(Protocol):
    """Who waits: an incarnation with its gates, or a client without any."""

    alive: bool

    def emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Run *action* once everything written before has become durable."""
        ...

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Pass the input gate as an event begun in *scope*."""
        ...


class Pending:
    """One outcome to come. Awaiting it waits, passes the input gate, and gives value or error.

    It may be awaited by nobody, once, or by several tasks. Cancelling a waiter takes nothing back.
    """

    __slots__ = ("_done", "_error", "_owner", "_value", "_waiters", "scope")

    def __init__(self, owner: Owner) -> None:
        self.scope = SCOPE.get()
        self._owner = owner
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._waiters: list[trio.lowlevel.Task] | None = None

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._done:
            task = trio.lowlevel.current_task()
            waiters = self._waiters
            if waiters is None:
                self._waiters = waiters = [task]
            else:
                waiters.append(task)

            def abort(_raise: object) -> trio.lowlevel.Abort:
                waiters.remove(task)
                return trio.lowlevel.Abort.SUCCEEDED

            yield from trio.lowlevel.wait_task_rescheduled(abort).__await__()
        if self._error is not None:
            # The same error may be raised to several waiters: each gets its own traceback.
            raise self._error.with_traceback(None)
        return self._value

    def is_awaited(self) -> bool:
        """Whether a task waits for it."""
        return bool(self._waiters)

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Keep the outcome; it becomes visible when the owner's input gate lets it in."""
        self._value = value
        self._error = error
        self._owner.enter(self.scope, self.wake)

    def wake(self) -> bool:
        """Make the outcome visible now and wake the waiters. Returns whether there were any."""
        self._done = True
        waiters = self._waiters
        if not waiters:
            return False
        self._waiters = None
        for task in waiters:
            trio.lowlevel.reschedule(task)
        return True

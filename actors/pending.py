"""A value that will be there: the one way in which an object's code waits for an event."""

from collections.abc import Callable, Generator
from typing import Any, Protocol

import trio

from .gate import SCOPE, Section
from .ports import Timer

__all__ = ["Owner", "Pending", "Sleep", "Waiter"]

Waiter = trio.lowlevel.Task | Callable[[], None]
"""Who waits for an outcome: a task, or whatever is to be called when it is there."""


class Owner(Protocol):
    """Who waits: an incarnation with its gates, or a client without any."""

    alive: bool

    def check(self) -> None:
        """Refuse the dead.

        Raises:
            IncarnationGone: it has ended. Nothing was done.
        """
        ...

    def emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Run *action* once everything written before has become durable."""
        ...

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Pass the input gate as an event begun in *scope*."""
        ...

    def waits(self, pending: "Pending") -> None:
        """Note that the current task begins to wait for *pending*."""
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
        self._waiters: list[Waiter] | None = None

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._done:
            task = trio.lowlevel.current_task()
            waiters = self.join(task)
            self._owner.waits(self)

            def abort(_raise: object) -> trio.lowlevel.Abort:
                waiters.remove(task)
                return trio.lowlevel.Abort.SUCCEEDED

            yield from trio.lowlevel.wait_task_rescheduled(abort).__await__()  # noqa: ASYNC105
        if self._error is not None:
            # The same error may be raised to several waiters: each gets its own traceback.
            raise self._error.with_traceback(None)
        return self._value

    def join(self, waiter: Waiter) -> list[Waiter]:
        """Wake *waiter* when the outcome is there; returns the list that it stands in."""
        waiters = self._waiters
        if waiters is None:
            self._waiters = waiters = [waiter]
        else:
            waiters.append(waiter)
        return waiters

    def leave(self, waiter: Waiter) -> None:
        """Do not wake *waiter*, which stands in the list, any more."""
        assert self._waiters is not None
        self._waiters.remove(waiter)

    @property
    def done(self) -> bool:
        """Whether awaiting it would not wait."""
        return self._done

    def is_awaited(self) -> bool:
        """Whether a task waits for it."""
        return bool(self._waiters)

    def waiting_tasks(self) -> list[trio.lowlevel.Task]:
        """Return the tasks that wait for it."""
        waiters = self._waiters or ()
        return [waiter for waiter in waiters if isinstance(waiter, trio.lowlevel.Task)]

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Keep the outcome; it becomes visible when the owner's input gate lets it in."""
        self.keep(value, error)
        self._owner.enter(self.scope, self.wake)

    def keep(self, value: Any, error: BaseException | None) -> None:
        """Keep the outcome; `wake` makes it visible."""
        self._value = value
        self._error = error

    def wake(self) -> bool:
        """Make the outcome visible now and wake the waiters. Returns whether there were any."""
        self._done = True
        waiters = self._waiters
        if not waiters:
            return False
        self._waiters = None
        for waiter in waiters:
            if isinstance(waiter, trio.lowlevel.Task):
                trio.lowlevel.reschedule(waiter)
            else:
                waiter()
        return True


class Sleep(Pending):
    """The end of a time of waiting. It began when it was asked for, awaited or not."""

    __slots__ = ("timer",)

    timer: Timer

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            yield from super().__await__()
        finally:
            # A sleeper that was cancelled leaves nothing behind that would move the time.
            self.timer.cancel()

"""Whoever acts: an object's incarnation, one request of a worker, one run of a program.

An actor sees the world through its ports only, and once it is dead they refuse it.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import cast

import trio

from ..wire import Address, IncarnationGone
from .calls import Calls
from .database import SharedDatabase
from .gate import Section
from .objects import Objects
from .pending import Pending, Sleep
from .ports import Ports
from .storage import instant

__all__ = ["INCARNATION", "Actor", "is_unwinding", "outlived"]

INCARNATION: "ContextVar[Actor | None]" = ContextVar("incarnation", default=None)
"""Whose code the current task runs."""


class Actor:
    """One life of something that acts.

    Attributes:
        name: who it is, to others and in traces.
        number: which life of it, from 1.
        alive: whether its ports still answer.
        calls: its calls under way.
        objects: the stubs it can get.
        scope: what ends its tasks.
    """

    __slots__ = ("alive", "calls", "name", "number", "objects", "ports", "scope")

    def __init__(self, name: str, number: int, ports: Ports) -> None:
        self.name = name
        self.number = number
        self.ports = ports
        self.alive = True
        self.calls = Calls(name, self, ports.clock, ports.transport, ports.version)
        self.objects = Objects(self.calls, ports.met)
        self.scope = trio.CancelScope()

    def check(self) -> None:
        """Refuse the dead.

        Raises:
            IncarnationGone: this life has ended. Nothing was done.
        """
        if not self.alive:
            raise IncarnationGone(self.name)

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Let an event in that was begun in *scope*: at once, where there is no input gate."""
        del scope
        if self.alive:
            action()

    def emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Let something out: at once, where nothing is written."""
        self.check()
        action(*arguments)

    def waits(self, pending: Pending) -> None:
        """A task of this actor begins to wait. Nothing follows where nobody queues behind it."""

    def touch(self) -> None:
        """Have the end of the current turn noticed."""
        if self.alive:
            self.ports.turns.at_end(self)

    def end_turn(self) -> None:
        """The turn is over."""

    @property
    def database(self) -> SharedDatabase:
        """The shared database, as this life reaches it."""
        return SharedDatabase(self, self.name, self.ports.database)

    def now(self) -> datetime:
        """Return the wall clock of its host."""
        self.check()
        return instant(self.ports.clock.wall())

    def sleep(self, seconds: float) -> Sleep:
        """Begin to wait *seconds*; awaiting the result passes the input gate."""
        self.check()
        sleep = Sleep(self)
        clock = self.ports.clock
        sleep.timer = clock.call_at(
            clock.time() + seconds, partial(sleep.settle, None, None), f"sleep of {self.name}"
        )
        return sleep

    def draw(self, count: int) -> bytes:
        """Return random bytes."""
        self.check()
        return self.ports.entropy.draw(self.name, count)

    def awaited(self) -> list[Address]:
        """Whose replies its code waits for, in the order of the calls."""
        return [call.address for call in self.calls.pending.values() if call.is_awaited()]

    def close(self, why: str) -> None:
        """End this life: every port is shut before any of its code can run again."""
        self.ports.probe.event(why, self.name, self.number)
        self.alive = False
        self.calls.close()
        self.scope.cancel()

    async def live(self, body: Callable[[], Awaitable[None]]) -> None:
        """Run *body* as the code of this actor; what unwinds after `close` is swallowed."""
        INCARNATION.set(self)
        try:
            with self.scope:
                await body()
        except BaseException as error:
            if self.alive or not is_unwinding(error):
                raise


def outlived(error: BaseException) -> Exception:
    """Return *error*, raised by the code of an actor, as one that is its own failure.

    Whoever meets somebody dead, by a stub or a storage that it got from them, is not dead itself.

    Raises:
        BaseException: *error* itself, if it is no failure: a cancellation, or the process ends.
    """
    if isinstance(error, Exception):
        return error
    if isinstance(error, IncarnationGone):
        return RuntimeError(str(error))
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        if group.split((Exception, IncarnationGone))[1] is None:
            return ExceptionGroup(group.message, [outlived(part) for part in group.exceptions])
    raise error


def is_unwinding(error: BaseException) -> bool:
    """Whether *error* may end with the dead: everything but what ends the process."""
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return all(is_unwinding(part) for part in members)
    return not isinstance(error, (KeyboardInterrupt, SystemExit))

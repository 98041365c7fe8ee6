"""Async generators that nobody finishes: closed where they are dropped, as whose they are.

trio closes a dropped generator later, in a system task that is nobody's: what its `finally` does
would come at another time, and would be done by no one. In a world it is closed at once, in the
context of the task that began it; so the ports of the dead stay shut for it, too.
"""

import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context
from typing import Any

import trio

from ..actors import INCARNATION
from ..wire import IncarnationGone
from .trio_tasks import keep_for_ever, take_back
from .wakes import actor_of

__all__ = ["Generators"]

INTERRUPTS_MAX = 20
"""How often a generator that is closed may go on to wait, until it is abandoned."""

NOBODY = Context()


class Generators:
    """The async generators that tasks of a world have begun, by whom."""

    __slots__ = ("_contexts",)

    def __init__(self) -> None:
        self._contexts: dict[int, Context] = {}

    def clear(self) -> None:
        """A world has ended: what it still holds is closed as nobody's when it is collected."""
        self._contexts = dict.fromkeys(self._contexts, NOBODY)

    @contextmanager
    def hooked(self) -> Generator[None, None, None]:
        """Take the place of trio's hooks; what no world began is left to them."""
        before = sys.get_asyncgen_hooks()

        def began(generator: AsyncGenerator[Any, Any]) -> None:
            if trio.lowlevel.in_trio_task():
                task = trio.lowlevel.current_task()
                if actor_of(task) is not None:
                    self._contexts[id(generator)] = task.context
                    return
            self._contexts.pop(id(generator), None)
            if before.firstiter is not None:
                before.firstiter(generator)

        def dropped(generator: AsyncGenerator[Any, Any]) -> None:
            context = self._contexts.pop(id(generator), None)
            if context is not None:
                actor = context.get(INCARNATION)
                quiet = context is NOBODY or (actor is not None and not actor.alive)
                with suppress(Exception) if quiet else nullcontext():
                    context.copy().run(_close, generator)
            elif before.finalizer is not None:
                before.finalizer(generator)

        sys.set_asyncgen_hooks(began, dropped)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*before)


def _close(generator: AsyncGenerator[Any, Any]) -> None:
    closing = generator.aclose().__await__()
    try:
        trap = closing.send(None)
        for _ in range(INTERRUPTS_MAX):
            # Nothing is waited for here: it is told so where it would.
            take_back(trap)
            trap = closing.throw(IncarnationGone("an async generator that was dropped"))
    except (StopIteration, IncarnationGone):
        return
    take_back(trap)
    keep_for_ever(closing)
    keep_for_ever(generator)

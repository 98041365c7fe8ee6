"""Who acts: the object, program or participant whose code runs now. Code of nobody may do nothing.

A context can be left, by `contextvars.Context().run(…)`: then the task says whose it is. What a
system task of trio runs is nobody's, would outlive every crash, and is refused.
"""

import trio

from ..actors import INCARNATION, Actor
from ..wire import IncarnationGone
from .kernel import ACTOR

__all__ = ["owner"]


def owner() -> Actor | None:
    """Return the object or program that acts; None for a participant and for the world itself.

    Raises:
        IncarnationGone: the code runs in a task that belongs to nobody. Nothing was done.
    """
    actor = INCARNATION.get()
    if actor is not None or ACTOR.get() is not None or not trio.lowlevel.in_trio_task():
        return actor
    context = trio.lowlevel.current_task().context
    actor = context.get(INCARNATION)
    if actor is None and context.get(ACTOR) is None:
        raise IncarnationGone("a task of nobody, which no crash would end,")
    return actor

"""The end of a turn, as trio tells it: after each step of a task."""

from collections.abc import Callable

import trio

from ..actors import INCARNATION, Actor


class StepTurns(trio.abc.Instrument):
    """The `Turns` of an embedded host: an instrument of the trio run, added and removed by it.

    trio drops an instrument that raises and goes on without it; no turn would end any more and
    every reply would be held for ever. So whatever `end_turn` raises is given to *crashed*.
    """

    def __init__(self, crashed: Callable[[BaseException], None]) -> None:
        self._crashed = crashed
        self._asked: dict[Actor, None] = {}

    def at_end(self, incarnation: Actor) -> None:
        """Call `incarnation.end_turn()` once, after the next step of a task of *incarnation*."""
        self._asked[incarnation] = None

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """End the turn of the incarnation that *task* belongs to, if it asked for that."""
        asked = self._asked
        if not asked:
            return
        incarnation = task.context.get(INCARNATION)
        if incarnation is None or incarnation not in asked:
            return
        del asked[incarnation]
        try:
            incarnation.end_turn()
        except BaseException as error:
            self._crashed(error)

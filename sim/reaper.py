"""The end of the dead: a moment of their own, in which nothing else happens.

Whoever dies is cancelled, and its ports are shut. Its tasks that wake from then on are held back
until nothing living can run; then they run alone, so that it makes no difference to anybody how
long they take: a `finally` that waits, an `__aexit__`, a cancellation that is swallowed. What then
still waits, such as a sleep in a shielded scope, is ended where it stands by an exception, children
first, and so is what runs on for too many steps. No time passes meanwhile.
"""

from collections.abc import Callable
from typing import Any

from trio.lowlevel import Task

from .trio_order import runner
from .trio_tasks import abandon, age, children, interrupt, is_scheduled

__all__ = ["STEPS_MAX", "Reaper"]

STEPS_MAX = 200
"""Steps that a task of somebody dead may take until it is ended by force."""
BATCHES_MAX = 2_000
"""Batches of dead tasks in one moment, after which each of them is ended by force."""
INTERRUPTS_MAX = 20
"""How often a task is interrupted that swallows it, until it is abandoned."""


class Reaper:
    """Runs the dead of one world to their end.

    Attributes:
        is_at_work: whether this is the moment of the dead.
        abandoned: how many tasks were left behind because no exception ends them.
    """

    __slots__ = (
        "_batches",
        "_held",
        "_interrupts",
        "_is_dead",
        "_is_ours",
        "_living",
        "_spinning",
        "_steps",
        "abandoned",
        "is_at_work",
    )

    def __init__(self, is_ours: Callable[[Task], bool], is_dead: Callable[[Task], bool]) -> None:
        """Begin.

        Args:
            is_ours: whether a task belongs to the world.
            is_dead: whether the actor of such a task has died.
        """
        self._is_ours = is_ours
        self._is_dead = is_dead
        self.is_at_work = False
        self.abandoned = 0
        self._held: list[Task] = []
        self._living: list[Task] = []
        self._spinning: list[Task] = []
        self._steps: dict[Task, int] = {}
        self._interrupts: dict[Task, int] = {}
        self._batches = 0

    def sort_out(self, batch: list[Any]) -> None:
        """Leave in *batch* whoever may run now; other tasks of the world are held back."""
        allowed: list[Task] = []
        self._batches += self.is_at_work
        for task in batch:
            if not self._is_ours(task):
                allowed.append(task)
            elif not self._is_gone(task):
                (self._living if self.is_at_work else allowed).append(task)
            elif not self.is_at_work:
                self._held.append(task)
            elif self._may_step(task):
                allowed.append(task)
            else:
                self._spinning.append(task)
        batch[:] = allowed

    def work(self) -> bool:
        """Nothing living can run: go on with the dead. Returns whether all of them have ended."""
        queue = runner().runq
        if self._held:
            self.is_at_work = True
            queue.extend(self._held)
            self._held.clear()
            return False
        dead = self._gone()
        # A wake that was held back as an event of its own is taken back: it happens here.
        waking = [task for task in dead if is_scheduled(task) and task not in self._spinning]
        if waking:
            self.is_at_work = True
            queue.extend(waking)
            return False
        if dead:
            self.is_at_work = True
            for task in dead:
                if not children(task):
                    self._end(task)
            return False
        self._finish()
        return True

    def _may_step(self, task: Task) -> bool:
        self._steps[task] = steps = self._steps.get(task, 0) + 1
        return steps <= STEPS_MAX and self._batches <= BATCHES_MAX

    def _end(self, task: Task) -> None:
        if is_scheduled(task) and task not in self._spinning:
            # The end of its last child has woken it: it may unwind by itself.
            return
        if task in self._spinning:
            self._spinning.remove(task)
        self._interrupts[task] = times = self._interrupts.get(task, 0) + 1
        if times <= INTERRUPTS_MAX:
            interrupt(task)
        else:
            abandon(task)
            self.abandoned += 1

    def _finish(self) -> None:
        self.is_at_work = False
        runner().runq.extend(self._living)
        self._living.clear()
        self._steps.clear()
        self._interrupts.clear()
        self._batches = 0

    def _gone(self) -> list[Task]:
        # From the dead down, since asking every task who it runs for is dear where many live.
        found: dict[Task, None] = {}
        left = [task for task in runner().tasks if self._is_dead(task)]
        while left:
            task = left.pop()
            if task not in found:
                found[task] = None
                left += children(task)
        return sorted(found, key=age)

    def _is_gone(self, task: Task) -> bool:
        # Whoever runs in a nursery of the dead ends with them.
        while not self._is_dead(task):
            nursery = task.parent_nursery
            parent: Task | None = None if nursery is None else nursery.parent_task
            if parent is None:
                return False
            task = parent
        return True

"""The kernel: trio's clock as the scheduler of a world.

trio calls `deadline_to_sleep_time` exactly when no task can run. There the kernel ends the turn
that ran, lets one event happen or moves virtual time, and returns 0. trio's batch of woken tasks
comes to `shuffle`: one task of it runs, every other wake becomes an event of its own, so a turn is
one step of one task.

The ordinary order is run to completion: events made by the newest turn come first, in the order
made; then those of older turns; then what was put behind; then time moves. An event goes *behind*
by a choice made when the event is made.

Exceptions in here would become a TrioInternalError that nothing can unwind: they are caught, kept
as the world's failure, and the world is ended.
"""

import gc
import math
from contextvars import ContextVar
from typing import Any

import trio

from .agenda import Agenda, Event
from .guest import Ending, Guest
from .trio_order import runner
from .trio_steps import may_step, step
from .trio_tasks import age

__all__ = ["ACTOR", "Kernel"]

ACTOR: ContextVar[str | None] = ContextVar("actor", default=None)
"""The participant whose code the current task runs, if it is in a world and no object."""

YIELD_EVENTS = 1000
"""Events in a row before trio gets its turn, so that Ctrl-C is heard."""
SPIN_BATCHES = 5_000
"""Batches in a row after which tasks that only yield queue behind whatever else can happen."""
LOOK_EVENTS = 100_000
"""Events between two looks at whether they lead anywhere."""
COLLECT_EVENTS = 400_000
"""Events between two collections of garbage: each costs by how much is alive."""
NEVER_US = 1 << 62


class Kernel(trio.abc.Clock):
    """Clock and scheduler of the worlds that run one after another in one `trio.run`."""

    def __init__(self) -> None:
        self.now_us = 0
        """Virtual time of the current world, microseconds."""
        self.now_s = 0.0
        """The same as trio sees it, seconds."""
        self.events = 0
        self._moved_at = 0
        self.agenda = Agenda()
        """What is to happen."""
        self.fresh = self.agenda.fresh
        self.ending: list[Ending] = []
        self._waiting: list[Ending] = []
        self.dead = False
        """Whether somebody has died and is not gone yet."""
        self.evicted = False
        """Whether somebody who was idle has ended since time moved last."""
        self.settling = False
        self.was_cut = False
        """Whether the world ended at its horizon, with things still scheduled."""
        self.watched = False
        """Whether the world is told before a turn ends."""
        self._ran = False
        self._batches = 0
        self._released = False
        self._horizon_us = NEVER_US
        self._look_at = LOOK_EVENTS
        self._collect_at = COLLECT_EVENTS
        self._guest: Guest | None = None
        self._runner: Any = None

    # ---- worlds

    def attach(self, guest: Guest) -> None:
        """Begin a world at virtual time 0."""
        self._runner = runner()
        self._guest = guest
        # Sums of seconds round differently after 0 and after an hour: every world begins at 0.
        self.now_us = 0
        self.now_s = 0.0
        self.events = self._moved_at = 0
        self._ran = False
        self._clear()

    def detach(self) -> None:
        """End the world: what was scheduled is forgotten."""
        self._guest = None
        self._clear()

    def _clear(self) -> None:
        self.agenda.clear()
        self.ending.clear()
        self._waiting.clear()
        self.dead = self.evicted = False
        self.settling = self.was_cut = False
        self._horizon_us = NEVER_US
        self._look_at = LOOK_EVENTS
        self._collect_at = COLLECT_EVENTS
        self._batches = 0

    def settle(self, within_us: int) -> None:
        """From here on the world may come to rest; it is at rest in *within_us* at the latest."""
        self.settling = True
        self._moved_at = self.events
        self._horizon_us = self.now_us + within_us
        self._look_at = self.events + LOOK_EVENTS

    def stands_still(self) -> bool | None:
        """Whether time has not moved for so many events that it never will; None: perhaps not."""
        still = self.events - self._moved_at
        return True if still >= LOOK_EVENTS else None if still > LOOK_EVENTS // 2 else False

    def leaked(self, message: str) -> None:
        """Code of the world reached past its ports."""
        if self._guest is not None:
            self._guest.fail("determinism", message)

    # ---- scheduling

    def run_task(self, task: Any) -> None:
        """Let a task run whose wake was held back."""
        self._released = True
        self._runner.runq.append(task)

    def seconds(self, time_us: int) -> float:
        """Return virtual *time_us* on the clock that trio sees."""
        return time_us / 1_000_000

    def microseconds(self, seconds: float) -> int:
        """Return the virtual microsecond nearest to *seconds* on the clock that trio sees.

        Sums of seconds are off by less than that, up or down: rounding up would be late at times.
        """
        return round(seconds * 1_000_000)

    # ---- trio's clock

    def start_clock(self) -> None:
        """Nothing to start."""

    def current_time(self) -> float:
        """Return virtual seconds."""
        return self.now_s

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Called by trio when no task can run: let one thing happen."""
        guest = self._guest
        if guest is None:
            return 0 if deadline <= self.now_s else math.inf
        try:
            return self._step(guest)
        except BaseException as error:
            guest.failed(error)
            return 0

    def _step(self, guest: Guest) -> float:
        runner = self._runner
        runnable = runner.runq
        agenda = self.agenda
        limit = self.events + YIELD_EVENTS
        while self._guest is guest:
            if self._ran:
                self._ran = False
                if self._waiting:
                    self.ending += self._waiting
                    self._waiting.clear()
                if self.ending:
                    self._end_turns(guest)
            if not runnable:
                if self._batches <= SPIN_BATCHES:
                    self._batches = 0
                if self.dead:
                    self.dead = not guest.reap()
                    # Whoever is gone may have left a deadline that trio has asked for already.
                    return 0
                if runner.waiting_for_idle:
                    return 1e-9
                if self.events >= self._look_at:
                    self._look_at = self.events + LOOK_EVENTS
                    if self.events >= self._collect_at:
                        self._collect_at = self.events + COLLECT_EVENTS
                        gc.collect()
                    guest.look()
                    return 0
                if self.events >= limit:
                    return 0
                event = agenda.next() or self._advance()
                if event is None:
                    return 0
                self.events += 1
                event.fire()
            while runnable:
                if self.events >= limit or not may_step(runner, self.now_s):
                    return 0
                batch = list(runnable)
                runnable.clear()
                if len(batch) > 1:
                    batch.sort(key=age)
                self.shuffle(batch)
                while batch:
                    step(runner, batch.pop())
                self.events += 1
        return 0

    def _advance(self) -> Event | None:
        agenda, guest = self.agenda, self._guest
        assert guest is not None
        deadline = self._runner.deadlines.next_deadline()
        earliest = agenda.earliest()
        if self.evicted and (earliest is None or earliest > self.now_us):
            # The idle end by themselves, many at a time; what is left of them must not move time.
            self.evicted, self.dead = False, True
            return None
        if deadline == math.inf and (earliest is None or (self.settling and agenda.is_at_rest())):
            guest.quiet()
            return None
        # Deadlines of trio's own go first: trio wakes them all in one batch, and an event that woke
        # a task in the same batch could be overtaken.
        if earliest is not None and (
            deadline == math.inf or earliest < self.microseconds(deadline)
        ):
            return agenda.take() if self._move(max(self.now_us, earliest)) else None
        if self._move(max(self.now_us, self.microseconds(deadline))):
            # What is a fraction of a microsecond later is due as well.
            self.now_s = max(self.now_s, deadline)
        return None

    def _move(self, time_us: int) -> bool:
        """Move time, or end the world if that is too far; returns whether it moved."""
        if time_us > self._horizon_us:
            assert self._guest is not None
            self.was_cut = True
            self._guest.quiet()
            return False
        if time_us != self.now_us:
            self.agenda.still = self._batches = 0
            self._moved_at = self.events
        self.now_us = time_us
        self.now_s = max(self.now_s, self.seconds(time_us))
        return True

    def _end_turns(self, guest: Guest) -> None:
        ended, self.ending = self.ending, []
        watched = self.watched
        for each in ended:
            if watched:
                guest.before_end(each)
            each.end_turn()

    # ---- trio's batches

    def shuffle(self, batch: list[Any]) -> None:
        """Called by trio with every batch: end the turn before it, leave one turn in it."""
        guest = self._guest
        if guest is None:
            return
        try:
            if self.dead and not guest.sort_out(batch):
                return
            if self._ran:
                # Whom the end of a turn lets in has not run yet, and does not in this batch: its
                # turn ends one batch later.
                waiting, self._waiting = self._waiting, []
                self._end_turns(guest)
                self._waiting, self.ending = self.ending, waiting
            self._ran = True
            self._batches += 1
            if self._batches > SPIN_BATCHES and not self._released:
                guest.put_behind(batch)
            elif len(batch) > 1:
                guest.split(batch)
            self._released = False
            if self.watched:
                guest.watch(batch)
        except BaseException as error:
            guest.failed(error)

    def random(self) -> float:
        """Not used by trio while batches are ordered."""
        return 0.0

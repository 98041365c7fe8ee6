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
from collections import deque
from contextvars import ContextVar
from heapq import heappop, heappush
from typing import Any, Protocol

import trio

from .trio_order import runner
from .trio_steps import may_step, step
from .trio_tasks import age

__all__ = ["ACTOR", "Ending", "Event", "Guest", "Kernel", "Timer"]

ACTOR: ContextVar[str | None] = ContextVar("actor", default=None)
"""The participant whose code the current task runs, if it is in a world and no object."""

YIELD_EVENTS = 1000
"""Events in a row before trio gets its turn, so that Ctrl-C is heard."""
BEHIND_EVENTS = 5_000
"""Events at one instant after which fresh ones queue behind the others: polling must not starve."""
SPIN_BATCHES = 5_000
"""Batches in a row after which tasks that only yield queue behind whatever else can happen."""
LOOK_EVENTS = 100_000
"""Events between two looks at whether they lead anywhere, and at the garbage."""
NEVER_US = 1 << 62
STILL_EVENTS = 500_000
"""Events at one instant after which virtual time is said to stand still."""


class Event(Protocol):
    """Something that happens at once when it is its turn."""

    def fire(self) -> None:
        """Happen."""
        ...


class Ending(Protocol):
    """Whose turn ends."""

    def end_turn(self) -> None:
        """The turn is over."""
        ...


class Guest(Protocol):
    """The world that a kernel runs at the moment."""

    def before_end(self, ending: Any) -> None:
        """A turn is about to end."""
        ...

    def split(self, batch: list[Any]) -> None:
        """More than one task of the world woke: leave one in *batch*."""
        ...

    def put_behind(self, batch: list[Any]) -> None:
        """Tasks run on and on without waiting: let them wake behind all else of this instant."""
        ...

    def watch(self, batch: list[Any]) -> None:
        """What is left in *batch* runs now."""
        ...

    def quiet(self) -> None:
        """Nothing is scheduled any more."""
        ...

    def sort_out(self, batch: list[Any]) -> bool:
        """Somebody has died: leave in *batch* who may run; returns whether it is a turn."""
        ...

    def reap(self) -> bool:
        """Somebody has died, and nothing can run: go on with that. Returns whether all is over."""
        ...

    def look(self) -> None:
        """Many events have happened: end the world if they lead nowhere."""
        ...

    def fail(self, name: str, message: str) -> None:
        """Property *name* does not hold."""
        ...

    def failed(self, error: BaseException) -> None:
        """Something in the kernel raised: end the world."""
        ...


class Timer:
    """An event at an instant, which may be taken back."""

    __slots__ = ("_action", "daemon", "label", "owner")

    def __init__(self, action: Any, label: str) -> None:
        self._action = action
        self.label = label
        self.daemon = False
        """Whether a world that has nothing else to do is at rest."""
        self.owner: Any = None
        """Whose death takes it back."""

    @property
    def is_void(self) -> bool:
        """Whether nothing will happen."""
        return self._action is None or (self.owner is not None and not self.owner.alive)

    def cancel(self) -> None:
        """Take it back."""
        self._action = None

    def fire(self) -> None:
        """Run the action once."""
        action = self._action
        if action is not None:
            self._action = None
            action()


class Kernel(trio.abc.Clock):
    """Clock and scheduler of the worlds that run one after another in one `trio.run`."""

    def __init__(self) -> None:
        self.now_us = 0
        """Virtual time of the current world, microseconds."""
        self.now_s = 0.0
        """The same as trio sees it, seconds."""
        self.events = 0
        self.fresh: list[Event] = []
        self.ending: list[Ending] = []
        self._waiting: list[Ending] = []
        self.dead = False
        """Whether somebody has died and is not gone yet."""
        self.settling = False
        self.watched = False
        """Whether the world is told before a turn ends."""
        self._stack: list[deque[Event]] = []
        self._behind: deque[Event] = deque()
        self._heap: list[tuple[int, int, Event]] = []
        self._seq = 0
        self._ran = False
        self._still = 0
        self._batches = 0
        self._horizon_us = NEVER_US
        self._look_at = LOOK_EVENTS
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
        self.events = 0
        self._still = 0
        self._ran = False
        self._clear()

    def detach(self) -> None:
        """End the world: what was scheduled is forgotten."""
        self._guest = None
        self._clear()

    def _clear(self) -> None:
        self.fresh.clear()
        self.ending.clear()
        self._waiting.clear()
        self._stack.clear()
        self._behind.clear()
        self._heap.clear()
        self.dead = False
        self.settling = False
        self._horizon_us = NEVER_US
        self._look_at = LOOK_EVENTS
        self._batches = 0

    def settle(self, within_us: int) -> None:
        """From here on the world may come to rest; it is at rest in *within_us* at the latest."""
        self.settling = True
        self._horizon_us = self.now_us + within_us
        self._look_at = self.events + LOOK_EVENTS

    def leaked(self, message: str) -> None:
        """Code of the world reached past its ports."""
        if self._guest is not None:
            self._guest.fail("determinism", message)

    # ---- scheduling

    def behind(self, event: Event) -> None:
        """Let *event* happen after everything else of this instant."""
        self._behind.append(event)

    def at(self, time_us: int, event: Event) -> None:
        """Let *event* happen at virtual *time_us*, not before everything scheduled for now."""
        self._seq += 1
        heappush(self._heap, (time_us if time_us > self.now_us else self.now_us, self._seq, event))

    def push(self, events: "deque[Event]") -> None:
        """Let *events* happen next, before what older turns made."""
        self._stack.append(events)

    def run_task(self, task: Any) -> None:
        """Let a task run whose wake was held back."""
        self._runner.runq.append(task)

    def seconds(self, time_us: int) -> float:
        """Return virtual *time_us* on the clock that trio sees."""
        return time_us / 1_000_000

    def microseconds(self, seconds: float) -> int:
        """Return the virtual microsecond nearest to *seconds* on the clock that trio sees.

        Sums of seconds are off by less than that, up or down: rounding up would be late at times.
        """
        return round(seconds * 1_000_000)

    def pending(self) -> bool:
        """Whether anything is scheduled."""
        return bool(self.fresh or self._stack or self._behind or self._heap)

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
                    gc.collect()
                    guest.look()
                    return 0
                if self.events >= limit:
                    return 0
                event = self._next()
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

    def _next(self) -> Event | None:
        fresh, stack = self.fresh, self._stack
        if fresh:
            self._still += 1
            if self._still > BEHIND_EVENTS:
                self._behind.extend(fresh)
                fresh.clear()
            elif len(fresh) == 1:
                return fresh.pop()
            else:
                stack.append(deque(fresh))
                fresh.clear()
        if stack:
            events = stack[-1]
            event = events.popleft()
            if not events:
                stack.pop()
            return event
        if self._behind:
            if self._still > STILL_EVENTS:
                raise RuntimeError(
                    f"virtual time stands still at {self.now_us / 1e6:g} s: "
                    f"{STILL_EVENTS} events happened at this instant"
                )
            self._still += 1
            return self._behind.popleft()
        return self._advance()

    def _advance(self) -> Event | None:
        deadline = self._runner.deadlines.next_deadline()
        heap = self._heap
        while heap and isinstance(heap[0][2], Timer) and heap[0][2].is_void:
            heappop(heap)
        if self.settling and deadline == math.inf and self._is_at_rest():
            assert self._guest is not None
            self._guest.quiet()
            return None
        # Deadlines of trio's own go first: trio wakes them all in one batch, and an event that woke
        # a task in the same batch could be overtaken.
        if heap and (deadline == math.inf or heap[0][0] < self.microseconds(deadline)):
            time_us, _, event = heappop(heap)
            if time_us > self.now_us and self._move(time_us):
                return None
            return event
        if deadline != math.inf:
            if not self._move(max(self.now_us, self.microseconds(deadline))):
                # What is a fraction of a microsecond later is due as well.
                self.now_s = max(self.now_s, deadline)
            return None
        assert self._guest is not None
        self._guest.quiet()
        return None

    def _is_at_rest(self) -> bool:
        return all(
            isinstance(event, Timer) and (event.daemon or event.is_void)
            for _, _, event in self._heap
        )

    def _move(self, time_us: int) -> bool:
        """Move time, or end the world if that is too far; returns whether it ended."""
        if time_us > self._horizon_us:
            assert self._guest is not None
            self._guest.quiet()
            return True
        if time_us != self.now_us:
            self._still = self._batches = 0
        self.now_us = time_us
        self.now_s = max(self.now_s, self.seconds(time_us))
        return False

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
            if self._batches > SPIN_BATCHES:
                guest.put_behind(batch)
            elif len(batch) > 1:
                guest.split(batch)
            if self.watched:
                guest.watch(batch)
        except BaseException as error:
            guest.failed(error)

    def random(self) -> float:
        """Not used by trio while batches are ordered."""
        return 0.0

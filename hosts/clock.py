"""The real clock: trio's for waiting, the operating system's for what time it is."""

import math
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush

import trio

TAKEN_BACK_MIN = 64
"""Timers taken back that are kept in the heap at least, before it is made anew without them."""


class RealTimer:
    """A wake-up in the heap of a `RealClock`."""

    __slots__ = ("_clock", "action", "at", "label", "number")

    def __init__(
        self, clock: "RealClock", at: float, number: int, action: Callable[[], None], label: str
    ) -> None:
        self._clock = clock
        self.at = at
        self.number = number
        self.action: Callable[[], None] | None = action
        self.label = label

    def __lt__(self, other: "RealTimer") -> bool:
        return (self.at, self.number) < (other.at, other.number)

    def __repr__(self) -> str:
        return f"<timer {self.number} at {self.at}: {self.label}>"

    def cancel(self) -> None:
        """Take the wake-up back. Without effect once it has happened."""
        if self.action is not None:
            self.action = None
            self._clock.took_back()


class RealClock:
    """The `Clock` of an embedded host. `run` must be running for wake-ups to happen."""

    def __init__(self) -> None:
        self._heap: list[RealTimer] = []
        self._taken_back = 0
        self._number = 0
        self._scope: trio.CancelScope | None = None

    @property
    def pending(self) -> int:
        """How many wake-ups are to come."""
        return len(self._heap) - self._taken_back

    def time(self) -> float:
        """Seconds of trio's clock."""
        return trio.current_time()

    def wall(self) -> int:
        """Microseconds since 1970-01-01 UTC by the operating system's clock."""
        return time.time_ns() // 1000

    def call_at(self, time: float, action: Callable[[], None], label: str) -> RealTimer:
        """Run *action* in the task of the clock when trio's time is *time*, in seconds.

        Those for the same time run in the order asked for. A time that has passed means as soon as
        possible, never during this call.
        """
        self._number += 1
        timer = RealTimer(self, time, self._number, action, label)
        heappush(self._heap, timer)
        if self._scope is not None and time < self._scope.deadline:
            self._scope.deadline = time
        return timer

    async def run(self) -> None:
        """Run the actions as they become due, until cancelled.

        Raises:
            Exception: whatever an action raised. The others stay in the heap.
        """
        while True:
            self._run_due(trio.current_time())
            with trio.CancelScope(deadline=self._next()) as self._scope:
                await trio.sleep_forever()
            # Entered only if this scope's own deadline ended the sleep.
            self._scope = None

    def took_back(self) -> None:
        """Count a timer that was taken back, and drop them all when they are most of the heap.

        Every call of a stub sets a deadline and takes it back: left alone, they would stay for its
        whole length.
        """
        self._taken_back += 1
        if self._taken_back >= TAKEN_BACK_MIN and self._taken_back * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.action is not None]
            heapify(self._heap)
            self._taken_back = 0

    def _run_due(self, now: float) -> None:
        # Actions may ask for further wake-ups, also for times that have passed: those run in the
        # next round, so that a chain of them cannot keep the other tasks from running.
        last = self._number
        while self._heap and self._heap[0].at <= now and self._heap[0].number <= last:
            timer = heappop(self._heap)
            action, timer.action = timer.action, None
            if action is None:
                self._taken_back -= 1
            else:
                action()

    def _next(self) -> float:
        return self._heap[0].at if self._heap else math.inf

"""What is to happen: now, behind all else of this instant, and later.

Of what is to happen now, the events that the newest turn made come first, in the order made; then
those of older turns; then what was put behind.
"""

from collections import deque
from heapq import heappop, heappush
from typing import Any, Protocol

__all__ = ["Agenda", "Event", "Timer"]

BEHIND_EVENTS = 5_000
"""Events at one instant after which fresh ones queue behind the others: polling must not starve."""
STILL_EVENTS = 500_000
"""Events at one instant after which virtual time is said to stand still."""


class Event(Protocol):
    """Something that happens at once when it is its turn."""

    def fire(self) -> None:
        """Happen."""
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


class Agenda:
    """The events of one world.

    Attributes:
        fresh: what the turn that runs has made, in order; append to it.
        still: events in a row without time having moved; whoever moves time sets it to 0.
    """

    __slots__ = ("_behind", "_daemons", "_later", "_number", "_stack", "fresh", "still")

    def __init__(self) -> None:
        self.fresh: list[Event] = []
        self.still = 0
        self._stack: list[deque[Event]] = []
        self._behind: deque[Event] = deque()
        self._later: list[tuple[int, int, Event]] = []
        self._daemons: list[tuple[int, int, Event]] = []
        self._number = 0

    def clear(self) -> None:
        """Forget everything."""
        self.fresh.clear()
        self.still = 0
        self._stack.clear()
        self._behind.clear()
        self._later.clear()
        self._daemons.clear()

    def behind(self, event: Event) -> None:
        """Let *event* happen after everything else of this instant."""
        self._behind.append(event)

    def push(self, events: deque[Event]) -> None:
        """Let *events* happen next, before what older turns made."""
        self._stack.append(events)

    def at(self, time_us: int, event: Event) -> None:
        """Let *event* happen at *time_us*; equal times in the order asked for."""
        self._number += 1
        daemon = isinstance(event, Timer) and event.daemon
        heappush(self._daemons if daemon else self._later, (time_us, self._number, event))

    def next(self) -> Event | None:
        """Take what happens next at this instant, if anything does.

        Raises:
            RuntimeError: so much has happened that time seems to stand still.
        """
        fresh, stack = self.fresh, self._stack
        if fresh:
            self.still += 1
            if self.still > BEHIND_EVENTS:
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
        if not self._behind:
            return None
        self.still += 1
        if self.still > STILL_EVENTS:
            raise RuntimeError(
                f"virtual time stands still: {STILL_EVENTS} events happened at this instant"
            )
        return self._behind.popleft()

    def earliest(self) -> int | None:
        """Return when something is to happen later, or None for never."""
        later = self._first()
        return later[0][0] if later else None

    def take(self) -> Event:
        """Take what happens at the earliest time."""
        return heappop(self._first())[2]

    def is_at_rest(self) -> bool:
        """Whether nothing is left that a world would go on for."""
        drop_void(self._later)
        return not (self.fresh or self._stack or self._behind or self._later)

    def _first(self) -> list[tuple[int, int, Event]]:
        later, daemons = self._later, self._daemons
        drop_void(later)
        drop_void(daemons)
        if not daemons or (later and later[0] < daemons[0]):
            return later
        return daemons


def drop_void(later: list[tuple[int, int, Event]]) -> None:
    """Forget the timers at the front of *later* that were taken back."""
    while later:
        event = later[0][2]
        if not (isinstance(event, Timer) and event.is_void):
            return
        heappop(later)

"""The input gate: which event an object hears next.

The rules, from the platform (`spec/durable-objects.md`, IG-1 to IG-14):

- An *event* is a request that arrives, the answer to a call, the end of `self.sleep`, an alarm.
  It starts or resumes one task, and that step of the task is a turn.
- Events enter one at a time: the next one only after the turn of the one before has ended.
- A *critical section* (`block_concurrency_while`, `transaction`) lets in only events that were
  begun inside it. Sections nest; sections begun together in one scope run one after the other.
- Whoever has to wait is served first in, first out, except that a section that is ready to start
  goes before waiting events, and what awaits a section that has ended goes before both.
- What a finished section left running belongs to the scope around it.

Not handled here: plain trio waits. They do not pass the gate, as promises that a JavaScript object
resolves for itself do not.
"""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar

from .limits import SECTIONS_DEPTH_MAX

__all__ = ["SCOPE", "InputGate", "Section"]


class Section:
    """One critical section. Compared by identity; `parent` is the scope it was begun in."""

    __slots__ = ("depth", "ended", "parent", "running")

    def __init__(self, parent: "Section | None") -> None:
        self.parent = parent
        self.depth: int = 1 if parent is None else parent.depth + 1
        self.running = False
        self.ended = False


SCOPE: ContextVar[Section | None] = ContextVar("scope", default=None)
"""The critical section that the current task was begun in; None outside of any."""


def living(scope: Section | None) -> Section | None:
    """The innermost scope around *scope* that has not ended."""
    while scope is not None and scope.ended:
        scope = scope.parent
    return scope


class InputGate:
    """The input gate of one incarnation.

    An *action* lets one event happen and returns whether it woke a task; if it did, the gate stays
    shut until `turn_ended`.
    """

    __slots__ = ("_await_turn", "_busy", "_ends", "_events", "_sections", "top")

    def __init__(self, await_turn: Callable[[], None]) -> None:
        self.top: Section | None = None
        self._busy = False
        self._events: deque[tuple[Section | None, Callable[[], bool]]] = deque()
        self._sections: deque[tuple[Section, Callable[[], bool]]] = deque()
        self._ends: deque[tuple[Section | None, Callable[[], bool]]] = deque()
        self._await_turn = await_turn

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Run *action* now if an event begun in *scope* may enter, else when it may."""
        if scope is not None and scope.ended:
            scope = living(scope)
        if self._busy or scope is not self.top:
            self._events.append((scope, action))
        elif action():
            self._busy = True
            self._await_turn()

    def begin(self, section: Section, action: Callable[[], bool]) -> None:
        """Start *section* by *action* as soon as its parent is the innermost and the turn is over.

        Never at once: code behind an un-awaited `block_concurrency_while` runs before it (IG-6).
        """
        if section.depth > SECTIONS_DEPTH_MAX:
            raise RuntimeError("critical sections are nested too deeply: this one was not begun")
        self._sections.append((section, action))
        if not self._busy:
            self._busy = True
            self._await_turn()

    def end(self, section: Section, action: Callable[[], bool]) -> None:
        """*section* is over: after this turn its parent's events may enter again.

        *action* tells whoever awaits the section, before any other event (IG-11).
        """
        section.ended = True
        # A section begun in it that still runs keeps the gate.
        self.top = living(self.top)
        self._ends.append((section.parent, action))
        if not self._busy:
            self._busy = True
            self._await_turn()

    def turn_ended(self) -> None:
        """Let in whoever waits and may, up to the first that wakes a task."""
        # Busy meanwhile: what an action itself enters waits behind those that wait already.
        while self._sections or self._events or self._ends:
            action = self._next()
            if action is None:
                break
            if action():
                self._await_turn()
                return
        self._busy = False

    def waiting(self) -> int:
        """How many events and sections wait at the gate."""
        return len(self._events) + len(self._sections) + len(self._ends)

    def _next(self) -> Callable[[], bool] | None:
        top = self.top
        for place, (scope, action) in enumerate(self._ends):
            if living(scope) is top:
                del self._ends[place]
                return action
        for place, (section, action) in enumerate(self._sections):
            if living(section.parent) is top:
                del self._sections[place]
                section.running = True
                self.top = section
                return action
        for place, (scope, action) in enumerate(self._events):
            if living(scope) is top:
                del self._events[place]
                return action
        return None

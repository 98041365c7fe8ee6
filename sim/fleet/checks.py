"""What an invariant of the fleet is: a fold over the event log, and a look at the end.

Subclass `Check`, name it as the specification does and give its sentence as the docstring. What it
sees costs what happens; nothing looks at everything again after each commit.
"""

from typing import Any, TypeVar

from ..properties import Property
from ..world import World
from .log import Seen, log_of

__all__ = ["Check", "Reached"]

S = TypeVar("S")


class Check(Property[S]):
    """One invariant (`INV-08`) or one statement of progress (`LIV-02`).

    Attributes:
        sees: the kinds of entries that `see` is given (`log.py`).
        level: the first level whose code is bound by it: a breach by older code is told in
            `Log.outside`, and fails nothing.
    """

    kinds: tuple[str, ...] = ()
    sees: tuple[str, ...] = ()
    level: int = 1

    def begin(self) -> S:
        """Return the check's own state at the beginning of a run: a value that is changed."""
        raise NotImplementedError

    def see(self, seen: Seen[S]) -> None:
        """Look at one entry. An AssertionError says why it may not be so."""

    def at_end(self, seen: Seen[S]) -> None:
        """Look at the end of the run. An AssertionError says why it may not be so."""

    def init(self) -> S:
        """Return the state at the beginning."""
        return self.begin()

    def attached(self, state: S, world: World) -> None:
        """Follow the log of *world*."""
        log_of(world).watch(self, state)

    def holds(self, state: S, world: World) -> bool:
        """Look at the end: everything before was seen when it happened."""
        self.at_end(Seen(state, log_of(world)))
        return True


class Reached(Property[list[Any]]):
    """Something that some run of an exploration has to reach: it has seen one such entry."""

    when = "sometimes"
    kinds = ()
    level = 1

    def __init__(self, name: str, *sees: str) -> None:
        """Name it, and say which kinds of entries it waits for."""
        self.name = name
        self.sees = sees

    def init(self) -> list[Any]:
        """Nothing was seen."""
        return []

    def attached(self, state: list[Any], world: World) -> None:
        """Follow the log of *world*."""
        log_of(world).watch(self, state)

    def see(self, seen: Seen[list[Any]]) -> None:
        """Remember an entry that counts."""
        if not seen.own and self.counts(seen):
            seen.own.append(seen.entry.seq)

    def counts(self, seen: Seen[list[Any]]) -> bool:
        """Whether it is what is waited for; a subclass may look closer."""
        return bool(seen.entry)

    def holds(self, state: list[Any], world: World) -> bool:
        """Whether it was reached."""
        del world
        return bool(state)

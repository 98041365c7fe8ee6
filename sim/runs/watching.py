"""What properties of runs watch: each change of a reservation or of the fence, each note.

A property asks the tables only after a query that has written, and reads each note of the ledger
once; what they hold is the truth, whatever the messages say.
"""

from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import attrs

from ..ledger import Entry
from ..properties import Property, When
from ..trace import Row
from ..world import World

__all__ = ["Fence", "Reserved", "Watched", "Watching"]

ROWS = (
    "SELECT key, run_id, state, updated_at, start_token, owner_id, thread_id "
    "FROM flowsafe_start_idempotency ORDER BY key"
)
FENCE = "SELECT state, proof_key, proof_run_id FROM flowsafe_execution_fence"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?"


class Reserved(NamedTuple):
    """One reservation row."""

    key: str
    run_id: str
    state: str
    stamp: int
    start_token: str | None
    owner_id: str
    thread_id: str | None = None


class Fence(NamedTuple):
    """The row of the fence."""

    state: str
    proof_key: str | None
    proof_run_id: str | None


S = TypeVar("S")


@attrs.define
class Watched(Generic[S]):
    """What a property has seen so far.

    Attributes:
        own: the property's own.
        rows: the reservations, by key.
        fence: as it is.
    """

    own: S
    rows: dict[str, Reserved] = attrs.field(factory=dict[str, Reserved])
    fence: Fence = attrs.field(factory=lambda: Fence("open", None, None))
    read: int = 0
    writes: set[int] = attrs.field(factory=set[int])
    is_stale: bool = True


class Watching(Property[Watched[S]]):
    """A property that is told of changes and notes. Subclass it."""

    when: When = "always"
    kinds: tuple[str, ...] = ("effect", "query", "queried")

    def begin(self) -> S:
        """Return the property's own state at the beginning of a run."""
        raise NotImplementedError

    def noted(self, seen: Watched[S], entry: Entry, world: World) -> None:
        """Something was noted in the ledger. Raise AssertionError if it may not be so."""

    def changed(
        self, seen: Watched[S], before: Reserved | None, after: Reserved | None, world: World
    ) -> None:
        """A reservation was made, changed, or deleted."""

    def moved(self, seen: Watched[S], before: Fence, after: Fence, world: World) -> None:
        """The fence was changed."""

    def failed(self, seen: Watched[S], label: str) -> None:
        """A query failed, or nobody can tell whether it did."""

    def init(self) -> Watched[S]:
        """Return the state at the beginning."""
        return Watched(self.begin())

    def observe(self, state: Watched[S], event: Row) -> Watched[S]:
        """Remember whether the tables have to be looked at again."""
        if event.kind == "query":
            number, label, _ = event.detail
            if not label.startswith("SELECT"):
                state.writes.add(number)
        elif event.kind == "queried":
            number, changes, _ = event.detail
            if number in state.writes:
                state.is_stale = state.is_stale or changes > 0
        return state

    def holds(self, state: Watched[S], world: World) -> bool:
        """Tell the property what is new."""
        if state.is_stale:
            state.is_stale = False
            self._look(state, world)
        entries = world.ledger.entries
        while state.read < len(entries):
            entry = entries[state.read]
            state.read += 1
            self.noted(state, entry, world)
        return True

    def _look(self, state: Watched[S], world: World) -> None:
        rows, fence = stored_now(world)
        before, state.rows = state.rows, rows
        old, state.fence = state.fence, fence
        if old != state.fence:
            self.moved(state, old, state.fence, world)
        for key in sorted({*before, *rows}):
            if before.get(key) != rows.get(key):
                self.changed(state, before.get(key), rows.get(key), world)


LAST: "WeakKeyDictionary[World, tuple[int, dict[str, Reserved], Fence]]" = WeakKeyDictionary()
"""What was stored at the last event at which some property looked, by the number of the event."""


def stored_now(world: World) -> tuple[dict[str, Reserved], Fence]:
    """Return reservations and fence as they are stored; all properties share one look an event."""
    number = world.trace.count
    last = LAST.get(world)
    if last is None or last[0] != number:
        last = LAST[world] = (number, reserved_rows(world), fence_of(world))
    return last[1:]


def reserved_rows(world: World) -> dict[str, Reserved]:
    """Return the reservations as they are stored, by key."""
    if not is_table(world, "flowsafe_start_idempotency"):
        return {}
    # The columns are those of ROWS.
    found = [Reserved(*row) for row in world.database.look(ROWS).rows]  # type: ignore[arg-type]
    return {each.key: each for each in found}


def fence_of(world: World) -> Fence:
    """Return the fence as it is stored; no row means open."""
    found = world.database.look(FENCE).rows if is_table(world, "flowsafe_execution_fence") else []
    return Fence(*found[0]) if found else Fence("open", None, None)  # type: ignore[arg-type]


def is_table(world: World, name: str) -> bool:
    """Whether there is a table of that name."""
    return bool(world.database.look(TABLES, name).rows)


def stored_status(world: World, run_id: str) -> Any:
    """Return the status of a run as it is stored; None if it is not there."""
    if not is_table(world, "flowsafe_runs"):
        return None
    found = world.database.look("SELECT status FROM flowsafe_runs WHERE run_id = ?", run_id).rows
    return found[0][0] if found else None

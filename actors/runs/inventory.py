"""What is still outstanding in a deployment, and when that proves that it has drained.

A sweep counts each category of rows in the shared database. It writes nothing and makes no table;
a table that is not there has nothing outstanding; one that cannot be read fails the whole sweep.
Source: spec/run-claims.md 1.12; what is named in a sweep is what 8.6 needs to be found.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from ...wire import DoStatusError, register_code
from ..errors import DatabaseFailed
from ..ports import Database
from .causes import is_missing_table
from .fence import FenceState, FenceWiring, read_execution_fence
from .snapshots import TERMINABLE

__all__ = [
    "CATEGORIES",
    "DRAIN_MS_MIN",
    "Category",
    "Counted",
    "DrainProof",
    "Inventory",
    "InventoryUnreadableError",
    "Sweep",
]

DRAIN_MS_MIN: Final = 60_000
"""Milliseconds between the first and the last empty sweep of a proof: what had passed its gate when
the fence closed has written its row by then."""

ITEMS_MAX: Final = 100
"""Rows that a sweep names for each category; it counts all."""

CategoryKind = Literal["work", "standing"]


class InventoryUnreadableError(DoStatusError):
    """A category could not be counted, so nothing is known about the whole. Sweep again."""

    code = "INVENTORY_UNREADABLE"

    def __init__(self, category: str) -> None:
        super().__init__(503, f"the inventory of {category} cannot be read", {"code": self.code})


register_code(InventoryUnreadableError.code, 503, nothing_ran=False)


@attrs.frozen
class Category:
    """Rows of one kind.

    Attributes:
        kind: "work" keeps a deployment from having drained; "standing" waits for it to reopen.
        table: where the rows are.
        where: SQL that is true for an outstanding row.
        shows: columns that name a row, in the order in which rows are listed.
    """

    name: str
    kind: CategoryKind
    table: str
    where: str
    shows: tuple[str, ...]

    def count(self) -> str:
        """Return the statement that counts."""
        return f"SELECT count(*) FROM {self.table} WHERE {self.where}"

    def list(self) -> str:
        """Return the statement that names the first rows."""
        columns = ", ".join(self.shows)
        return (
            f"SELECT {columns} FROM {self.table} WHERE {self.where} "
            f"ORDER BY {columns} LIMIT {ITEMS_MAX}"
        )


def one_of(states: str) -> str:
    """Return SQL that is true for a row in one of *states*, divided by spaces."""
    return f"state IN ({', '.join(repr(state) for state in sorted(states.split()))})"


RUNNING: Final = (
    f"status IN ({', '.join(repr(status) for status in sorted(TERMINABLE))}) "
    "OR (status IN ('cancelled', 'timed_out') AND NOT cleaned)"
)

CATEGORIES: Final = (
    Category("runs", "work", "flowsafe_runs", RUNNING, ("run_id", "workflow_id", "status")),
    Category(
        "start-reservations", "work", "flowsafe_start_idempotency", one_of("reserved started"),
        ("key", "run_id", "state", "updated_at"),
    ),
    Category(
        "schedule-fires", "work", "flowsafe_schedule_triggers", one_of("claimed sent deferred"),
        ("schedule_id", "fire_at", "run_id", "state"),
    ),
    Category(
        "approvals", "work", "flowsafe_approvals",
        "state = 'pending' OR (state IN ('approved', 'declined') AND resumed_at IS NULL)",
        ("id", "run_id", "state"),
    ),
    Category(
        "background-tasks", "work", "flowsafe_tasks", one_of("pending running parked"),
        ("id", "kind", "state"),
    ),
    Category(
        "notifications", "work", "flowsafe_notifications", one_of("pending sending"),
        ("id", "recipient", "state"),
    ),
    Category(
        "webhook-deliveries", "work", "flowsafe_webhook_deliveries", one_of("received"),
        ("provider", "delivery_id"),
    ),
    Category(
        "schedules", "standing", "flowsafe_schedules", one_of("active"), ("id", "next_fire_at")
    ),
    Category("objectives", "standing", "flowsafe_objectives", "1", ("thread_id",)),
)  # fmt: skip
"""Everything that can be outstanding."""


@attrs.frozen
class Counted:
    """What one category has.

    Attributes:
        items: the first rows, each by column.
    """

    kind: CategoryKind
    count: int
    items: tuple[Mapping[str, Any], ...] = ()

    def json(self) -> dict[str, Any]:
        """Return what an operator is shown."""
        return {"class": self.kind, "count": self.count, "items": [dict(i) for i in self.items]}


@attrs.frozen
class Sweep:
    """One look at everything.

    Attributes:
        at_ms: when it began, milliseconds since 1970 UTC.
        state: of the fence, read after the last category.
        moved_at: when the fence was last written; None if it never was.
        is_steady: whether it was not written during the sweep.
        categories: by name.
    """

    at_ms: int
    state: FenceState
    moved_at: int | None
    is_steady: bool
    categories: Mapping[str, Counted]

    @property
    def is_empty(self) -> bool:
        """Whether no work is outstanding; what stands is not work."""
        return all(each.count == 0 for each in self.categories.values() if each.kind == "work")

    def json(self) -> dict[str, Any]:
        """Return what an operator is shown."""
        return {
            "sweptAt": self.at_ms,
            "state": str(self.state),
            "empty": self.is_empty,
            "categories": {name: each.json() for name, each in self.categories.items()},
        }


@attrs.frozen
class DrainProof:
    """What sweeps, one after another, have shown.

    Attributes:
        first: the first of the empty sweeps that followed each other up to now, all while the fence
            stood still at `draining`; None if the last one was not such a sweep. Between two
            looks at one state a deployment could have been open: hence when it was written counts.
        last: the last of them.
    """

    first: Sweep | None = None
    last: Sweep | None = None

    def after(self, sweep: Sweep) -> "DrainProof":
        """Return what is shown now that *sweep* was seen too."""
        if sweep.state is not FenceState.DRAINING or not (sweep.is_empty and sweep.is_steady):
            return DrainProof()
        if self.first is None or self.first.moved_at != sweep.moved_at:
            return DrainProof(sweep, sweep)
        return DrainProof(self.first, sweep)

    @property
    def holds(self) -> bool:
        """Whether the deployment has drained: two sweeps in a row, far enough apart."""
        if self.first is None or self.last is None:
            return False
        return self.last.at_ms - self.first.at_ms >= DRAIN_MS_MIN


class Inventory:
    """Counts what is outstanding."""

    def __init__(self, database: Database, fence: FenceWiring, now_ms: Callable[[], int]) -> None:
        """Count the rows in *database*."""
        self._database = database
        self._fence: FenceWiring = fence
        self._now_ms = now_ms

    async def sweep(self) -> Sweep:
        """Look at every category once.

        Raises:
            InventoryUnreadableError: a category cannot be counted.
            ExecutionFenceUnreadableError: the fence cannot be read.
        """
        at = self._now_ms()
        before = await self._moved_at()
        counted = {each.name: await self._count(each) for each in CATEGORIES}
        reading = await read_execution_fence(self._fence)
        is_steady = await self._moved_at() == before
        return Sweep(at, reading.state, before, is_steady, counted)

    async def _count(self, category: Category) -> Counted:
        try:
            found, listed = await self._database.batch(
                [(category.count(), ()), (category.list(), ())]
            )
        except DatabaseFailed as error:
            if is_missing_table(error, category.table):
                return Counted(category.kind, 0)
            raise InventoryUnreadableError(category.name) from error
        (count,) = found.one()
        assert isinstance(count, int)
        return Counted(category.kind, count, tuple(listed.dicts()))

    async def _moved_at(self) -> int | None:
        table = "flowsafe_execution_fence"
        try:
            found = await self._database.execute(f"SELECT updated_at FROM {table}")
        except DatabaseFailed as error:
            if is_missing_table(error, table):
                return None
            raise InventoryUnreadableError("the execution fence") from error
        return int(str(found.rows[0][0])) if found.rows else None

"""Schedules: standing orders to start a workflow again and again, and their fires.

A fire is one row of its own, made in the same transaction that moves the schedule on; it carries
the id of the run that it is to start, so that whoever starts it again starts the same run. What one
pass of the tick does with the rows is in `tick.py`. Source: spec/run-claims.md 1.10.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import attrs

from ..ports import Database
from .reservations import Owner
from .tables import Tables

__all__ = ["EVERY_MS_MIN", "Fire", "FireState", "Schedule", "Schedules"]

TABLE: Final = "flowsafe_schedules"
FIRES: Final = "flowsafe_schedule_triggers"

EVERY_MS_MIN: Final = 1_000
"""Milliseconds between two fires at least: a pass takes about as long."""

CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY,
    owner_kind TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    input TEXT NOT NULL,
    every_ms INTEGER NOT NULL CHECK (every_ms > 0),
    next_fire_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'paused')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_due ON {TABLE} (state, next_fire_at)",
    f"""CREATE TABLE IF NOT EXISTS {FIRES} (
    schedule_id TEXT NOT NULL,
    fire_at INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    owner_kind TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    input TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('claimed', 'sent', 'started', 'deferred', 'failed')),
    reason TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, fire_at)
)""",
    f"CREATE INDEX IF NOT EXISTS {FIRES}_state ON {FIRES} (state, fire_at)",
)
COLUMNS: Final = (
    "id, owner_kind, owner_id, workflow_id, input, every_ms, next_fire_at, state, created_at, "
    "updated_at"
)
FIRE_COLUMNS: Final = (
    "schedule_id, fire_at, run_id, owner_kind, owner_id, workflow_id, input, state, reason"
)
CLAIM: Final = (
    f"INSERT OR IGNORE INTO {FIRES} ({FIRE_COLUMNS}, updated_at) "
    "SELECT id, next_fire_at, ?, owner_kind, owner_id, workflow_id, input, 'claimed', NULL, ? "
    f"FROM {TABLE} WHERE id = ? AND state = 'active' AND next_fire_at = ?"
)
ADVANCE: Final = (
    f"UPDATE {TABLE} SET next_fire_at = ?, updated_at = ? "
    "WHERE id = ? AND state = 'active' AND next_fire_at = ?"
)
MARK: Final = (
    f"UPDATE {FIRES} SET state = ?, reason = ?, updated_at = ? "
    "WHERE schedule_id = ? AND fire_at = ? AND state IN ('sent', 'deferred')"
)
SEND: Final = (
    f"UPDATE {FIRES} SET state = 'sent', updated_at = ? "
    "WHERE schedule_id = ? AND fire_at = ? AND state = 'claimed'"
)

FireState = Literal["claimed", "sent", "started", "deferred", "failed"]


@attrs.frozen
class Schedule:
    """One standing order.

    Attributes:
        owner: whose runs its fires start.
        input: what each run is given, as it came from JSON.
        next_fire_at: milliseconds since 1970 UTC.
    """

    id: str
    owner: Owner
    workflow_id: str
    input: Any
    every_ms: int
    next_fire_at: int
    state: Literal["active", "paused"]
    created_at: int
    updated_at: int

    def after(self, now: int) -> int:
        """Return the first time on its grid after *now*: what was missed is not made up for."""
        missed = max(0, now - self.next_fire_at) // self.every_ms
        return self.next_fire_at + (missed + 1) * self.every_ms

    def json(self) -> dict[str, Any]:
        """Return what its owner is shown."""
        return {
            "id": self.id,
            "workflowId": self.workflow_id,
            "input": self.input,
            "everyMs": self.every_ms,
            "nextFireAt": self.next_fire_at,
            "state": self.state,
        }


@attrs.frozen
class Fire:
    """One time that a schedule came due, with the run that it starts.

    Attributes:
        fire_at: when it was due, milliseconds since 1970 UTC.
        state: "claimed" waits for somebody to send its start; "sent" has somebody who does; of a
            "deferred" one nobody knows whether it runs.
        reason: why it was deferred or has failed.
    """

    schedule_id: str
    fire_at: int
    run_id: str
    owner: Owner
    workflow_id: str
    input: Any
    state: FireState
    reason: str | None = None


class Schedules:
    """The schedules and fires of one deployment, in its shared database.

    Every method raises `TablesUnreadableError` if nobody can tell what is stored.
    """

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        """Reach the rows by *database*; *now_ms* stamps what is written."""
        self._tables = Tables(database, (TABLE, FIRES), CREATE)
        self._now_ms = now_ms

    async def create(
        self, name: str, owner: Owner, workflow_id: str, given: Any, every_ms: int, first_at: int
    ) -> Schedule:
        """Make an active schedule."""
        now = self._now_ms()
        values = (
            name, owner.kind, owner.id, workflow_id, json.dumps(given), every_ms, first_at,
            "active", now, now,
        )  # fmt: skip
        marks = ", ".join("?" * len(values))
        await self._tables.insert((f"INSERT INTO {TABLE} ({COLUMNS}) VALUES ({marks})", values))
        return schedule(values)

    async def get(self, name: str) -> Schedule | None:
        """Return a schedule, or None."""
        found = await self._tables.read(f"SELECT {COLUMNS} FROM {TABLE} WHERE id = ?", name)
        return schedule(found[0]) if found else None

    async def owned(self, owner: Owner) -> list[Schedule]:
        """Return the schedules of *owner*, at most 1,000."""
        sql = (
            f"SELECT {COLUMNS} FROM {TABLE} WHERE owner_kind = ? AND owner_id = ? "
            "ORDER BY id LIMIT 1000"
        )
        return [schedule(row) for row in await self._tables.read(sql, owner.kind, owner.id)]

    async def update(self, name: str, every_ms: int, given: Any) -> bool:
        """Change what it starts and how often; returns whether it was there."""
        sql = f"UPDATE {TABLE} SET every_ms = ?, input = ?, updated_at = ? WHERE id = ?"
        done = await self._tables.change(sql, every_ms, json.dumps(given), self._now_ms(), name)
        return done.changes > 0

    async def pause(self, name: str) -> bool:
        """Let it not fire; returns whether it was there."""
        sql = f"UPDATE {TABLE} SET state = 'paused', updated_at = ? WHERE id = ?"
        return (await self._tables.change(sql, self._now_ms(), name)).changes > 0

    async def resume(self, name: str) -> bool:
        """Let a paused one fire again, one interval from now; returns whether it was paused."""
        now = self._now_ms()
        sql = (
            f"UPDATE {TABLE} SET state = 'active', next_fire_at = ? + every_ms, updated_at = ? "
            "WHERE id = ? AND state = 'paused'"
        )
        return (await self._tables.change(sql, now, now, name)).changes > 0

    async def delete(self, name: str) -> bool:
        """Remove it; fires that it made go on. Returns whether it was there."""
        done = await self._tables.change(f"DELETE FROM {TABLE} WHERE id = ?", name)
        return done.changes > 0

    # ---- for the tick

    async def due(self, limit: int) -> list[Schedule]:
        """Return the active schedules whose time has come, the longest due first."""
        sql = (
            f"SELECT {COLUMNS} FROM {TABLE} WHERE state = 'active' AND next_fire_at <= ? "
            "ORDER BY next_fire_at, id LIMIT ?"
        )
        return [schedule(row) for row in await self._tables.read(sql, self._now_ms(), limit)]

    async def claim(self, due: Schedule, run_id: str) -> Fire | None:
        """Take one fire and move the schedule on, or neither: None if somebody else has it."""
        now = self._now_ms()
        taken, moved = await self._tables.insert(
            (CLAIM, (run_id, now, due.id, due.next_fire_at)),
            (ADVANCE, (due.after(now), now, due.id, due.next_fire_at)),
        )
        if not (taken.changes and moved.changes):
            return None
        return Fire(
            due.id, due.next_fire_at, run_id, due.owner, due.workflow_id, due.input, "claimed"
        )

    async def unsettled(self, limit: int) -> list[Fire]:
        """Return the fires that are not known to have started or failed, the oldest first."""
        sql = (
            f"SELECT {FIRE_COLUMNS} FROM {FIRES} WHERE state IN ('claimed', 'sent', 'deferred') "
            "ORDER BY fire_at, schedule_id LIMIT ?"
        )
        return [fire(row) for row in await self._tables.read(sql, limit)]

    async def send(self, taken: Fire) -> bool:
        """Take it upon oneself to send the start of a claimed fire; whether it is ours to send."""
        sent = await self._tables.change(SEND, self._now_ms(), taken.schedule_id, taken.fire_at)
        return sent.changes > 0

    async def mark(self, taken: Fire, state: FireState, reason: str | None = None) -> None:
        """Say what became of a fire that was sent; what is settled stays so."""
        values = (state, reason, self._now_ms(), taken.schedule_id, taken.fire_at)
        await self._tables.change(MARK, *values)


def schedule(row: Sequence[Any]) -> Schedule:
    """Return a row as a value."""
    name, kind, owner_id, workflow_id, given, *rest = row
    owner = Owner(kind, owner_id)
    return Schedule(name, owner, workflow_id, json.loads(given), *rest)


def fire(row: Sequence[Any]) -> Fire:
    """Return a row as a value."""
    name, at, run_id, kind, owner_id, workflow_id, given, state, reason = row
    owner = Owner(kind, owner_id)
    made = (name, at, run_id, owner, workflow_id, json.loads(given), state, reason)
    return Fire(*made)

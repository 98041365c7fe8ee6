"""The shared database without a hop, and the small things that surfaces are given."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from durasim.actors import DatabaseFailed, QueryRows, SqlValue, Statement, batch_label
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.hosts import Transactions

START_MS = 1_700_000_000_000


LOCKED = sqlite3.OperationalError("database is locked")


def never(label: str) -> None:
    """Let everything be."""
    del label


def always_locked(label: str) -> Exception:
    """Fail at everything."""
    del label
    return LOCKED


class LocalDatabase:
    """A `Database` in memory that answers at once, or fails as told.

    Attributes:
        asked: the label of each query, in order.
        failing: told the label of each query; returns the root of what it fails with, or None.
        after: told the label of each query once it has run, so that a test can act in between.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        self._tables = Transactions(self._connection, "memory")
        self.asked: list[str] = []
        self.failing: Callable[[str], Exception | None] = never
        self.after: Callable[[str], None] = never

    def close(self) -> None:
        """Forget everything."""
        self._tables.close()

    async def execute(self, sql: str, *parameters: SqlValue) -> QueryRows:
        """As `Database.execute`."""
        (rows,) = self.run((Statement(sql, parameters),))
        return rows

    async def batch(self, statements: Iterable[tuple[str, Sequence[SqlValue]]]) -> list[QueryRows]:
        """As `Database.batch`."""
        return self.run(tuple(Statement(sql, tuple(values)) for sql, values in statements))

    def run(self, statements: Sequence[Statement]) -> list[QueryRows]:
        """Run one query, unless it is to fail."""
        label = batch_label(statements)
        self.asked.append(label)
        root = self.failing(label)
        if root is not None:
            raise DatabaseFailed(f"{label} failed", nothing_ran=True) from root
        rows = self._tables.run(statements)
        self.after(label)
        return rows

    def make(self, sql: str) -> None:
        """Run a statement outside of everything that is counted or fails."""
        self._connection.execute(sql)

    def look(self, sql: str, *parameters: SqlValue) -> list[tuple[object, ...]]:
        """Return what is stored, outside of everything that is counted or fails."""
        return self._tables.look(Statement(sql, parameters)).rows

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        found = self.look("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [str(name) for (name,) in found]

    def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """Return everything that is stored."""
        return {name: self.look(f"SELECT * FROM {name} ORDER BY 1, 2") for name in self.tables()}


class Clock:
    """A clock that a test moves, milliseconds."""

    def __init__(self) -> None:
        self.now = START_MS

    def __call__(self) -> int:
        """Return the time."""
        return self.now


class Names:
    """Mints names that tell them apart."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = count(1)

    def __call__(self) -> str:
        """Return the next name."""
        return f"{self._prefix}-{next(self._count)}"


class Log:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, kind: str, fields: dict[str, Any]) -> None:
        """Keep one line."""
        self.lines.append((kind, fields))

    @property
    def kinds(self) -> list[str]:
        """The kinds of all lines."""
        return [kind for kind, _ in self.lines]


async def move(fence: ExecutionFence, state: FenceState, proof_key: str | None = None) -> None:
    """Put the fence into *state*, wherever it is."""
    reading = await fence.read()
    await fence.transition(str(reading.state), str(state), proof_key)

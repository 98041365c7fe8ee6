"""The shared database for machines that Hypothesis drives, and what happens to its queries.

A machine has no tasks. `Local` asks SQLite in memory; `Embedded` asks the database of an embedded
host, thread and file included, out of the thread of a machine.
"""

import sqlite3
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

import attrs
import trio
from hypothesis import strategies as st

from durasim.actors import (
    Database,
    DatabaseFailed,
    DatabaseLink,
    QueryRows,
    SqlValue,
    Statement,
)
from durasim.actors.runs.errors import (
    ExecutionFenceUnreadableError,
    StartReservationUnreadableError,
)

from .local import LOCKED, LocalDatabase

__all__ = ["FATES", "NOTHING", "Embedded", "Fate", "Fated", "Local", "Port"]

T = TypeVar("T")
Asked = Callable[[], Coroutine[Any, Any, Any]]


@attrs.frozen
class Fate:
    """What happens to the query number *at* of one operation, and to no other.

    Attributes:
        what: "lost" before it ran, "unheard" after it, or "fine".
    """

    what: Literal["fine", "lost", "unheard"]
    at: int = 0

    def strikes(self, number: int) -> str:
        """Return what happens to query *number*."""
        return self.what if number == self.at else "fine"


NOTHING = Fate("fine")
FATES = st.one_of(
    st.just(NOTHING), st.builds(Fate, st.sampled_from(("lost", "unheard")), st.integers(0, 2))
)
"""Mostly nothing, so that a machine gets somewhere."""


class Port(Protocol):
    """A database, and how one that has no tasks awaits what it gives."""

    database: Database

    def run(self, asked: Asked) -> Any:
        """Run what *asked* returns to its end."""
        ...


class Local:
    """SQLite in memory, at once."""

    def __init__(self) -> None:
        self.kept = LocalDatabase()
        self.database: Database = self.kept

    def run(self, asked: Asked) -> Any:
        """As `Port.run`: nothing waits here, so one step is all of it."""
        try:
            asked().send(None)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("it waits for something")


class Embedded:
    """The database of an embedded host; made in the trio thread, used from that of a machine."""

    def __init__(self, link: DatabaseLink) -> None:
        self.database: Database = Linked(link)

    def run(self, asked: Asked) -> Any:
        """As `Port.run`, in the trio thread."""
        return trio.from_thread.run(asked)


class Linked:
    """A `Database` straight on a link, without the gates of an actor."""

    def __init__(self, link: DatabaseLink) -> None:
        self._link = link

    async def execute(self, sql: str, *parameters: SqlValue) -> QueryRows:
        """As `Database.execute`."""
        (rows,) = await self.batch([(sql, parameters)])
        return rows

    async def batch(self, statements: Iterable[tuple[str, Sequence[SqlValue]]]) -> list[QueryRows]:
        """As `Database.batch`."""
        told, told_of = trio.open_memory_channel[tuple[list[QueryRows] | None, Exception | None]](1)
        asked = tuple(Statement(sql, tuple(values)) for sql, values in statements)
        self._link.submit("machine", asked, lambda rows, error: told.send_nowait((rows, error)))
        rows, error = await told_of.receive()
        if error is not None:
            raise error
        assert rows is not None
        return rows


class Fated:
    """A `Database` before another one, whose queries meet a fate.

    What it fails with speaks of a missing table in the middle of its chain, and of a lock at the
    root: only the root counts.

    Attributes:
        fate: of the operation under way.
        asked: queries of it, so far.
    """

    def __init__(self, port: Port, table: str) -> None:
        self._port = port
        self._table = table
        self.fate = NOTHING
        self.asked = 0

    async def execute(self, sql: str, *parameters: SqlValue) -> QueryRows:
        """As `Database.execute`."""
        rows: QueryRows = await self._struck(partial(self._port.database.execute, sql, *parameters))
        return rows

    async def batch(self, statements: Iterable[tuple[str, Sequence[SqlValue]]]) -> list[QueryRows]:
        """As `Database.batch`."""
        rows: list[QueryRows] = await self._struck(
            partial(self._port.database.batch, list(statements))
        )
        return rows

    async def _struck(self, ask: Callable[[], Any]) -> Any:
        what = self.fate.strikes(self.asked)
        self.asked += 1
        if what == "lost":
            raise self._failure(nothing_ran=True)
        rows = await ask()
        if what == "unheard":
            raise self._failure(nothing_ran=False)
        return rows

    def _failure(self, *, nothing_ran: bool) -> DatabaseFailed:
        between = sqlite3.OperationalError(f"no such table: {self._table}")
        between.__cause__ = LOCKED
        failure = DatabaseFailed("the query failed", nothing_ran=nothing_ran)
        failure.__cause__ = between
        return failure

    def outcome(self, fate: Fate, asked: Asked) -> Any:
        """Return what *asked* gives under *fate*, or the error that it raises.

        An error that says that nobody can tell becomes the word "unreadable".
        """
        self.fate, self.asked = fate, 0
        try:
            return self._port.run(asked)
        except (ExecutionFenceUnreadableError, StartReservationUnreadableError):
            return "unreadable"
        except Exception as error:
            return error
        finally:
            self.fate = NOTHING

    def make(self, sql: str) -> None:
        """Run a statement that meets no fate."""
        self._port.run(partial(self.execute, sql))

    def look(self) -> list[dict[str, Any]] | None:
        """Return the rows of the table, by their first column; None if there is no table."""

        async def looked() -> list[dict[str, Any]] | None:
            there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            found = await self._port.database.execute(there, self._table)
            if found.rows == [(0,)]:
                return None
            rows = await self._port.database.execute(f"SELECT * FROM {self._table} ORDER BY 1")
            return [dict(zip(rows.columns, row, strict=True)) for row in rows.rows]

        result: list[dict[str, Any]] | None = self._port.run(looked)
        return result

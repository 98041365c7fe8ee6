"""The shared database as an actor sees it: a hop away, behind both of its gates.

A query leaves at the call, behind what was written before it (OG-1); its outcome passes the input
gate. Dropping it takes nothing back. Queries keep no order among themselves: await one before the
next if it matters.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from ..wire import IncarnationGone
from .errors import DatabaseFailed
from .pending import Owner, Pending
from .ports import DatabaseLink, Queried
from .statements import QueryRows, SqlValue, Statement

__all__ = ["Query", "SharedDatabase"]


class Query(Pending):
    """One query under way. Await it for what it gave."""

    __slots__ = ()


class SharedDatabase:
    """The `Database` of one participant."""

    __slots__ = ("_link", "_name", "_owner")

    def __init__(self, owner: Owner, name: str, link: DatabaseLink | None) -> None:
        """Make the database that *owner*, called *name*, reaches over *link*."""
        self._owner = owner
        self._name = name
        self._link = link

    def execute(self, sql: str, *parameters: SqlValue) -> Query:
        """As `Database.execute`."""
        query = Query(self._owner)
        self._send((Statement(sql, parameters),), partial(settle_one, query))
        return query

    def batch(self, statements: Iterable[tuple[str, Sequence[SqlValue]]]) -> Query:
        """As `Database.batch`."""
        query = Query(self._owner)
        asked = tuple(Statement(sql, tuple(parameters)) for sql, parameters in statements)
        if not asked:
            raise ValueError("a batch of no statements; nothing was sent")
        self._send(asked, query.settle)
        return query

    def _send(self, statements: tuple[Statement, ...], done: Queried) -> None:
        owner, link = self._owner, self._link
        if not owner.alive:
            raise IncarnationGone(self._name)
        for statement in statements:
            statement.check()
        if link is None:
            done(None, DatabaseFailed("the host has no database", nothing_ran=True))
        else:
            owner.emit(link.submit, self._name, statements, done)


def settle_one(query: Query, rows: list[QueryRows] | None, error: Exception | None) -> None:
    """End the query of a single statement."""
    query.settle(None if rows is None else rows[0], error)

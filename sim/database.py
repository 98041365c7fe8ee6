"""The shared database of a world: SQLite in memory, a hop away from everybody.

A query is an event with a choice; so is its answer, without one. Whoever asked learns of a loss
after a while, and cannot tell which way the message was lost. The database outlives all hosts: what
a dead host had sent still runs.

The database has no clock and no chance of its own: what would read them is refused, as anywhere in
a world.
"""

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

import msgpack

from ..actors import (
    INCARNATION,
    DatabaseFailed,
    Queried,
    QueryRows,
    SqlValue,
    Statement,
    batch_label,
)
from ..hosts import HostFileBusy, Transactions
from ..wire import IncarnationGone
from .choices import Site, literal
from .client import refuse_dead
from .fault import Subject
from .fence import NOW, NotDeterministic
from .functions import Functions
from .network import DELAYS_US, moves

if TYPE_CHECKING:
    from .world import World

__all__ = ["WorldDatabase"]

LOST_US = 5_000_000
"""Virtual microseconds after which a lost connection is noticed: less than a call's deadline."""
SLOW_US = 1_000_000
"""Virtual microseconds that a slow answer takes."""
STEPS_MAX = 20_000_000
"""Steps of SQLite's machine that one query may take: a good second of real time."""
DEEP = 10
"""Causes in a deep chain: more than anyone may follow (run-claims.md 1.4)."""


class Query:
    """One query on its way. It is its own event."""

    __slots__ = ("_database", "caller", "done", "number", "option", "statements")

    def __init__(
        self,
        database: "WorldDatabase",
        number: int,
        caller: str,
        statements: tuple[Statement, ...],
        done: Queried,
    ) -> None:
        self._database = database
        self.number = number
        self.caller = caller
        self.statements = statements
        self.done = done
        self.option: str | None = None

    def fire(self) -> None:
        """Arrive at the database."""
        self._database.arrive(self)


class Echo:
    """A query that arrives a second time; nobody hears of it. It is its own event."""

    __slots__ = ("_database", "_query")

    def __init__(self, database: "WorldDatabase", query: Query) -> None:
        self._database = database
        self._query = query

    def fire(self) -> None:
        """Arrive at the database again."""
        self._database.arrive_again(self._query)


class Answer:
    """What a query gave, or why there is nothing to tell, on its way back. It is its own event."""

    __slots__ = ("_database", "_error", "_query", "_rows")

    def __init__(
        self,
        database: "WorldDatabase",
        query: Query,
        rows: list[QueryRows] | None,
        error: Exception | None,
    ) -> None:
        self._database = database
        self._query = query
        self._rows = rows
        self._error = error

    def fire(self) -> None:
        """Arrive at whoever asked."""
        self._database.answer(self._query, self._rows, self._error)


class WorldDatabase:
    """The `DatabaseLink` of every machine and client of a world, and the tables behind it.

    For scenarios and properties: `prepare` sets it up, `look` tells what is stored, both at once
    and outside of all messages.
    """

    __slots__ = ("_functions", "_number", "_sites", "_tables", "_world")

    def __init__(self, world: "World") -> None:
        self._world = world
        self._number = 0
        self._sites: dict[tuple[str, str], Site] = {}
        self._tables: Transactions | None = None
        self._functions: Functions | None = None

    # ---- for scenarios and properties

    def prepare(self, *statements: str) -> None:
        """Run *statements* as one transaction, such as those that make the tables.

        Raises:
            DatabaseFailed: nothing ran; the cause is chained.
        """
        refuse_dead(self._world)
        self._run(tuple(map(Statement, statements)))

    def look(self, sql: str, *parameters: SqlValue) -> QueryRows:
        """Return what is stored: the truth, whatever the messages say.

        Raises:
            DatabaseFailed: it could not be read, or the statement would write.
        """
        # A property may look at the end of the world, when nobody acts.
        actor = INCARNATION.get()
        if actor is not None:
            actor.check()
        if self._world.is_over:
            raise IncarnationGone("the world")
        return self._opened().look(Statement(sql, parameters))

    # ---- for hosts

    def submit(self, caller: str, statements: tuple[Statement, ...], done: Queried) -> None:
        """Send a query."""
        world = self._world
        kernel = world.kernel
        self._number += 1
        query = Query(self, self._number, caller, statements, done)
        label = batch_label(statements)
        world.trace.add("query", caller, 0, query.number, label, digest(statements))
        site = self._sites.get((caller, label))
        if site is None:
            site = self._sites[caller, label] = self._new_site(caller, label, statements[0])
        query.option = option = world.choices.choose(site)
        if option == "lost":
            kernel.agenda.at(kernel.now_us + LOST_US, Answer(self, query, None, lost(query)))
        elif option == "behind":
            kernel.agenda.behind(query)
        elif option in DELAYS_US:
            kernel.agenda.at(kernel.now_us + DELAYS_US[option], query)
        else:
            kernel.fresh.append(query)

    def _new_site(self, caller: str, label: str, first: Statement) -> Site:
        verb, _, table = first.label.partition(" ")
        return self._world.site(
            f"{label} by {caller}",
            Subject("query", table, method=verb, caller=caller),
            moves("query {n} of " + literal(f"{label} by {caller}")),
        )

    def arrive(self, query: Query) -> None:
        """A query arrives: it runs, unless the choice was that it fails."""
        world = self._world
        kernel = world.kernel
        rows: list[QueryRows] | None = None
        error: Exception | None = None
        changes, outcome = 0, query.option
        try:
            if query.option in FAILURES:
                raise failure(query)
            rows = self._run(query.statements)
            changes = sum(each.changes for each in rows)
            outcome = digest([each.rows for each in rows])
        except (DatabaseFailed, NotDeterministic) as raised:
            error = raised
            outcome = type(raised).__name__
        world.trace.add("queried", query.caller, 0, query.number, changes, outcome)
        answer = Answer(self, query, rows, error)
        if query.option == "answer lost":
            answer = Answer(self, query, None, lost(query))
            kernel.agenda.at(kernel.now_us + LOST_US, answer)
        elif query.option == "slow":
            kernel.agenda.at(kernel.now_us + SLOW_US, answer)
        else:
            kernel.fresh.append(answer)
        if query.option == "twice":
            kernel.agenda.at(kernel.now_us + SLOW_US, Echo(self, query))

    def arrive_again(self, query: Query) -> None:
        """A copy of a query arrives: it runs, and whoever asked has an answer already."""
        try:
            rows = self._run(query.statements)
            changes, outcome = sum(each.changes for each in rows), digest([r.rows for r in rows])
        except DatabaseFailed as raised:
            changes, outcome = 0, type(raised).__name__
        self._world.trace.add("queried", query.caller, 0, query.number, changes, outcome)

    def answer(self, query: Query, rows: list[QueryRows] | None, error: Exception | None) -> None:
        """An answer, or the news that there is none, arrives at whoever asked."""
        what = "rows" if error is None else type(error).__name__
        self._world.trace.add("told", query.caller, 0, query.number, what)
        query.done(rows, error)

    def close(self) -> None:
        """The world is over."""
        if self._tables is not None and self._functions is not None:
            self._tables.close()
            self._functions.close()

    # ---- the tables

    def _opened(self) -> Transactions:
        if self._tables is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
            self._functions = Functions(connection)
            self._tables = Transactions(connection, "the shared database", steps_max=STEPS_MAX)
        return self._tables

    def _run(self, statements: tuple[Statement, ...]) -> list[QueryRows]:
        tables = self._opened()
        assert self._functions is not None
        self._functions.refused = None
        try:
            return tables.run(statements)
        except DatabaseFailed as error:
            refused = self._functions.refused
            if refused is None:
                raise
            refusal = NotDeterministic(f"{refused}() of SQL", batch_label(statements), INSTEAD)
            self._world.kernel.leaked(str(refusal))
            raise refusal from error


INSTEAD = f"a parameter with {NOW}"
"""What to use instead of a function of SQL that reads the clock or chance."""

FAILURES = ("locked", "masked", "cyclic", "deep")
"""The options of `FailQuery`."""


def digest(values: Sequence[object]) -> str:
    """Return 16 hex digits that stand for statements with their parameters, or for rows."""
    return sha256(msgpack.packb(values)).hexdigest()[:16]


def lost(query: Query) -> DatabaseFailed:
    """Return what a caller gets when a message was lost, whichever it was."""
    error = DatabaseFailed(
        f"{batch_label(query.statements)} failed: the connection was lost", nothing_ran=False
    )
    error.__cause__ = ConnectionResetError("the connection to the database was lost")
    return error


def failure(query: Query) -> DatabaseFailed:
    """Return the error of a `FailQuery`, with the chain of causes that its option names."""
    locked = sqlite3.OperationalError("database is locked")
    _, _, table = query.statements[0].label.partition(" ")
    missing = sqlite3.OperationalError(f"no such table: {table}")
    causes: list[Exception]
    if query.option == "locked":
        causes = [HostFileBusy("the shared database: another program holds a lock on it"), locked]
    elif query.option == "masked":
        causes = [missing, locked]
    elif query.option == "deep":
        causes = [*(RuntimeError(f"attempt {n} failed") for n in range(DEEP, 1, -1)), missing]
    else:
        again = RuntimeError("the attempt before failed")
        causes = [again, locked, again]
    error = DatabaseFailed(f"{batch_label(query.statements)} failed", nothing_ran=True)
    for outer, inner in pairwise([error, *causes]):
        outer.__cause__ = inner
    return error

"""The shared database as SQLite runs it: queries as transactions, the same in a file and in memory.

A query is one statement or a batch; it is stored as a whole or not at all. Several that wait may
share one transaction of SQLite's, each in a savepoint: what fails alone falls alone.
"""

import contextlib
import sqlite3
from collections.abc import Sequence
from typing import Final

from ..actors import DatabaseFailed, QueryRows, Statement, batch_label, placed
from .errors import FILE_CODES, file_error, primary_code

ROWS_MAX: Final = 100_000
"""Rows that one statement may give: more belong into pages, with LIMIT."""

STEPS_MAX: Final = 1_000_000_000
"""Steps of SQLite's machine that a query may take, about half a minute: it keeps all others out."""

LOOK_STEPS: Final = 10_000
"""Steps between two looks at how many there were."""

DENIED: Final = {
    sqlite3.SQLITE_TRANSACTION: "a batch is the only transaction",
    sqlite3.SQLITE_SAVEPOINT: "a batch is the only transaction",
    sqlite3.SQLITE_ATTACH: "there is no other file",
    sqlite3.SQLITE_DETACH: "there is no other file",
    sqlite3.SQLITE_CREATE_TEMP_INDEX: "nothing is temporary where everybody shares",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "nothing is temporary where everybody shares",
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER: "nothing is temporary where everybody shares",
    sqlite3.SQLITE_CREATE_TEMP_VIEW: "nothing is temporary where everybody shares",
}
"""What no statement may do, and why."""

PRAGMAS: Final = frozenset(
    """foreign_key_check foreign_key_list index_info index_list index_xinfo quick_check table_info
    table_list table_xinfo""".split()
)
"""Pragmas that only look; every other one would change the connection for everybody."""

LOOKING: Final = frozenset(
    (sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)

ERRORS: Final = (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError)
"""What the `sqlite3` module raises at a statement."""

Outcome = list[QueryRows] | DatabaseFailed


class TooManyRows(Exception):
    """A statement gives more rows than one may. It changed nothing."""


class NotAllowed(Exception):
    """A statement would do what none may. It did not run."""


class Transactions:
    """One connection, on which queries run one after another."""

    def __init__(
        self, connection: sqlite3.Connection, path: str, *, steps_max: int = STEPS_MAX
    ) -> None:
        """Take over *connection*, which was made without a cache of statements.

        Args:
            connection: in autocommit; without a cache each statement is judged every time.
            path: for messages.
            steps_max: steps of SQLite's machine that one query may take.
        """
        self._connection = connection
        self._path = path
        self._own = True
        self._is_looking = False
        self._denied: str | None = None
        self._steps = 0
        self._steps_max = steps_max
        connection.execute("PRAGMA foreign_keys = ON")
        (self._version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.set_authorizer(self._judge)
        connection.set_progress_handler(self._is_too_long, LOOK_STEPS)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def run(self, statements: Sequence[Statement]) -> list[QueryRows]:
        """Run *statements* as one transaction.

        Raises:
            DatabaseFailed: nothing of it is stored, unless it says that nobody can tell.
        """
        outcome = self._alone(statements)
        if isinstance(outcome, DatabaseFailed):
            raise outcome
        return outcome

    def run_all(self, queries: Sequence[Sequence[Statement]]) -> list[Outcome]:
        """Run each of *queries* as a transaction, durable together, in their order."""
        if len(queries) > 1:
            outcomes = self._together(queries)
            if outcomes is not None:
                return outcomes
        return [self._alone(query) for query in queries]

    def look(self, statement: Statement) -> QueryRows:
        """Run a statement that only reads.

        Raises:
            DatabaseFailed: it could not be run, or it would write. Nothing changed.
        """
        self._steps = 0
        self._is_looking = True
        try:
            return self._execute(statement)
        except (*ERRORS, TooManyRows, NotAllowed) as error:
            failure = self._failure((statement,), error)
            raise failure from failure.__cause__
        finally:
            self._is_looking = False

    # ---- transactions

    def _alone(self, query: Sequence[Statement]) -> Outcome:
        is_whole = False
        try:
            self._control("BEGIN IMMEDIATE")
            rows = self._execute_all(query)
            is_whole = True
            self._control("COMMIT")
        except (*ERRORS, TooManyRows, NotAllowed) as error:
            self._roll_back()
            nothing_ran = not (is_whole and self._is_in_doubt(error))
            if not nothing_ran:
                self._overwrite()
            return self._failure(query, error, nothing_ran=nothing_ran)
        return rows

    def _together(self, queries: Sequence[Sequence[Statement]]) -> list[Outcome] | None:
        """Run all in one transaction; None if it was undone, and each is to be run alone."""
        try:
            self._control("BEGIN IMMEDIATE")
        except ERRORS as error:
            # Whoever holds the lock has held it long enough for all of them.
            return [self._failure(query, error) for query in queries]
        is_whole = False
        outcomes: list[Outcome] = []
        try:
            outcomes += [self._saved(query) for query in queries]
            is_whole = True
            self._control("COMMIT")
        except ERRORS as error:
            self._roll_back()
            if not (is_whole and self._is_in_doubt(error)):
                return None
            self._overwrite()
            return [
                outcome
                if isinstance(outcome, DatabaseFailed)
                else self._failure(query, error, nothing_ran=False)
                for query, outcome in zip(queries, outcomes, strict=True)
            ]
        return outcomes

    def _saved(self, query: Sequence[Statement]) -> Outcome:
        self._control("SAVEPOINT query")
        try:
            rows = self._execute_all(query)
        except (*ERRORS, TooManyRows, NotAllowed) as error:
            # Some errors undo the whole transaction: then these raise, and each runs alone.
            self._control("ROLLBACK TO query")
            self._control("RELEASE query")
            return self._failure(query, error)
        self._control("RELEASE query")
        return rows

    def _roll_back(self) -> None:
        # SQLite itself has rolled back after some errors, a full disk among them.
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._control("ROLLBACK")

    def _overwrite(self) -> None:
        """Write a transaction over the frames of a doubtful one, so that no recovery finds them."""
        with contextlib.suppress(sqlite3.Error):
            self._control("BEGIN IMMEDIATE")
            self._control(f"PRAGMA user_version = {self._version}")
            self._control("COMMIT")
        self._roll_back()

    @staticmethod
    def _is_in_doubt(error: Exception) -> bool:
        """Whether a COMMIT that failed with *error* may have happened all the same."""
        certain = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FULL)
        return primary_code(error) not in certain

    # ---- statements

    def _control(self, statement: str) -> None:
        self._own = True
        try:
            self._connection.execute(statement)
        finally:
            self._own = False

    def _execute_all(self, query: Sequence[Statement]) -> list[QueryRows]:
        self._steps = 0
        return [self._execute(statement) for statement in query]

    def _execute(self, statement: Statement) -> QueryRows:
        connection = self._connection
        before = connection.total_changes
        self._denied = None
        self._own = False
        try:
            cursor = connection.execute(statement.sql, placed(statement.sql, statement.parameters))
            rows: list[tuple[object, ...]] = cursor.fetchmany(ROWS_MAX + 1)
        except sqlite3.DatabaseError as error:
            if self._denied is not None:
                raise NotAllowed(self._denied) from error
            raise
        if len(rows) > ROWS_MAX:
            cursor.close()
            raise TooManyRows(f"more than {ROWS_MAX} rows; use LIMIT")
        columns = tuple(column[0] for column in cursor.description or ())
        return QueryRows(columns, rows, self._changes(cursor.rowcount, before))

    def _changes(self, count: int, before: int) -> int:
        # The module counts only where the first word is that of a change, and WITH is none.
        if count >= 0 or self._connection.total_changes == before:
            return max(count, 0)
        (changes,) = self._connection.execute("SELECT changes()").fetchone()
        return int(changes)

    def _judge(self, action: int, first: str | None, *_names: str | None) -> int:
        if self._own:
            return sqlite3.SQLITE_OK
        reason = DENIED.get(action)
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in PRAGMAS:
            reason = f"PRAGMA {first} would change the connection for everybody"
        elif self._is_looking and action not in LOOKING and action != sqlite3.SQLITE_PRAGMA:
            reason = "only reading is allowed here"
        if reason is None:
            return sqlite3.SQLITE_OK
        self._denied = reason
        return sqlite3.SQLITE_DENY

    def _is_too_long(self) -> bool:
        self._steps += LOOK_STEPS
        return not self._own and self._steps > self._steps_max

    # ---- errors

    def _failure(
        self, query: Sequence[Statement], error: Exception, *, nothing_ran: bool = True
    ) -> DatabaseFailed:
        what = batch_label(query)
        if isinstance(error, TooManyRows | NotAllowed):
            reason = f"{what} was refused: {error}"
        else:
            # SQLite's own texts change with it: they stay in the cause.
            name = getattr(error, "sqlite_errorname", None) or type(error).__name__
            reason = f"{what} failed: {name}"
        failure = DatabaseFailed(reason, nothing_ran=nothing_ran)
        cause = error
        if isinstance(error, sqlite3.Error) and primary_code(error) in FILE_CODES:
            cause = file_error(self._path, error)
            cause.__cause__ = error
        failure.__cause__ = cause
        return failure

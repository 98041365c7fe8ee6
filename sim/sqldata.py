"""SQL data of objects in a world: SQLite in memory, whose durable state is an image of bytes."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from ..actors import ConstraintsViolated, SqlFailed, TransactionByStatement, placed

__all__ = ["SqlData"]

_READING: Final = frozenset(
    (sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)
_ENDING: Final = frozenset((sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT))
_FORBIDDEN: Final = frozenset((sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA))


class SqlData:
    """The `SqlSession` of one incarnation.

    Everything since the last `commit` is one transaction of SQLite's, so that deferred constraints
    are judged at the end of the turn (OG-5).
    """

    __slots__ = ("_connection", "_ends", "_own", "_wrote")

    def __init__(self, image: bytes) -> None:
        """Open the data that *image* holds; empty bytes are an empty database."""
        self._own = True
        self._wrote = False
        self._ends = False
        self._connection = self._open(image)

    def _open(self, image: bytes) -> sqlite3.Connection:
        # Without a cache of statements each one is judged by the authorizer, every time.
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        if image:
            connection.deserialize(image)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.set_authorizer(self._judge)
        connection.execute("BEGIN")
        self._own = False
        return connection

    def _judge(self, action: int, *_names: str | None) -> int:
        if self._own:
            return sqlite3.SQLITE_OK
        if action in _ENDING:
            self._ends = True
        if action in _ENDING or action in _FORBIDDEN:
            return sqlite3.SQLITE_DENY
        if action not in _READING:
            self._wrote = True
        return sqlite3.SQLITE_OK

    def execute(
        self, statement: str, bindings: Sequence[object]
    ) -> tuple[tuple[str, ...], list[tuple[object, ...]], bool]:
        """As `SqlSession.execute`."""
        self._wrote = self._ends = False
        try:
            cursor = self._connection.execute(statement, placed(statement, tuple(bindings)))
            rows: list[tuple[object, ...]] = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            if self._ends:
                raise TransactionByStatement(
                    "use storage.transaction() or storage.transaction_sync() instead of statements "
                    "that begin or end a transaction: nothing was executed"
                ) from error
            raise SqlFailed(
                f"{error}: {getattr(error, 'sqlite_errorname', 'SQLITE_ERROR')}"
            ) from error
        columns = tuple(column[0] for column in cursor.description or ())
        return columns, rows, self._wrote

    def save(self, depth: int) -> None:
        """As `SqlSession.save`."""
        self._run((f"SAVEPOINT s{depth}",))

    def end_save(self, depth: int, *, keep: bool) -> None:
        """As `SqlSession.end_save`."""
        undo = () if keep else (f"ROLLBACK TO s{depth}",)
        self._run((*undo, f"RELEASE s{depth}"))

    def clear(self) -> None:
        """As `SqlSession.clear`: takes effect at once; the stored image stays until the commit."""
        self.close()
        self._own = True
        self._connection = self._open(b"")

    def commit(self) -> bytes:
        """End the transaction and return the image of everything.

        Raises:
            ConstraintsViolated: a deferred constraint does not hold. Everything was undone.
        """
        try:
            self._run(("COMMIT",))
        except sqlite3.IntegrityError as error:
            self._run(("ROLLBACK", "BEGIN"))
            raise ConstraintsViolated(f"{error}: {error.sqlite_errorname}") from error
        image = self._image()
        self._run(("BEGIN",))
        return image

    def _image(self) -> bytes:
        # Serializing asks a pragma; SQLite has no image of a database without pages.
        self._own = True
        try:
            (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
            return self._connection.serialize() if pages else b""
        finally:
            self._own = False

    def close(self) -> None:
        """Forget what was not committed."""
        self._connection.close()

    def _run(self, statements: Iterable[str]) -> None:
        self._own = True
        try:
            for statement in statements:
                self._connection.execute(statement)
        finally:
            self._own = False

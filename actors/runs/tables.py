"""Tables of one surface in the shared database: made by its first insert, never by a read.

A table that is missing is empty: a deployment of before the surface existed has none, and looking
must not make one (spec/run-claims.md 1.4, case 54). Whatever else goes wrong is "unreadable", and
never taken for empty.
"""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from ...wire import DoStatusError, register_code
from ..errors import DatabaseFailed
from ..ports import Database
from ..statements import QueryRows, SqlValue
from .causes import is_missing_table

__all__ = ["NOTHING", "Sql", "Tables", "TablesUnreadableError"]

Sql = tuple[str, Sequence[SqlValue]]
"""A statement with its parameters."""

NOTHING: Final = QueryRows((), [])
"""What a statement gives where there is no table."""


class TablesUnreadableError(DoStatusError):
    """A table could not be read or written. After a write nobody can tell; reading may."""

    code = "STORAGE_UNREADABLE"

    def __init__(self, table: str) -> None:
        super().__init__(503, f"{table} cannot be read or written", {"code": self.code})


register_code(TablesUnreadableError.code, 503, nothing_ran=False)


@attrs.frozen
class Tables:
    """Where a surface keeps its rows.

    Attributes:
        database: shared by everybody.
        names: of the tables; the first is the one that messages name.
        create: the statements that make them and their indexes, if they are not there.
    """

    database: Database
    names: tuple[str, ...]
    create: tuple[str, ...]

    async def read(self, sql: str, *values: SqlValue) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT; none if there is no table.

        Raises:
            TablesUnreadableError: nobody can tell what is stored.
        """
        found = await self.change(sql, *values)
        return found.rows

    async def change(self, sql: str, *values: SqlValue) -> QueryRows:
        """Run one statement that changes only rows that are there.

        Raises:
            TablesUnreadableError: it may have run or not.
        """
        try:
            return await self.database.execute(sql, *values)
        except DatabaseFailed as error:
            if self.is_missing(error):
                return NOTHING
            raise TablesUnreadableError(self.names[0]) from error

    async def insert(self, *statements: Sql) -> list[QueryRows]:
        """Run *statements* as one transaction; make the tables if they are not there.

        Raises:
            TablesUnreadableError: all of them ran or none; nobody can tell which.
        """
        try:
            return await self.database.batch(statements)
        except DatabaseFailed as error:
            if not self.is_missing(error):
                raise TablesUnreadableError(self.names[0]) from error
        making: list[Sql] = [(statement, ()) for statement in self.create]
        try:
            done = await self.database.batch([*making, *statements])
        except DatabaseFailed as error:
            raise TablesUnreadableError(self.names[0]) from error
        return done[len(making) :]

    def is_missing(self, error: BaseException) -> bool:
        """Whether *error* says that one of the tables is not there."""
        return any(is_missing_table(error, name) for name in self.names)

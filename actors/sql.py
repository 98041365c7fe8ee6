"""SQL data of an object, beside its keys and in the same commit (SQL-1, SQL-3)."""

from typing import TYPE_CHECKING

from .errors import SqlFailed
from .layers import Layers
from .rows import Rows

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["Sql"]


class Sql:
    """The SQL data of one object."""

    __slots__ = ("_incarnation", "_layers")

    def __init__(self, incarnation: "Incarnation", layers: Layers) -> None:
        self._incarnation = incarnation
        self._layers = layers

    def exec(self, statement: str, *bindings: object) -> Rows:
        """Run one statement now, with a value for each ``?`` of it.

        What it writes is committed with the turn, or dropped with the transaction around it.

        Raises:
            SqlFailed: it could not be run, or the class is not declared with ``sql=True``. It
                changed nothing.
        """
        self._incarnation.check()
        session = self._layers.session
        if session is None:
            raise SqlFailed(f"{self._incarnation.cls.__qualname__} is not declared with sql=True")
        columns, rows, wrote = session.execute(statement, bindings)
        if wrote:
            self._layers.top.sql = True
            self._incarnation.wrote(confirmed=True)
        return Rows(columns, rows)

"""SQL functions that read the clock, the time zone or chance: in a world they are refused.

SQLite calls its own `random` or `CURRENT_TIMESTAMP` also for a DEFAULT of a column and in a
trigger, where no look at the statement would find it. So the functions themselves are replaced.
Times that are given as such are calculated with, as ever.
"""

import sqlite3
from functools import partial

__all__ = ["Functions"]

READING = (
    ("current_date", 0),
    ("current_time", 0),
    ("current_timestamp", 0),
    ("random", 0),
    ("randomblob", 1),
)
"""Functions that always read the clock or chance, and how many arguments they have."""

CALCULATING = (
    ("date", 0),
    ("datetime", 0),
    ("julianday", 0),
    ("strftime", 1),
    ("time", 0),
    ("timediff", 0),
    ("unixepoch", 0),
)
"""Functions that calculate with times, and at which place the time stands."""

CLOCK = frozenset({"localtime", "now", "subsec", "subsecond", "utc"})
"""Words among the arguments that mean the clock or the time zone of the machine."""

Value = None | int | float | str | bytes


class Refused(Exception):
    """A function would read what a world does not have."""


class Functions:
    """Replacements for them on one connection.

    Attributes:
        refused: the name of the function that was refused last; whoever looks resets it.
    """

    __slots__ = ("_plain", "refused")

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Replace them on *connection*."""
        self.refused: str | None = None
        self._plain: sqlite3.Connection | None = None
        for name, count in READING:
            connection.create_function(name, count, partial(self._refuse, name))
        for name, place in CALCULATING:
            function = partial(self._calculate, name, place)
            connection.create_function(name, -1, function, deterministic=True)

    def close(self) -> None:
        """Close what was opened to calculate."""
        if self._plain is not None:
            self._plain.close()

    def _refuse(self, name: str, *_arguments: Value) -> Value:
        self.refused = name
        raise Refused(name)

    def _calculate(self, name: str, place: int, *arguments: Value) -> Value:
        words = {value.lower() for value in arguments if isinstance(value, str)}
        if len(arguments) <= place or words & CLOCK:
            self._refuse(name)
        if self._plain is None:
            self._plain = sqlite3.connect(":memory:", isolation_level=None)
        marks = ", ".join("?" * len(arguments))
        (value,) = self._plain.execute(f"SELECT {name}({marks})", arguments).fetchone()
        result: Value = value
        return result

"""SQL for the shared database: what is asked, and what it gave."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import attrs

from .rows import Rows

__all__ = ["QueryRows", "SqlValue", "Statement", "batch_label"]

SqlValue = None | int | float | str | bytes
"""What SQLite can store; a bool is stored as 0 or 1."""

INTEGER_MAX = (1 << 63) - 1
"""SQLite stores integers of 64 bits."""

LABELS_MAX = 1024
"""Labels kept: a program has some tens of statements, unless it writes values into them."""

LABEL_CHARACTERS_MAX = 80
"""Characters of a label, which is part of names and sentences."""

NAME = r"""(?:"(?:[^"]|"")+"|\[[^\]]+\]|`[^`]+`|[\w$.]+)"""
TABLE = re.compile(
    rf"\b(?:FROM|INTO|UPDATE(?:\s+OR\s+\w+)?|TABLE(?:\s+IF(?:\s+NOT)?\s+EXISTS)?|ON)\s+({NAME})",
    re.IGNORECASE,
)
COMMENT = re.compile(r"('(?:[^']|'')*')|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""A comment, or a text in quotes, which may look as if it held one."""


class Statement(NamedTuple):
    """One statement with a value for each ``?`` of it."""

    sql: str
    parameters: tuple[SqlValue, ...] = ()

    @property
    def label(self) -> str:
        """What it does to which table: its first word and the first table that it names."""
        return label(self.sql)

    def check(self) -> None:
        """Refuse what SQLite would not give back as it was.

        Raises:
            TypeError, ValueError: a value cannot be stored as it is. Nothing was sent.
        """
        for place, value in enumerate(self.parameters, 1):
            error = unstorable(value)
            if error is not None:
                kind, reason = error
                raise kind(f"value {place} of {self.label} {reason}; nothing was sent")


@attrs.frozen
class QueryRows(Rows):
    """What a statement of the shared database gave: its rows, and how many rows it changed.

    Attributes:
        changes: rows that the statement itself inserted, updated or deleted; 0 if it only reads.
            Those of triggers and of cascading foreign keys do not count.
    """

    changes: int = 0


def unstorable(value: object) -> tuple[type[Exception], str] | None:
    """Say why *value* would not come back as it is, or return None if it would."""
    if value is None or isinstance(value, bytes):
        return None
    if isinstance(value, int):
        fits = -INTEGER_MAX - 1 <= value <= INTEGER_MAX
        return None if fits else (ValueError, "has more than 64 bits")
    if isinstance(value, float):
        return (ValueError, "is NaN, which SQLite stores as NULL") if math.isnan(value) else None
    if isinstance(value, str):
        half = any("\ud800" <= letter <= "\udfff" for letter in value)
        return (ValueError, "holds half of a surrogate pair, which is no text") if half else None
    name = type(value).__name__
    return TypeError, f"is of type {name}, which the database does not store"


@lru_cache(LABELS_MAX)
def label(sql: str) -> str:
    """Return first word and first table of *sql*, such as "UPDATE claims"."""
    text = " ".join(COMMENT.sub(lambda found: found[1] or " ", sql).split())
    verb = text.partition(" ")[0].partition("(")[0].rstrip(";").upper()
    found = TABLE.search(text)
    words = f"{verb} {unquoted(found[1])}" if found else verb
    return words[:LABEL_CHARACTERS_MAX]


def unquoted(name: str) -> str:
    """Return the name of a table without its quotes."""
    return name[1:-1].replace('""', '"') if name[0] in '"[`' else name


def batch_label(statements: Sequence[Statement]) -> str:
    """Return the label of statements that are one transaction."""
    first = statements[0].label
    return first if len(statements) == 1 else f"batch {first}"

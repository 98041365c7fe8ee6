"""Values for the placeholders of an SQL statement: `?` in order, `?1` by number.

Python's `sqlite3` takes a sequence for `?` only; from 3.12 on it warns if one meets `?1`, and
from 3.14 on it refuses: there, `?1` is a name.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

__all__ = ["placed"]

STATEMENTS_MAX = 1024
"""Statements whose placeholders are remembered; a program has some tens."""

PLACEHOLDER = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)|(\?\d*)""",
    re.DOTALL,
)
"""A placeholder; or a text, a name in quotes or a comment, which may look as if it held one."""


def placed(sql: str, values: Sequence[object]) -> Sequence[object] | Mapping[str, object]:
    """Return *values* in the form in which `sqlite3` takes them for *sql*.

    If their number is wrong, they are returned as they are, and `sqlite3` says so.
    """
    if values and len(values) == numbered(sql):
        return {str(number): value for number, value in enumerate(values, 1)}
    return values


@lru_cache(STATEMENTS_MAX)
def numbered(sql: str) -> int:
    """Return how many values *sql* takes if all its placeholders are `?1`, `?2`, …, else 0."""
    found = [match[1] for match in PLACEHOLDER.finditer(sql) if match[1]]
    if "?" in found:
        return 0
    numbers = {int(each[1:]) for each in found}
    return len(numbers) if numbers == set(range(1, len(numbers) + 1)) else 0

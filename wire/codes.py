"""The table of error codes: append-only, each with its status and whether nothing ran.

*Whether nothing ran* is the one thing a caller needs for certain: then nothing was written, and the
call may be made again. A code exists only if a caller could do something different because of it.
Integer codes are the runtime's own; string codes belong to the systems, which register theirs.
"""

from collections.abc import Mapping
from enum import IntEnum, unique
from types import MappingProxyType
from typing import Final, NamedTuple


@unique
class ErrorCode(IntEnum):
    """Why a call failed. Numbers are forever; that of a retired code stays spent."""

    # 1xx: refused before anything ran.
    OVERLOADED = 100
    METHOD_NOT_FOUND = 101
    HOST_CLOSED = 102
    MALFORMED_REQUEST = 103
    UNKNOWN_CLASS = 104

    # 2xx: an error came back; it says nothing about what ran.
    EXCEPTION = 200
    FOREIGN_EXCEPTION = 201
    OBJECT_RESET = 202
    DEADLOCK = 203
    UNSENDABLE_RESULT = 204

    # 3xx: nobody can say whether anything ran.
    OUTCOME_UNKNOWN = 300


class CodeRow(NamedTuple):
    """What the table knows of one code."""

    code: int | str
    status: int
    """As in HTTP."""
    nothing_ran: bool
    """True only if no handler was entered and nothing was written, for certain."""


_ROWS: Final[dict[int | str, CodeRow]] = {
    row.code: row
    for row in (
        CodeRow(ErrorCode.OVERLOADED, 503, nothing_ran=True),
        CodeRow(ErrorCode.METHOD_NOT_FOUND, 404, nothing_ran=True),
        CodeRow(ErrorCode.HOST_CLOSED, 503, nothing_ran=True),
        CodeRow(ErrorCode.MALFORMED_REQUEST, 400, nothing_ran=True),
        CodeRow(ErrorCode.UNKNOWN_CLASS, 404, nothing_ran=True),
        CodeRow(ErrorCode.EXCEPTION, 500, nothing_ran=False),
        CodeRow(ErrorCode.FOREIGN_EXCEPTION, 500, nothing_ran=False),
        CodeRow(ErrorCode.OBJECT_RESET, 500, nothing_ran=False),
        CodeRow(ErrorCode.DEADLOCK, 508, nothing_ran=False),
        CodeRow(ErrorCode.UNSENDABLE_RESULT, 500, nothing_ran=False),
        CodeRow(ErrorCode.OUTCOME_UNKNOWN, 504, nothing_ran=False),
    )
}

CODES: Final[Mapping[int | str, CodeRow]] = MappingProxyType(_ROWS)
"""Code to row; a code that is not in it was made by a newer peer or another system."""


def register_code(code: str, status: int, *, nothing_ran: bool) -> CodeRow:
    """Add the row of a system's own *code*; adding the same row again changes nothing.

    Raises:
        ValueError: the code has another row already, or the status is none of an error (400 to
            599). The table is as before.
    """
    row = CodeRow(code, status, nothing_ran)
    if not 400 <= status <= 599:
        raise ValueError(f"{status} is not the status of an error")
    if _ROWS.setdefault(code, row) != row:
        raise ValueError(f"the code {code!r} has the row {_ROWS[code]}")
    return row


def nothing_ran(code: int | str) -> bool:
    """True only if the table says so; an unknown code promises nothing."""
    row = _ROWS.get(code)
    return row is not None and row.nothing_ran

"""The record of an error: what crosses instead of an exception.

A record is ``[code, status, message, reason]``. Of a `DoStatusError` the code is its string and the
reason its own; of everything else the code is an `ErrorCode` and the reason holds the fields.
"""

import builtins
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from .errors import MalformedRecord


class ErrorRecord(NamedTuple):
    """An error as a value of the wire."""

    code: int | str
    status: int
    message: str
    reason: Mapping[str, Any] | None


# A coroutine can not raise these two; arriving in one they would turn into a RuntimeError.
BUILT_IN: Final[dict[str, type[Exception]]] = {
    name: cls
    for name, cls in vars(builtins).items()
    if isinstance(cls, type)
    and issubclass(cls, Exception)
    and cls.__name__ == name
    and cls not in (StopIteration, StopAsyncIteration, ExceptionGroup)
}

# Properties that built-in classes keep outside of `__dict__` and `args`.
SLOTS: Final[dict[type[Exception], tuple[str, ...]]] = {
    ImportError: ("name", "path"),
    ModuleNotFoundError: ("name", "path"),
    NameError: ("name",),
    UnboundLocalError: ("name",),
    AttributeError: ("name",),
}


_CODE_MAX: Final = 2**31 - 1


def record_from(value: Any) -> ErrorRecord:
    """The record that a decoded *value* is.

    Raises:
        MalformedRecord: it is none.
    """
    fields: list[Any] = value
    if type(fields) is not list or len(fields) != 4:
        raise MalformedRecord("an error record is an array of 4")
    code, status, message, reason = fields
    if (
        type(code) not in (int, str)
        or type(status) is not int
        or type(message) is not str
        or (reason is not None and type(reason) is not dict)
    ):
        raise MalformedRecord("an error record has a field of the wrong type")
    if not 400 <= status <= 599 or (type(code) is int and not 0 <= code <= _CODE_MAX):
        raise MalformedRecord("an error record has a number out of range")
    return ErrorRecord(code, status, message, reason)


def height(record: ErrorRecord) -> int:
    """How many records stand in each other, as causes and as reasons of resets; 0 if it is alone.

    Raises:
        MalformedRecord: what stands there is no record.
    """
    highest = 0
    left = [(record, 0)]
    while left:
        outer, level = left.pop()
        highest = max(highest, level)
        if type(outer.code) is int and outer.reason is not None:
            left.extend(
                (record_from(outer.reason[field]), level + 1)
                for field in ("cause", "error")
                if field in outer.reason
            )
    return highest

"""Exceptions to records and back.

A record is ``[code, status, message, reason]``. Of a `DoStatusError` the code is its string and the
reason its own; of everything else the code is an `ErrorCode` and the reason holds the fields.
"""

import builtins
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from .codec import encode
from .codes import CODES, ErrorCode
from .errors import MalformedRecord, UnsendableValue
from .limits import CAUSES_MAX, ERROR_DETAIL_BYTES_MAX, ERROR_MEMBERS_MAX, ERROR_TEXT_MAX
from .outcomes import (
    Deadlock,
    DoStatusError,
    HostClosed,
    MalformedRequest,
    MethodNotFound,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
    RemoteError,
    RunRouteError,
    UnknownClass,
    UnsendableResult,
)


class ErrorRecord(NamedTuple):
    """An error as a value of the wire."""

    code: int | str
    status: int
    message: str
    reason: Mapping[str, Any] | None


# A coroutine can not raise these two; arriving in one they would turn into a RuntimeError.
_BUILT_IN: Final[dict[str, type[Exception]]] = {
    name: cls
    for name, cls in vars(builtins).items()
    if isinstance(cls, type)
    and issubclass(cls, Exception)
    and cls.__name__ == name
    and cls not in (StopIteration, StopAsyncIteration, ExceptionGroup)
}

# Properties that built-in classes keep outside of `__dict__` and `args`.
_SLOTS: Final[dict[type[Exception], tuple[str, ...]]] = {
    ImportError: ("name", "path"),
    ModuleNotFoundError: ("name", "path"),
    NameError: ("name",),
    UnboundLocalError: ("name",),
    AttributeError: ("name",),
}


class _Shown(str):
    """Text whose `repr` is itself: a KeyError shows the `repr` of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def record_of(error: BaseException, *, raised_by_handler: bool = False) -> ErrorRecord:
    """The record of *error*.

    Args:
        error: What was raised.
        raised_by_handler: True if user code raised it or let it through. An `Overloaded` that a
            handler got from a call of its own says nothing about the handler itself, which did run:
            so the runtime's own errors become a `RemoteError` of their name then, and a reset is
            marked as handed on. Errors that have crossed the wire once count as let through.

    Raises:
        TypeError: *error* is no `Exception`. Those are for the runtime to handle; they never cross.
    """
    if not isinstance(error, Exception):
        raise TypeError(f"{type(error).__name__} never crosses the wire")
    return _record(error, raised_by_handler=raised_by_handler, causes_left=CAUSES_MAX)


def error_from(record: ErrorRecord) -> Exception:
    """The exception that *record* stands for, to be raised at the caller.

    A string code gives a `RunRouteError` always, known or not; a built-in class and the runtime's
    own errors return as their class; everything else is a `RemoteError`.

    Raises:
        MalformedRecord: the fields do not belong to the code.
    """
    code, status, message, reason = record
    if isinstance(code, str):
        error = RunRouteError(status, message, reason)
        error.code = code
        return error
    detail: Mapping[str, Any] = {} if reason is None else reason
    try:
        build = _BUILDERS.get(code)
        if build is None:
            return RemoteError(f"code {code}", message)
        return build(message, detail)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise MalformedRecord(f"no error of code {code}: {wrong!r}") from wrong


def text_of(error: BaseException) -> str:
    """The message of *error* as text that can be sent, whatever its `__str__` does."""
    try:
        text = error.message if isinstance(error, RemoteError) else str(error)
    except Exception:
        text = "(its message cannot be shown)"
    if len(text) > ERROR_TEXT_MAX:
        text = text[: ERROR_TEXT_MAX - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


# Writing


def _record(error: BaseException, *, raised_by_handler: bool, causes_left: int) -> ErrorRecord:
    kind = type(error)
    if isinstance(error, DoStatusError):
        return _status_record(error)
    own = _WRITERS.get(kind)
    if own is not None:
        handed_on = raised_by_handler or getattr(error, "_crossed", False)
        if not handed_on:
            code, fields = own
            return _row_record(code, text_of(error), fields(error))
        if isinstance(error, ObjectReset):
            return _row_record(
                ErrorCode.OBJECT_RESET, text_of(error), {**_reset_fields(error), "remote": True}
            )
    detail = _properties(error)
    if causes_left and error.__cause__ is not None:
        cause = _record(error.__cause__, raised_by_handler=True, causes_left=causes_left - 1)
        detail["cause"] = list(cause)
    if _BUILT_IN.get(kind.__name__) is kind:
        args = _args(error)
        if _fits(args):
            detail["args"] = list(args)
        return _row_record(ErrorCode.EXCEPTION, text_of(error), {"name": kind.__name__, **detail})
    if isinstance(error, RemoteError):
        detail |= {"name": error.name, "members": list(error.members)}
        return _row_record(ErrorCode.FOREIGN_EXCEPTION, text_of(error), detail)
    members = _members(error)
    if members:
        detail["members"] = [f"{type(member).__name__}: {text_of(member)}" for member in members]
    return _row_record(
        ErrorCode.FOREIGN_EXCEPTION, text_of(error), {"name": kind.__name__, **detail}
    )


def _row_record(code: ErrorCode, message: str, detail: dict[str, Any]) -> ErrorRecord:
    return ErrorRecord(int(code), CODES[code].status, message, detail)


def _status_record(error: DoStatusError) -> ErrorRecord:
    status: object = getattr(error, "status", None)
    if type(status) is not int or not 400 <= status <= 599:
        status = 500
    reason: object = getattr(error, "reason", None)
    readable = isinstance(reason, Mapping)
    plain = dict(cast("Mapping[str, Any]", reason)) if readable else None
    code: object = error.code
    named = code if type(code) is str else DoStatusError.code
    return ErrorRecord(named, status, text_of(error), plain if _fits(plain) else None)


def _properties(error: BaseException) -> dict[str, Any]:
    """Own attributes of *error*; none at all if one of them cannot be sent (RPC-9)."""
    if isinstance(error, RemoteError):
        own = dict(error.properties)
    else:
        own = {name: value for name, value in vars(error).items() if name not in _MARKERS}
        for slot in _SLOTS.get(cast("type[Exception]", type(error)), ()):
            value = getattr(error, slot)
            if value is not None:
                own[slot] = value
    return {"properties": own} if own and _fits(own) else {}


def _members(error: BaseException) -> tuple[BaseException, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    return cast("BaseExceptionGroup[BaseException]", error).exceptions[:ERROR_MEMBERS_MAX]


def _args(error: BaseException) -> tuple[Any, ...]:
    if isinstance(error, OSError) and error.filename is not None:
        # The fourth place is Windows' own number.
        return (error.errno, error.strerror, error.filename, None, error.filename2)
    return error.args


def _fits(value: Any) -> bool:
    try:
        return len(encode(value)) <= ERROR_DETAIL_BYTES_MAX
    except UnsendableValue:
        return False


def _reset_fields(error: ObjectReset) -> dict[str, Any]:
    record = error.record
    if record is None:
        return {}
    if _nested(record.reason, "error") >= CAUSES_MAX:
        record = record._replace(reason=None)
    return {"error": list(record)}


# What arrival adds, and what is therefore no property of the error's own.
_MARKERS: Final = frozenset(("remote", "_crossed"))

_WRITERS: Final[dict[type, tuple[ErrorCode, Callable[[Any], dict[str, Any]]]]] = {
    Overloaded: (
        ErrorCode.OVERLOADED,
        lambda error: {"address": error.address, "requests_max": error.requests_max},
    ),
    UnknownClass: (ErrorCode.UNKNOWN_CLASS, lambda error: {"kind": error.kind}),
    MethodNotFound: (
        ErrorCode.METHOD_NOT_FOUND,
        lambda error: {"kind": error.kind, "method": error.method},
    ),
    HostClosed: (ErrorCode.HOST_CLOSED, lambda error: {"host": error.host}),
    MalformedRequest: (ErrorCode.MALFORMED_REQUEST, lambda _: {}),
    ObjectReset: (ErrorCode.OBJECT_RESET, _reset_fields),
    Deadlock: (ErrorCode.DEADLOCK, lambda error: {"cycle": list(error.cycle)}),
    UnsendableValue: (
        ErrorCode.UNSENDABLE_RESULT,
        lambda error: {"path": error.path, "reason": error.reason},
    ),
    UnsendableResult: (
        ErrorCode.UNSENDABLE_RESULT,
        lambda error: {"path": error.path, "reason": error.reason},
    ),
    OutcomeUnknown: (ErrorCode.OUTCOME_UNKNOWN, lambda _: {}),
}


# Reading


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
    return ErrorRecord(code, status, message, reason)


def _crossed(
    build: Callable[[str, Any], Exception],
) -> Callable[[str, Mapping[str, Any]], Exception]:
    def builder(message: str, detail: Mapping[str, Any]) -> Exception:
        error = build(message, detail)
        # Should a handler let it through, it is no longer the runtime's word on that handler.
        vars(error)["_crossed"] = True
        return error

    return builder


def _text(detail: Mapping[str, Any], field: str) -> str:
    text = detail[field]
    if type(text) is not str:
        raise TypeError(f"{field} is no text")
    return text


def _number(detail: Mapping[str, Any], field: str) -> int:
    number = detail[field]
    if type(number) is not int:
        raise TypeError(f"{field} is no int")
    return number


def _texts(detail: Mapping[str, Any], field: str) -> tuple[str, ...]:
    texts: list[Any] = detail.get(field, [])
    if type(texts) is not list or not all(type(text) is str for text in texts):
        raise TypeError(f"{field} is no list of texts")
    return tuple(texts)


def _build_reset(message: str, detail: Mapping[str, Any]) -> Exception:
    original = detail.get("error")
    error = ObjectReset(message, None if original is None else record_from(original))
    if detail.get("remote") is True:
        error.remote = True
    return error


def _build_built_in(message: str, detail: Mapping[str, Any]) -> Exception:
    name = _text(detail, "name")
    cls = _BUILT_IN.get(name)
    if cls is None:
        return _build_foreign(message, detail)
    args: list[Any] | None = detail.get("args")
    try:
        if type(args) is list:
            error = cls(*args)
        else:
            error = cls(_Shown(message) if issubclass(cls, KeyError) else message)
    except Exception:
        # A class of Python's that does not take these arguments here, or never takes text alone.
        return _build_foreign(message, detail)
    # Into its `__dict__` only: through `setattr` a property could replace what Python itself keeps.
    properties = _own_properties(detail)
    for slot in _SLOTS.get(cls, ()):
        if slot in properties:
            setattr(error, slot, properties.pop(slot))
    vars(error).update(properties)
    vars(error)["remote"] = True
    error.__cause__ = _cause(detail)
    return error


def _build_foreign(message: str, detail: Mapping[str, Any]) -> Exception:
    members = _texts(detail, "members")
    error = RemoteError(_text(detail, "name"), message, _own_properties(detail), members)
    error.__cause__ = _cause(detail)
    return error


def _own_properties(detail: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[Any, Any] = detail.get("properties", {})
    if type(own) is not dict or not all(type(name) is str for name in own):
        raise TypeError("properties are no dict of names")
    return dict(own)


def _cause(detail: Mapping[str, Any]) -> Exception | None:
    cause = detail.get("cause")
    if cause is None:
        return None
    if _nested(detail, "cause") > CAUSES_MAX:
        raise MalformedRecord(f"more than {CAUSES_MAX} causes")
    return error_from(record_from(cause))


def _nested(detail: Mapping[str, Any] | None, field: str) -> int:
    """How many records stand in each other's *field*; no more than is counted to judge it."""
    count = 0
    while detail is not None and field in detail and count <= CAUSES_MAX:
        detail = record_from(detail[field]).reason
        count += 1
    return count


_BUILDERS: Final[dict[int, Callable[[str, Mapping[str, Any]], Exception]]] = {
    ErrorCode.OVERLOADED: _crossed(
        lambda _, detail: Overloaded(_text(detail, "address"), _number(detail, "requests_max"))
    ),
    ErrorCode.UNKNOWN_CLASS: _crossed(lambda _, detail: UnknownClass(_text(detail, "kind"))),
    ErrorCode.METHOD_NOT_FOUND: _crossed(
        lambda _, detail: MethodNotFound(_text(detail, "kind"), _text(detail, "method"))
    ),
    ErrorCode.HOST_CLOSED: _crossed(lambda _, detail: HostClosed(_text(detail, "host"))),
    ErrorCode.MALFORMED_REQUEST: _crossed(lambda message, _: MalformedRequest(message)),
    ErrorCode.EXCEPTION: _build_built_in,
    ErrorCode.FOREIGN_EXCEPTION: _build_foreign,
    ErrorCode.OBJECT_RESET: _crossed(_build_reset),
    ErrorCode.DEADLOCK: _crossed(lambda _, detail: Deadlock(_texts(detail, "cycle"))),
    ErrorCode.UNSENDABLE_RESULT: _crossed(
        lambda _, detail: UnsendableResult(_text(detail, "path"), _text(detail, "reason"))
    ),
    ErrorCode.OUTCOME_UNKNOWN: _crossed(lambda message, _: OutcomeUnknown(message)),
}

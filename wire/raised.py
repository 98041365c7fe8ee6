"""`record_of`: an exception that was raised, as the record that crosses in its place."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .codec import encode
from .codes import CODES, ErrorCode
from .errors import UnsendableValue
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
    UnknownClass,
    UnsendableResult,
)
from .records import BUILT_IN, SLOTS, ErrorRecord, height


def record_of(error: BaseException, *, raised_by_handler: bool = False) -> ErrorRecord:
    """The record of *error*.

    Args:
        error: What was raised.
        raised_by_handler: True if user code raised it or let it through. An `Overloaded` that a
            handler got from a call of its own says nothing about the handler itself, which did run:
            so the runtime's own errors become a `RemoteError` of their name then; a reset and a
            deadlock, which promise nothing either way, are marked `remote` instead. An error that
            has crossed the wire once counts as let through.

    Raises:
        TypeError: *error* is no `Exception`. Those are for the runtime to handle; they never cross.
    """
    if not isinstance(error, Exception):
        raise TypeError(f"{type(error).__name__} never crosses the wire")
    return _record(error, raised_by_handler=raised_by_handler, causes_left=CAUSES_MAX)


def text_of(error: BaseException) -> str:
    """The message of *error* as text that can be sent, whatever its `__str__` does."""
    try:
        text = error.message if isinstance(error, RemoteError) else str(error)
    except Exception:
        text = "(its message cannot be shown)"
    if len(text) > ERROR_TEXT_MAX:
        text = text[: ERROR_TEXT_MAX - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


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
        if isinstance(error, (ObjectReset, Deadlock)):
            code, fields = own
            return _row_record(code, text_of(error), {**fields(error), "remote": True})
    detail = _properties(error)
    if causes_left and error.__cause__ is not None:
        cause = _record(error.__cause__, raised_by_handler=True, causes_left=causes_left - 1)
        detail["cause"] = list(cause)
    if BUILT_IN.get(kind.__name__) is kind:
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
        for slot in SLOTS.get(cast("type[Exception]", type(error)), ()):
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
    if height(record) >= CAUSES_MAX:
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
    HostClosed: (ErrorCode.HOST_CLOSED, lambda error: {"reason": error.reason}),
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

"""`error_from`: the exception that a record stands for, made anew on the far side."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from .codes import ErrorCode
from .errors import MalformedRecord
from .limits import RECORDS_NESTED_MAX
from .outcomes import (
    Deadlock,
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
from .records import BUILT_IN, SLOTS, ErrorRecord, height, record_from


class _Shown(str):
    """Text whose `repr` is itself: a KeyError shows the `repr` of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def error_from(record: ErrorRecord) -> Exception:
    """The exception that *record* stands for, to be raised at the caller.

    A string code gives a `RunRouteError` always, known or not; a built-in class and the runtime's
    own errors return as their class; everything else is a `RemoteError`.

    Raises:
        MalformedRecord: the fields do not belong to the code.
    """
    if height(record) > RECORDS_NESTED_MAX:
        raise MalformedRecord(f"more than {RECORDS_NESTED_MAX} errors in each other")
    return _built(record)


def _built(record: ErrorRecord) -> Exception:
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
    original = None
    if "error" in detail:
        original = record_from(detail["error"])
        # `ObjectReset.error` builds it again when it is asked; that must not be able to fail.
        _built(original)
    return _let_through(ObjectReset(message, original), detail)


def _build_deadlock(_message: str, detail: Mapping[str, Any]) -> Exception:
    return _let_through(Deadlock(_texts(detail, "cycle")), detail)


def _let_through(error: ObjectReset | Deadlock, detail: Mapping[str, Any]) -> Exception:
    if detail.get("remote") is True:
        error.remote = True
    return error


def _build_built_in(message: str, detail: Mapping[str, Any]) -> Exception:
    name = _text(detail, "name")
    cls = BUILT_IN.get(name)
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
    for slot in SLOTS.get(cls, ()):
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
    return None if cause is None else _built(record_from(cause))


_BUILDERS: Final[dict[int, Callable[[str, Mapping[str, Any]], Exception]]] = {
    ErrorCode.OVERLOADED: _crossed(
        lambda _, detail: Overloaded(_text(detail, "address"), _number(detail, "requests_max"))
    ),
    ErrorCode.UNKNOWN_CLASS: _crossed(lambda _, detail: UnknownClass(_text(detail, "kind"))),
    ErrorCode.METHOD_NOT_FOUND: _crossed(
        lambda _, detail: MethodNotFound(_text(detail, "kind"), _text(detail, "method"))
    ),
    ErrorCode.HOST_CLOSED: _crossed(lambda _, detail: HostClosed(_text(detail, "reason"))),
    ErrorCode.MALFORMED_REQUEST: _crossed(lambda message, _: MalformedRequest(message)),
    ErrorCode.EXCEPTION: _build_built_in,
    ErrorCode.FOREIGN_EXCEPTION: _build_foreign,
    ErrorCode.OBJECT_RESET: _crossed(_build_reset),
    ErrorCode.DEADLOCK: _crossed(_build_deadlock),
    ErrorCode.UNSENDABLE_RESULT: _crossed(
        lambda _, detail: UnsendableResult(_text(detail, "path"), _text(detail, "reason"))
    ),
    ErrorCode.OUTCOME_UNKNOWN: _crossed(lambda message, _: OutcomeUnknown(message)),
}

"""Errors between JavaScript and durasim, both ways.

A program throws a JavaScript value; the method of the object raises what a Python author would
raise for it; durasim carries that to the caller; there it becomes the error that a JavaScript
caller sees, with the marks that the platform adds: `remote`, `durableObjectId`,
`durableObjectReset` (RPC-7 to RPC-12).
"""

import builtins
from typing import Any, Final

from ...actors import ObjectReset, RemoteError, TransactionByStatement, TransactionOver
from ...wire import MethodNotFound, UnsendableResult, UnsendableValue
from .values import JsError, JsMap, JsSet, Uncloneable, is_array, is_members

__all__ = ["ABORT_ALL", "as_raised", "at_caller", "of_storage"]

Value = Any

BY_STATEMENT: Final = (
    "To execute a transaction, please use the state.storage.transaction() or "
    "state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT "
    "statements. The JavaScript API is safer because it will automatically roll back on "
    "exceptions, and because it interacts correctly with Durable Objects' automatic atomic write "
    "coalescing."
)
VIOLATED: Final = (
    "Durable Object was reset and rolled back to its last known good state because the application "
    "left the database in a state where constraints were violated: "
)
ABORT_ALL: Final = "Application called abortAllDurableObjects()."

_RAISED: Final[dict[str, type[Exception]]] = {
    "Error": Exception,
    "TypeError": TypeError,
    "RangeError": ValueError,
}
_THROWN: Final = {"ValueError": "RangeError", "TypeError": "TypeError"}

# What durasim says, in the words of the platform: names of methods, and of what cannot be done.
_WORDS: Final = {
    "set_alarm()": "setAlarm()",
    "delete_all()": "deleteAll()",
    "get_many()": "get()",
    "put_many()": "put()",
    "delete_many()": "delete()",
    "block_concurrency_while()": "blockConcurrencyWhile()",
    "start and start_after values": "start and startAfter values",
}
_KINDS: Final = {
    "setAlarm() cannot be called with an alarm time <= 0": "TypeError",
}


class JavaScriptError(Exception):
    """A thrown value for which Python has no exception of its own; `thrown` is the value."""

    def __init__(self, thrown: Value) -> None:
        super().__init__()
        self.thrown = thrown


def as_raised(thrown: Value) -> Exception:
    """What a method raises when its program throws *thrown*."""
    if isinstance(thrown, JsError) and thrown.name is None and thrown.kind in _RAISED:
        error = _RAISED[thrown.kind](thrown.message)
        vars(error).update(thrown.props)
        return error
    return JavaScriptError(thrown)


def of_storage(error: Exception, value: Value = None) -> Value:
    """What a program sees of an *error* that durasim raised to it in its own object.

    *value* is what it was about to store, if anything.
    """
    if isinstance(error, UnsendableValue):
        text = _first_uncloneable(value)
        return JsError("DOMException", f"{text} could not be cloned.", "DataCloneError")
    if isinstance(error, TransactionByStatement):
        return JsError("Error", BY_STATEMENT)
    return _rebuilt(error)


def at_caller(error: Exception, *, of: str, fetched: bool) -> Value | None:
    """What a caller sees of an *error* that its call of the object *of* (its id) ended with.

    None for outcomes that JavaScript callers do not know, such as a lost reply.
    """
    if isinstance(error, ObjectReset):
        return _reset(error, of=of, fetched=fetched)
    if isinstance(error, MethodNotFound):
        message = f'The RPC receiver does not implement the method "{error.method}".'
        return JsError("TypeError", message)
    if isinstance(error, (UnsendableResult, UnsendableValue)):
        return JsError("DOMException", "the value could not be cloned.", "DataCloneError")
    if not getattr(error, "remote", False):
        return None
    return _marked(_rebuilt(error), _remote_marks(of, fetched=fetched))


def _remote_marks(of: str, *, fetched: bool) -> dict[str, Value]:
    return {"remote": True} if fetched else {"durableObjectId": of, "remote": True}


def _reset(error: ObjectReset, *, of: str, fetched: bool) -> Value:
    original = error.error
    value = JsError("Error", str(error)) if original is None else _rebuilt(original)
    marks: dict[str, Value] = {"durableObjectReset": True}
    if isinstance(original, RemoteError) and original.name == "ConstraintsViolated":
        # A broken output gate is no reset by the application: no flags (OG-5).
        text, _, name = original.message.rpartition(": ")
        value = JsError("Error", f"{VIOLATED}{text}: SQLITE_CONSTRAINT (extended: {name})")
        marks = {}
    elif isinstance(original, TimeoutError):
        marks = {"overloaded": True, **marks}
    elif value.message == ABORT_ALL if isinstance(value, JsError) else False:
        marks = {}
    if error.remote:
        marks |= _remote_marks(of, fetched=fetched)
    elif fetched:
        marks = {"remote": True, **marks}
    return _marked(value, marks)


def _marked(value: Value, marks: dict[str, Value]) -> Value:
    if isinstance(value, JsError):
        return value.having(**marks)
    if is_members(value):
        return {**value, **marks}
    if is_array(value):
        return value
    return JsError("Error", _as_text(value)).having(**marks)


def _as_text(value: Value) -> str:
    return value if isinstance(value, str) else {None: "null"}.get(value, str(value))


def _rebuilt(error: BaseException) -> Value:
    if isinstance(error, JavaScriptError):
        return error.thrown
    if isinstance(error, RemoteError):
        if "thrown" in error.properties:
            return error.properties["thrown"]
        return JsError("Error", _in_platform_words(error.message))
    message = _in_platform_words(str(error))
    kind = _THROWN.get(type(error).__name__, "Error")
    if isinstance(error, TransactionOver) or not hasattr(builtins, type(error).__name__):
        kind = "Error"
    props = {
        name: value
        for name, value in vars(error).items()
        if name not in ("remote", "_crossed", "__notes__")
    }
    return JsError(_KINDS.get(message, kind), message, props=props)


def _in_platform_words(message: str) -> str:
    for ours, theirs in _WORDS.items():
        message = message.replace(ours, theirs)
    return message


def _first_uncloneable(value: Value) -> str:
    if isinstance(value, Uncloneable):
        return value.text
    parts: list[Value] = []
    if is_members(value):
        parts = list(value.values())
    elif is_array(value):
        parts = value
    elif isinstance(value, JsMap):
        parts = [part for pair in value.pairs for part in pair]
    elif isinstance(value, JsSet):
        parts = list(value.elements)
    for part in parts:
        text = _first_uncloneable(part)
        if text:
            return text
    return ""

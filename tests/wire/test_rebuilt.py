"""Errors arrive as the class that tells the truth, with what they had."""

import builtins
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from durasim.wire import (
    Deadlock,
    DoStatusError,
    ErrorCode,
    ErrorRecord,
    HostClosed,
    MalformedRecord,
    MalformedRequest,
    MethodNotFound,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
    RemoteError,
    RunRouteError,
    UnknownClass,
    UnsendableResult,
    error_from,
    record_of,
)
from durasim.wire.limits import CAUSES_MAX

from ..strategies import values
from .crossing import crossed


@pytest.mark.parametrize(
    "error",
    [
        Overloaded("Counter/a", 8),
        MethodNotFound("Counter", "x"),
        UnknownClass("Counter"),
        HostClosed("host-1"),
        MalformedRequest("m"),
        ObjectReset("m"),
        ObjectReset("m", record_of(ValueError(1))),
        Deadlock(("A/1", "B/1", "A/1")),
        UnsendableResult("$.value", "no"),
        OutcomeUnknown("lost"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_runtimes_errors_return_as_their_class(error: Exception) -> None:
    """With their fields and their text, and without `remote`: nobody's handler raised them."""
    arrived: Any = crossed(error)

    assert arrived.remote is False
    assert type(arrived) is type(error)
    assert arrived.args == error.args
    assert str(arrived) == str(error)
    assert {name: value for name, value in vars(arrived).items() if name[0] != "_"} == vars(error)


def test_a_reset_has_the_error_that_caused_it() -> None:
    """Rebuilt as any error that arrives."""
    arrived = crossed(ObjectReset("m", record_of(KeyError("k"))))
    assert isinstance(arrived, ObjectReset)

    assert type(arrived.error) is KeyError
    assert arrived.error.args == ("k",)


@pytest.mark.parametrize("code", ["tests.UNHEARD_OF", DoStatusError.code, "", "100"])
@pytest.mark.parametrize("reason", [None, {}, {"code": "EXECUTION_FENCED", "state": {"n": 1}}])
def test_a_code_of_text_is_always_a_route_error(code: str, reason: dict[str, Any] | None) -> None:
    """Known or not, the code is kept as it is, and the reason untouched."""
    arrived = error_from(ErrorRecord(code, 503, "m", reason))

    assert type(arrived) is RunRouteError
    assert (arrived.code, arrived.status, arrived.message) == (code, 503, "m")
    assert arrived.reason == reason
    assert RunRouteError.code == DoStatusError.code


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        ValueError("m"),
        ValueError("m", 2, (3, {4})),
        KeyError("k"),
        KeyError(),
        KeyError(("a", 1)),
        OSError("m"),
        FileNotFoundError(2, "no such file", "name"),
        OSError(28, "full", "a", None, "b"),
        PermissionError(13, "no"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        SyntaxError("m", ("file", 1, 2, "text")),
        ZeroDivisionError("m"),
        TimeoutError(),
        AssertionError("m"),
        UserWarning("m"),
        ImportError("m", name="n", path="p"),
        NameError("m", name="n"),
        AttributeError("m", name="n"),
        Exception("m"),
    ],
    ids=repr,
)
def test_built_in_errors_return_as_their_class(error: Exception) -> None:
    """Class, arguments and text, with `remote` set."""
    arrived: Any = crossed(error)

    assert arrived.remote is True
    assert type(arrived) is type(error)
    assert arrived.args == error.args
    assert str(arrived) == str(error)
    for name in ("name", "path", "filename", "filename2", "errno"):
        assert getattr(arrived, name, None) == getattr(error, name, None)


BUILT_IN = sorted(
    name
    for name, cls in vars(builtins).items()
    if isinstance(cls, type) and issubclass(cls, Exception) and cls.__name__ == name
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_error_arrives_with_its_text(name: str) -> None:
    """Also those that need other arguments than text, or cannot be raised in a coroutine."""
    cls = getattr(builtins, name)
    special = {
        "UnicodeDecodeError": ("utf-8", b"a", 0, 1, "m"),
        "UnicodeEncodeError": ("utf-8", "a", 0, 1, "m"),
        "UnicodeTranslateError": ("a", 0, 1, "m"),
        "ExceptionGroup": ("m", [ValueError()]),
    }
    error = cls(*special.get(name, ("m",)))
    arrived: Any = crossed(error)
    expected = (
        RemoteError if name in ("StopIteration", "StopAsyncIteration", "ExceptionGroup") else cls
    )

    assert type(arrived) is expected
    assert str(error) in str(arrived)
    assert arrived.remote is True


def test_own_properties_and_notes_are_kept() -> None:
    """Attributes that somebody added, and the notes of PEP 678."""
    error: Any = ValueError("m")
    error.own = {"a": (1,)}
    error.add_note("note")
    arrived: Any = crossed(error)

    assert arrived.own == {"a": (1,)}
    assert arrived.__notes__ == ["note"]


def test_arguments_that_cannot_be_sent_leave_the_text() -> None:
    """The message is what people read; a KeyError does not quote it twice."""
    for error in (ValueError(len), KeyError(len), ValueError("a", object)):
        arrived = crossed(error)

        assert type(arrived) is type(error)
        assert str(arrived) == str(error)
        assert str(crossed(arrived)) == str(error)


def test_an_error_that_needs_arguments_it_lost_is_told_by_name() -> None:
    """A class of Python's that cannot be made from text alone arrives as a RemoteError."""
    arrived = crossed(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "m"))

    assert type(arrived) is RemoteError
    assert arrived.name == "UnicodeEncodeError"


def test_a_foreign_error_keeps_name_message_and_properties() -> None:
    """And keeps them when it is let through once more."""

    class Custom(Exception):
        pass

    error: Any = Custom("m")
    error.own = [1]
    for arrived in (crossed(error), crossed(crossed(error))):
        assert type(arrived) is RemoteError
        assert (arrived.name, arrived.message, arrived.properties) == ("Custom", "m", {"own": [1]})
        assert arrived.remote is True


def test_causes_arrive() -> None:
    """A chain of errors of several kinds stays a chain."""
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    error.__cause__.__cause__ = Overloaded("Counter/a", 8)
    arrived = crossed(error)

    assert repr(arrived.__cause__) == "KeyError('inner')"
    assert arrived.__cause__ is not None
    innermost = arrived.__cause__.__cause__
    assert isinstance(innermost, RemoteError)
    assert innermost.name == "Overloaded"


def test_the_longest_chain_that_is_sent_is_read() -> None:
    """A chain of causes that ends in a reset with a chain of its own."""

    def chain(last: Exception) -> Exception:
        for number in range(CAUSES_MAX - 1):
            outer = ValueError(number)
            outer.__cause__ = last
            last = outer
        return last

    reset = crossed(ObjectReset("reset", record_of(chain(KeyError("k")))))

    assert str(crossed(chain(reset))) == str(CAUSES_MAX - 2)


def test_an_unknown_number_is_a_remote_error() -> None:
    """A newer peer's code is told, and taken for no refusal."""
    arrived = error_from(ErrorRecord(199, 503, "m", {"a": 1}))

    assert type(arrived) is RemoteError
    assert str(arrived) == "code 199: m"


def test_a_built_in_error_of_another_python_is_told_by_name() -> None:
    """A newer Python has classes that this one has not; a name that is none of them is no class."""
    for name in ("ErrorOfTheFuture", "int", "ExceptionGroup", "KeyboardInterrupt"):
        arrived = error_from(ErrorRecord(200, 500, "m", {"name": name, "args": ["m"]}))

        assert type(arrived) is RemoteError
        assert arrived.name == name


def deep(field: str) -> ErrorRecord:
    """Records in records, far more than anybody sends."""
    record = ErrorRecord(200, 500, "m", {"name": "ValueError"})
    for _ in range(1000):
        record = ErrorRecord(202 if field == "error" else 200, 500, "m", {field: list(record)})
    return record


@pytest.mark.parametrize(
    "record",
    [
        ErrorRecord(100, 503, "m", None),
        ErrorRecord(100, 503, "m", {"address": 1, "requests_max": 1}),
        ErrorRecord(100, 503, "m", {"address": "a", "requests_max": True}),
        ErrorRecord(101, 404, "m", {"kind": "A"}),
        ErrorRecord(200, 500, "m", {}),
        ErrorRecord(200, 500, "m", {"name": 1}),
        ErrorRecord(200, 500, "m", {"name": "ValueError", "properties": []}),
        ErrorRecord(200, 500, "m", {"name": "ValueError", "properties": {1: 2}}),
        ErrorRecord(200, 500, "m", {"name": "ValueError", "cause": None}),
        ErrorRecord(200, 500, "m", {"name": "ValueError", "cause": [1]}),
        ErrorRecord(201, 500, "m", {"name": "X", "members": "abc"}),
        ErrorRecord(201, 500, "m", {"name": "X", "members": [1]}),
        ErrorRecord(202, 500, "m", {"error": [100, 503, "m", None]}),
        ErrorRecord(202, 500, "m", {"error": {}}),
        ErrorRecord(203, 508, "m", {"cycle": [1]}),
        ErrorRecord(204, 500, "m", {"path": "$"}),
        deep("cause"),
        deep("error"),
    ],
    ids=lambda record: f"{record.code}-{list(record.reason or ())}",
)
def test_a_record_whose_fields_do_not_fit_its_code_is_malformed(record: ErrorRecord) -> None:
    """Whatever a peer writes, there is one kind of error for it."""
    with pytest.raises(MalformedRecord):
        error_from(record)


@settings(max_examples=60)
@given(
    st.sampled_from(ErrorCode),
    st.dictionaries(
        st.sampled_from(
            ["name", "args", "properties", "cause", "error", "members", "cycle", "path"]
        ),
        values | st.sampled_from([*BUILT_IN]) | st.dictionaries(st.text(max_size=9), values),
    ),
)
def test_any_fields_give_an_error_or_are_malformed(code: int, reason: dict[str, Any]) -> None:
    """No other exception, and what is built can be shown, and sent again."""
    try:
        error = error_from(ErrorRecord(int(code), 500, "m", reason))
    except MalformedRecord:
        return
    assert isinstance(crossed(error), Exception)


@pytest.mark.parametrize(
    "name", ["args", "__class__", "__cause__", "__traceback__", "with_traceback"]
)
def test_a_property_cannot_replace_what_python_keeps(name: str) -> None:
    """Properties go into the error's own dict, and nowhere else."""
    record = ErrorRecord(
        200, 500, "m", {"name": "ValueError", "args": ["m"], "properties": {name: "evil"}}
    )
    error = error_from(record)

    assert type(error) is ValueError
    assert error.args == ("m",)
    assert (error.__cause__, error.__traceback__) == (None, None)

"""The ends of a call are kept apart by type (design idea: refused, failed, uncertain)."""

from itertools import combinations

import pytest

from durasim.wire import (
    Deadlock,
    DoStatusError,
    HostClosed,
    IncarnationGone,
    MalformedRequest,
    MethodNotFound,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
    RemoteError,
    RunRouteError,
    UnknownClass,
    UnsendableResult,
    nothing_ran,
    record_of,
)

REFUSED: list[Exception] = [
    Overloaded("Counter/a", 8),
    MethodNotFound("Counter", "x"),
    UnknownClass("Counter"),
    HostClosed("host-1"),
    MalformedRequest("truncated"),
]
FAILED: list[Exception] = [
    ObjectReset("reset"),
    Deadlock(("A/1", "B/1", "A/1")),
    UnsendableResult("$.value", "no"),
    RemoteError("Custom", "m"),
    ValueError("m"),
]
UNCERTAIN: list[Exception] = [OutcomeUnknown()]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (one, other)
        for these, those in combinations([REFUSED, FAILED, UNCERTAIN], 2)
        for one in these
        for other in those
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_except_takes_two_kinds_of_end(left: Exception, right: Exception) -> None:
    """Two ends of different kinds have no common base below Exception."""
    shared = set(type(left).__mro__) & set(type(right).__mro__)

    assert shared == {Exception, BaseException, object}


def test_the_table_agrees_with_the_kinds() -> None:
    """Exactly the refusals are marked as calls of which nothing ran."""
    assert all(nothing_ran(record_of(error).code) for error in REFUSED)
    assert not any(nothing_ran(record_of(error).code) for error in [*FAILED, *UNCERTAIN])


def test_a_rebuilt_status_error_is_not_of_the_family_it_came_from() -> None:
    """`except DoStatusError` in process does not take the far side's shape, nor the other way."""
    assert not issubclass(RunRouteError, DoStatusError)
    assert not issubclass(DoStatusError, RunRouteError)


def test_the_end_of_an_incarnation_is_no_error_to_handle() -> None:
    """Code that catches Exception does not catch it, and no record can be made of it."""
    assert not issubclass(IncarnationGone, Exception)
    with pytest.raises(TypeError, match="never crosses"):
        record_of(IncarnationGone())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Overloaded("Counter/a", 8), "the mailbox of Counter/a is full (8 requests)"),
        (MethodNotFound("Counter", "x"), 'Counter has no method "x" that may be called'),
        (UnknownClass("Counter"), 'no class named "Counter" is known here'),
        (HostClosed("closing"), "the call was not delivered: closing"),
        (Deadlock(("A/1", "B/1", "A/1")), "objects wait for each other: A/1 -> B/1 -> A/1"),
        (UnsendableResult("$.value", "no"), "the result cannot be sent: $.value: no"),
        (OutcomeUnknown(), "nobody can say whether the call ran"),
        (RemoteError("Custom", "m"), "Custom: m"),
        (RemoteError("Custom", ""), "Custom"),
    ],
)
def test_messages_say_what_is_true(error: Exception, text: str) -> None:
    """The text of an end is for people, and is part of what they rely on."""
    assert str(error) == text


def test_a_reset_without_a_reason_has_no_error() -> None:
    """None is an answer."""
    assert ObjectReset("reset").error is None
    assert ObjectReset("reset").remote is False

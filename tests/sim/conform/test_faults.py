"""Errors between JavaScript and durasim, both ways."""

from typing import Any

import pytest

from durasim.actors import ObjectReset, RemoteError, TransactionByStatement, TransactionOver
from durasim.sim.conform.faults import (
    BY_STATEMENT,
    JavaScriptError,
    as_raised,
    at_caller,
    of_storage,
)
from durasim.sim.conform.values import JsError, JsMap, JsSet, Uncloneable
from durasim.wire import (
    MethodNotFound,
    OutcomeUnknown,
    UnsendableResult,
    UnsendableValue,
    error_from,
    record_of,
)


def crossed(error: Exception) -> Exception:
    """The error as it arrives at the caller."""
    return error_from(record_of(error, raised_by_handler=True))


def reset_by(error: Exception) -> Exception:
    """What callers get when *error* resets the object."""
    return error_from(record_of(ObjectReset(str(error), record_of(error))))


@pytest.mark.parametrize(
    ("thrown", "cls"),
    [
        (JsError("Error", "m"), Exception),
        (JsError("TypeError", "m", props={"code": 5}), TypeError),
        (JsError("RangeError", "m"), ValueError),
        (JsError("SyntaxError", "m"), JavaScriptError),
        (JsError("Error", "m", "Own", own_name=True), JavaScriptError),
        ("text", JavaScriptError),
        ({"code": 1}, JavaScriptError),
    ],
)
def test_a_thrown_value_survives_the_way_to_the_caller(thrown: Any, cls: type) -> None:
    """It is raised as what Python has for it, and marked as remote by whoever called."""
    raised = as_raised(thrown)
    seen = at_caller(crossed(raised), of="id", fetched=False)

    assert type(raised) is cls
    marks = {"durableObjectId": "id", "remote": True}
    if isinstance(thrown, JsError):
        assert seen == thrown.having(**marks)
    elif isinstance(thrown, dict):
        assert seen == {**thrown, **marks}
    else:
        assert seen == JsError("Error", thrown, props=marks)


def test_by_fetch_the_object_is_not_named() -> None:
    """Only `remote` is added (RPC-8)."""
    seen = at_caller(crossed(Exception("m")), of="id", fetched=True)

    assert seen == JsError("Error", "m", props={"remote": True})


def test_a_reset_shows_its_cause_with_its_mark() -> None:
    """Class, message and own properties of the cause; `remote` by fetch, or when passed on."""
    cause = as_raised(JsError("RangeError", "m", props={"p": 1}))
    direct = reset_by(cause)
    passed_on = crossed(direct)

    def props(error: Exception, **how: Any) -> dict[str, Any]:
        seen = at_caller(error, of="id", **how)
        assert isinstance(seen, JsError)
        assert (seen.kind, seen.message) == ("RangeError", "m")
        return seen.props

    assert props(direct, fetched=False) == {"p": 1, "durableObjectReset": True}
    assert props(direct, fetched=True) == {"p": 1, "remote": True, "durableObjectReset": True}
    assert props(passed_on, fetched=False) == {
        "p": 1, "durableObjectReset": True, "durableObjectId": "id", "remote": True,
    }  # fmt: skip


def test_the_callers_own_mistakes_and_unsendable_results() -> None:
    """A method that is not there, a result that cannot be sent."""
    missing = at_caller(MethodNotFound("K", "m"), of="id", fetched=False)
    unsendable = at_caller(UnsendableResult("$", "no"), of="id", fetched=False)

    assert missing == JsError("TypeError", 'The RPC receiver does not implement the method "m".')
    assert isinstance(unsendable, JsError)
    assert unsendable.name == "DataCloneError"


def test_outcomes_that_no_program_knows_are_not_translated() -> None:
    """A lost reply has no JavaScript."""
    assert at_caller(OutcomeUnknown("lost"), of="id", fetched=False) is None


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (TransactionOver("Cannot get_many() on rolled back transaction"),
         JsError("Error", "Cannot get() on rolled back transaction")),
        (ValueError("set_alarm() cannot be called with an alarm time <= 0"),
         JsError("TypeError", "setAlarm() cannot be called with an alarm time <= 0")),
        (TransactionByStatement("no"), JsError("Error", BY_STATEMENT)),
        (as_raised(JsError("URIError", "m")), JsError("URIError", "m")),
        (RemoteError("Foreign", "m"), JsError("Error", "m")),
    ],
)  # fmt: skip
def test_what_storage_says_is_said_in_the_platforms_words(error: Exception, seen: JsError) -> None:
    """Names of methods and classes of errors are those of JavaScript."""
    assert of_storage(error) == seen


@pytest.mark.parametrize(
    "value",
    [
        Uncloneable("f"),
        {"a": [1, Uncloneable("f")]},
        JsMap((("k", JsSet((Uncloneable("f"),))),)),
    ],
)
def test_what_cannot_be_cloned_is_named(value: Any) -> None:
    """The first such part, as JavaScript writes it."""
    seen = of_storage(UnsendableValue("$", "no"), value)

    assert seen == JsError("DOMException", "f could not be cloned.", "DataCloneError")

"""Records say what was raised, fit a reply, and never fail to be made."""

from typing import Any

import pytest

from durasim.wire import (
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
    Truncated,
    UnsendableResult,
    UnsendableValue,
    encode,
    record_of,
)
from durasim.wire.limits import CAUSES_MAX, ERROR_MEMBERS_MAX, ERROR_TEXT_MAX
from durasim.wire.records import height

from .crossing import crossed


class Refusal(DoStatusError):
    """One of a system's errors."""

    code = "tests.REFUSAL"


class Imitation(Exception):
    """A foreign error with the fields of the family."""

    code = "tests.REFUSAL"
    status = 503
    reason: Any = {"code": "EXECUTION_FENCED"}  # noqa: RUF012


class Custom(Exception):
    """An error of a user."""

    def __init__(self, message: str, **own: Any) -> None:
        super().__init__(message)
        vars(self).update(own)


class Rude(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise ZeroDivisionError


def test_the_family_crosses_as_its_four_fields() -> None:
    """Code, status, message and reason, and nothing of the class."""
    error = Refusal(503, "refused", {"code": "X", "state": [1]})

    assert record_of(error) == ("tests.REFUSAL", 503, "refused", {"code": "X", "state": [1]})


@pytest.mark.parametrize("status", [None, 200, 399, 600, 503.0, "503", True])
def test_a_status_that_is_none_becomes_500(status: Any) -> None:
    """run-claims.md 4.1: its own status if an integer 400 to 599, else 500."""
    assert record_of(Refusal(status, "m")).status == 500


@pytest.mark.parametrize("reason", [None, 5, [1], {"a": len}, {"a": "x" * 300_000}])
def test_a_reason_that_cannot_be_read_is_none(reason: Any) -> None:
    """The error still arrives."""
    error = crossed(Refusal(503, "m", reason))

    assert isinstance(error, RunRouteError)
    assert (error.status, error.message, error.reason) == (503, "m", None)


def test_a_code_that_is_no_text_is_that_of_the_family() -> None:
    """A class cannot take one of the runtime's numbers."""
    error = Refusal(503, "m")
    error.code = 100  # type: ignore[misc, assignment]  # pyright: ignore

    assert record_of(error).code == DoStatusError.code


def test_membership_is_nominal() -> None:
    """An object with the same fields is a failure without a reason (run-claims.md 4.1)."""
    error = crossed(Imitation("m"))

    assert type(error) is RemoteError
    assert error.name == "Imitation"
    assert not hasattr(error, "reason")


@pytest.mark.parametrize(
    "error",
    [Overloaded("a", 1), MethodNotFound("A", "x"), HostClosed("h"), OutcomeUnknown("lost")],
)
def test_what_a_handler_lets_through_is_its_own_failure(error: Exception) -> None:
    """That a call of the handler was refused does not mean that the handler was."""
    for arrived in (crossed(error, raised_by_handler=True), crossed(crossed(error))):
        assert type(arrived) is RemoteError
        assert arrived.name == type(error).__name__
        assert arrived.message == str(error)


def test_a_rebuilt_status_error_that_is_let_through_is_a_failure() -> None:
    """The refusal of one call is no refusal of another; its fields are still there to see."""
    arrived = crossed(crossed(Refusal(503, "refused", {"code": "X"})))

    assert type(arrived) is RemoteError
    assert arrived.name == "RunRouteError"
    assert arrived.properties["code"] == "tests.REFUSAL"
    assert arrived.properties["reason"] == {"code": "X"}


def test_a_reset_that_is_let_through_says_so() -> None:
    """The object that was called was not reset itself (durable-objects.md, RPC-12)."""
    own = ObjectReset("reset", record_of(KeyError("k")))
    direct, handed_on = crossed(own), crossed(crossed(own))
    assert isinstance(direct, ObjectReset)
    assert isinstance(handed_on, ObjectReset)

    assert (direct.remote, handed_on.remote) == (False, True)
    assert (repr(direct.error), repr(handed_on.error)) == ("KeyError('k')", "KeyError('k')")


def test_a_deadlock_that_is_let_through_keeps_its_cycle() -> None:
    """Whoever asked first learns which objects wait for each other."""
    own = Deadlock(("A/1", "B/1", "A/1"))
    direct, handed_on = crossed(own), crossed(crossed(own))

    assert (direct.cycle, direct.remote) == (own.cycle, False)
    assert (handed_on.cycle, handed_on.remote) == (own.cycle, True)


def test_a_result_that_cannot_be_sent_ran() -> None:
    """The sender's own class becomes one that says that the handler ran."""
    error = crossed(UnsendableValue("$.value[0]", "no"))

    assert type(error) is UnsendableResult
    assert (error.path, error.reason) == ("$.value[0]", "no")


def test_malformed_bytes_are_a_malformed_request_only_if_the_host_says_so() -> None:
    """A handler that reads broken bytes of its own has run."""
    assert type(crossed(MalformedRequest("m"))) is MalformedRequest
    assert type(crossed(Truncated("m"))) is RemoteError


@pytest.mark.parametrize("bad", [len, object(), bytearray(), "\ud800", "x" * 300_000])
def test_one_bad_property_drops_them_all(bad: Any) -> None:
    """durable-objects.md, RPC-9."""
    error = crossed(Custom("m", fine=1, bad=bad))

    assert isinstance(error, RemoteError)
    assert (error.message, error.properties) == ("m", {})


def test_a_message_that_is_long_or_no_text_is_made_to_fit() -> None:
    """Whatever `str` does, there is a message that can be sent."""
    assert record_of(Rude()).message == "(its message cannot be shown)"
    assert record_of(Custom("a\ud800b")).message == "a\\ud800b"
    assert record_of(Custom("x" * 100_000)).message == "x" * (ERROR_TEXT_MAX - 1) + "…"


def test_causes_are_kept_and_bounded() -> None:
    """A chain is cut, and a chain that closes on itself too."""
    error = Custom("outer")
    error.__cause__ = error
    record = record_of(error)

    assert height(record) == CAUSES_MAX
    assert len(encode(list(record))) < 1000


def test_resets_in_resets_are_bounded() -> None:
    """A reset that causes a reset that causes a reset ends somewhere."""
    record = record_of(ValueError("first"))
    for _ in range(100):
        record = record_of(ObjectReset("again", record))

    assert height(record) <= CAUSES_MAX
    assert isinstance(crossed(ObjectReset("last", record)), ObjectReset)


def test_a_group_tells_its_members() -> None:
    """Members cross as text; of very many only the first."""
    error = crossed(ExceptionGroup("g", [KeyError("k"), Custom("m")]))
    many = crossed(ExceptionGroup("g", [ValueError(str(number)) for number in range(1000)]))

    assert isinstance(error, RemoteError)
    assert error.name == "ExceptionGroup"
    assert error.message == "g (2 sub-exceptions)"
    assert error.members == ("KeyError: 'k'", "Custom: m")
    assert isinstance(many, RemoteError)
    assert len(many.members) == ERROR_MEMBERS_MAX


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit()])
def test_what_ends_a_process_never_crosses(error: BaseException) -> None:
    """A record is made of exceptions only."""
    with pytest.raises(TypeError, match="never crosses"):
        record_of(error)

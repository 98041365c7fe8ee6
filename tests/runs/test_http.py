"""Errors as responses, and responses as errors again."""

import json
from typing import Any

import pytest

from durasim.actors import RunRouteError, WebRequest, WebResponse
from durasim.actors.runs import http
from durasim.actors.runs.errors import (
    ExecutionFencedError,
    ExecutionFenceUnreadableError,
    FenceTransitionConflictError,
)
from durasim.actors.runs.http import (
    do_error_response,
    do_summary,
    error_from,
    execution_fenced_response,
    json_response,
    read_object,
    router_error_response,
    run_route_reason,
    run_route_response,
)
from durasim.actors.runs.refusal import is_execution_fence_refusal
from durasim.actors.runs.run_errors import (
    DeploymentIdentityError,
    InvalidRunRequestError,
    RunAlreadyExistsError,
    RunLifecycleBlockedError,
    RunNotSuspendedError,
    RunOwnerError,
    RunStateUnreadableError,
    RunTerminalConflictError,
    UnknownRunError,
    UnknownWorkflowError,
)
from durasim.wire import (
    CODES,
    DoStatusError,
    ErrorCode,
    HostClosed,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
)


class Foreign(Exception):
    """Has the fields of a refusal, and is none of ours."""

    status = 503
    reason = {"code": "EXECUTION_FENCED", "state": "draining"}  # noqa: RUF012
    message = "execution is fenced"


class Odd(DoStatusError):
    """Of the family, with a status of its own."""


def body(response: WebResponse) -> Any:
    """Return the parsed body."""
    return json.loads(response.body)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DeploymentIdentityError("not ours"), 503),
        (RunStateUnreadableError("no"), 503),
        (UnknownWorkflowError("w"), 404),
        (UnknownRunError("r"), 404),
        (RunAlreadyExistsError("r"), 409),
        (RunTerminalConflictError("ended"), 409),
        (RunNotSuspendedError("runs"), 409),
        (InvalidRunRequestError("no"), 400),
        (RunOwnerError("not yours"), 500),
        (ValueError("anything"), 500),
        (Foreign("looks like one"), 500),
        (RunRouteError(503, "handed on", {"code": "EXECUTION_FENCED"}), 500),
    ],
)
def test_an_error_without_a_reason_keeps_its_status(error: Exception, status: int) -> None:
    """The table of 4.1: message and status leave the object, and nothing else does."""
    response = do_error_response(error)

    assert (response.status, body(response)) == (status, {"error": str(error)})
    assert response.headers == {}


@pytest.mark.parametrize(
    "error",
    [
        ExecutionFencedError("draining", "run start"),
        ExecutionFenceUnreadableError("nobody can tell"),
        FenceTransitionConflictError("open", "draining"),
        RunLifecycleBlockedError("a deletion is under way", {"code": "RUN_LIFECYCLE_BLOCKED"}),
    ],
)
def test_classes_that_declare_a_reason_publish_it(error: Any) -> None:
    """Status, message and the whole reason cross; the class does not."""
    response = do_error_response(error)
    assert body(response) == {"error": str(error), "reason": error.reason}

    again = error_from(response)
    assert (again.status, again.message, again.reason) == (
        error.status,
        str(error),
        error.reason,
    )
    assert is_execution_fence_refusal(again) == is_execution_fence_refusal(error)


@pytest.mark.parametrize(("status", "shown"), [(418, 418), (200, 500), (600, 500), (True, 500)])
def test_a_status_that_is_none_of_an_error_is_shown_as_500(status: Any, shown: int) -> None:
    """Whatever a class of the family says, the object answers with an error."""
    assert do_error_response(Odd(status, "odd")).status == shown


def test_an_error_without_a_word_is_known_by_its_class() -> None:
    """Nobody is left with an empty message."""
    assert body(do_error_response(KeyError())) == {"error": "KeyError"}


def test_a_summary_is_the_body_of_an_answer() -> None:
    """Whoever asked gets JSON or an error."""
    assert do_summary(json_response(200, {"status": "success"})) == {"status": "success"}
    with pytest.raises(RunRouteError) as raised:
        do_summary(json_response(409, {"error": "no", "reason": ["anything"]}))
    assert (raised.value.status, raised.value.message) == (409, "no")
    assert list(raised.value.reason or ()) == ["anything"]


def test_case_46_a_refusal_that_cannot_be_read_is_none() -> None:
    """Strict or tolerant, an unreadable body gives no reason, so that the claim is kept."""
    torn = WebResponse(503, b'{"error": "execution is fen')

    with pytest.raises(ValueError, match="Unterminated"):
        do_summary(torn)
    error = error_from(torn)
    assert (error.status, error.message) == (503, "failed with status 503")
    assert error.reason is None
    assert not is_execution_fence_refusal(error)


@pytest.mark.parametrize("content", [b"[]", b"7", b'"text"', b'{"error": 7}'])
def test_a_body_that_says_nothing_gets_a_generic_message(content: bytes) -> None:
    """The status is all there is."""
    for read in (error_from, caught):
        error = read(WebResponse(500, content))
        assert (error.message, error.reason) == ("failed with status 500", None)


def caught(response: WebResponse) -> RunRouteError:
    """Return what `do_summary` raises."""
    with pytest.raises(RunRouteError) as raised:
        do_summary(response)
    return raised.value


@pytest.mark.parametrize("reason", [None, [], "EXECUTION_FENCED", {}, {"code": 7}, {"state": "x"}])
def test_a_5xx_without_a_proper_reason_is_a_bare_500(reason: Any) -> None:
    """What crosses to a tenant of the agents' router has a code, or nothing."""
    error = RunRouteError(503, "secret detail", reason)

    assert run_route_reason(error) is None
    assert run_route_response(error).status == 500
    assert b"secret" not in run_route_response(error).body
    assert run_route_response(RunRouteError(404, "gone", reason)).status == 404


def test_a_5xx_with_a_code_passes() -> None:
    """A refusal reaches the tenant as it is."""
    error = RunRouteError(503, "fenced", {"code": "EXECUTION_FENCED", "state": "draining"})
    response = run_route_response(error)

    assert response.status == 503
    assert body(response)["reason"] == {"code": "EXECUTION_FENCED", "state": "draining"}


@pytest.mark.parametrize(
    "error",
    [ExecutionFencedError("draining"), RunRouteError(418, "odd"), UnknownRunError("r"), OSError()],
)
def test_nothing_that_a_router_renders_is_kept(error: Exception) -> None:
    """No cache may hold an answer of a router."""
    assert router_error_response(error).headers == {"cache-control": "no-store"}


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (OutcomeUnknown("no reply within 30 s"), 504, "OUTCOME_UNKNOWN"),
        (Overloaded("RunObject/order:r", 8), 503, "OVERLOADED"),
        (HostClosed("host-1"), 503, "HOST_CLOSED"),
        (ObjectReset("the commit failed"), 500, "OBJECT_RESET"),
    ],
)
def test_what_was_lost_on_the_way_says_so(error: Exception, status: int, code: str) -> None:
    """By the runtime's code and its status; of an object that met it, it is a failure like any."""
    response = router_error_response(error)

    assert (response.status, body(response)["reason"]) == (status, {"code": code})
    assert CODES[ErrorCode[code]].status == status
    assert not is_execution_fence_refusal(error_from(response))
    assert do_error_response(error).status == 500
    assert "reason" not in body(do_error_response(error))


def test_a_gate_that_answers_by_itself_says_the_same() -> None:
    """Two ways to render one refusal, byte for byte."""
    error = ExecutionFencedError("draining", "webhook delivery")

    assert execution_fenced_response("draining", "webhook delivery") == router_error_response(error)


def test_bodies_are_json_objects_of_bounded_size() -> None:
    """Nothing is an empty object; everything else is refused with the right status."""
    assert read_object(WebRequest("POST", "/"), 10) == {}
    assert read_object(WebRequest("POST", "/", b""), 10) == {}
    assert read_object(WebRequest("POST", "/", b'{"a":1}'), 10) == {"a": 1}
    for content in (b"[1]", b"nope", b"\xff", {"a": 1}):
        with pytest.raises(InvalidRunRequestError):
            read_object(WebRequest("POST", "/", content), 10)
    with pytest.raises(http.BodyTooLargeError) as raised:
        read_object(WebRequest("POST", "/", b'{"a":12345}'), 10)
    assert do_error_response(raised.value).status == 413

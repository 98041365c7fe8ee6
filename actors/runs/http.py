"""Requests and responses between routers and objects: JSON bodies, statuses, reasons.

An error leaves an object as a response (`do_error_response`) and becomes an error again at whoever
asked (`do_summary`, `error_from`): status, message and reason survive, the class does not.
Source: spec/run-claims.md section 4.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from ...wire import (
    CODES,
    Absent,
    DoStatusError,
    ErrorCode,
    HostClosed,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
    RunRouteError,
)
from ..worker import WebRequest, WebResponse
from .errors import ExecutionFencedError
from .run_errors import InvalidRunRequestError, RunError, RunLifecycleBlockedError

__all__ = [
    "BodyTooLargeError",
    "do_error_response",
    "do_summary",
    "error_from",
    "execution_fenced_response",
    "json_bytes",
    "json_response",
    "no_store",
    "read_object",
    "router_error_response",
    "run_route_reason",
    "run_route_response",
]

NO_STORE: Final = {"cache-control": "no-store"}


class BodyTooLargeError(RunError):
    """The body is larger than it may be. Nothing of it was read."""

    status = 413


def json_bytes(value: Any) -> bytes:
    """Return *value* as JSON, the same bytes for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def json_response(status: int, value: Any) -> WebResponse:
    """Return a response whose body is *value*."""
    return WebResponse(status, json_bytes(value))


def no_store(response: WebResponse) -> WebResponse:
    """Return *response* as no cache may keep it."""
    return WebResponse(response.status, response.body, {**response.headers, **NO_STORE})


def read_object(request: WebRequest, bytes_max: int) -> dict[str, Any]:
    """Return the body of *request*, which has to be a JSON object; no body is an empty one.

    Raises:
        BodyTooLargeError: it has more than *bytes_max* bytes.
        InvalidRunRequestError: it is none.
    """
    body = request.body
    if isinstance(body, Absent) or body == b"":
        return {}
    if not isinstance(body, bytes):
        raise InvalidRunRequestError("the body is not bytes of JSON")
    if len(body) > bytes_max:
        raise BodyTooLargeError(f"the body has more than {bytes_max} bytes")
    try:
        value = json.loads(body)
    except ValueError:
        raise InvalidRunRequestError("the body is no JSON") from None
    if not isinstance(value, dict):
        raise InvalidRunRequestError("the body is no JSON object")
    return cast(dict[str, Any], value)


def error_body(message: str, reason: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the body of an error; an absent reason is left out."""
    return {"error": message} if reason is None else {"error": message, "reason": dict(reason)}


# ---- the side of an object


def published_reason(error: Exception) -> Mapping[str, Any] | None:
    """Return the reason that an object shows, for those classes only that have declared one.

    Having the same fields is not enough: an error of somebody's step could have them, too.
    """
    if isinstance(error, DoStatusError | RunLifecycleBlockedError):
        return error.reason
    return None


def status_of(error: Exception) -> int:
    """Return the status that *error* leaves an object with."""
    if isinstance(error, RunError):
        return error.status
    if isinstance(error, DoStatusError):
        status: object = error.status
        if type(status) is int and 400 <= status <= 599:
            return status
    return 500


def message_of(error: BaseException) -> str:
    """Return what *error* says; an error without a word is known by its class."""
    return str(error) or type(error).__name__


def do_error_response(error: Exception) -> WebResponse:
    """Return what an object answers in place of *error*."""
    return json_response(status_of(error), error_body(message_of(error), published_reason(error)))


def execution_fenced_response(state: str, entry: str | None = None) -> WebResponse:
    """Return the refusal of a gate that answers by itself, as the same error would be rendered."""
    return no_store(do_error_response(ExecutionFencedError(state, entry)))


# ---- the side of whoever asked


def reason_of(body: Any) -> Any:
    """Return the reason in the body of an error, untouched; None if there is none."""
    return cast(dict[str, Any], body).get("reason") if isinstance(body, dict) else None


def failed(response: WebResponse, body: Any) -> RunRouteError:
    """Return the error that *response*, whose parsed body is *body*, stands for."""
    said = cast(dict[str, Any], body).get("error") if isinstance(body, dict) else None
    message = said if isinstance(said, str) else f"failed with status {response.status}"
    return RunRouteError(response.status, message, reason_of(body))


def is_ok(response: WebResponse) -> bool:
    """Whether *response* is no error."""
    return 200 <= response.status <= 299


def do_summary(response: WebResponse) -> Any:
    """Return the body of *response*.

    Raises:
        RunRouteError: it is an error; status, message and reason are those of the object.
        ValueError: its body is no JSON, so that nobody can tell what it says.
    """
    body = json.loads(response.body if isinstance(response.body, bytes) else b"")
    if is_ok(response):
        return body
    raise failed(response, body)


def error_from(response: WebResponse) -> RunRouteError:
    """Return the error that *response* stands for; one that cannot be read has no reason."""
    try:
        body = json.loads(response.body if isinstance(response.body, bytes) else b"")
    except ValueError:
        body = None
    return failed(response, body)


# ---- the side of a tenant


def run_route_reason(error: RunRouteError) -> dict[str, Any] | None:
    """Return the reason of *error* if it has the form of one: an object with a code in it."""
    reason = error.reason
    if not isinstance(reason, dict):
        return None
    return reason if isinstance(reason.get("code"), str) else None


def run_route_response(error: RunRouteError) -> WebResponse:
    """Render an error of an object for routers that pass a 5xx through only with a reason."""
    reason = run_route_reason(error)
    if error.status >= 500 and reason is None:
        return no_store(json_response(500, {"error": "the request failed"}))
    return no_store(json_response(error.status, error_body(error.message, reason)))


ON_THE_WAY: Final[Mapping[type[Exception], ErrorCode]] = {
    Overloaded: ErrorCode.OVERLOADED,
    HostClosed: ErrorCode.HOST_CLOSED,
    ObjectReset: ErrorCode.OBJECT_RESET,
    OutcomeUnknown: ErrorCode.OUTCOME_UNKNOWN,
}
"""What a router meets on the way to an object. An object that meets it has failed by itself."""


def router_error_response(error: Exception) -> WebResponse:
    """Render any error for a tenant; a request lost on its way says so by the runtime's own code.

    The status is that of the code (`CODES`). None of them is a refusal of the fence.
    """
    if isinstance(error, RunRouteError):
        return no_store(json_response(error.status, error_body(error.message, error.reason)))
    code = ON_THE_WAY.get(type(error))
    if code is None:
        return no_store(do_error_response(error))
    body = error_body(message_of(error), {"code": code.name})
    return no_store(json_response(CODES[code].status, body))

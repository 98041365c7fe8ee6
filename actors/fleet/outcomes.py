"""How a call ends at its caller: granted, refused or uncertain, apart in the types.

An uncertain mutation may have happened, may still happen, or may never: it buys exactly one read of
one named record by the same living stack, and nothing else. Source: spec/deploy-fence.md 0.3.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, Generic, TypeVar, cast

import attrs

from ...wire import (
    HostClosed,
    MalformedRequest,
    MethodNotFound,
    Overloaded,
    RunRouteError,
    UnknownClass,
    nothing_ran,
)
from ..worker import WebResponse
from .codes import CODES, FleetRefused

__all__ = ["Granted", "Outcome", "Refused", "Uncertain", "answered", "attempt"]

T = TypeVar("T")

UNDELIVERED: Final = (Overloaded, HostClosed, UnknownClass, MethodNotFound, MalformedRequest)
"""The platform's own answers that prove that nothing ran."""
NO_SUCH: Final = (UnknownClass, MethodNotFound)


@attrs.frozen
class Granted(Generic[T]):
    """A well-formed reply that says yes.

    Attributes:
        value: what it said.
    """

    value: T


@attrs.frozen
class Refused:
    """A well-formed reply that says no, or an answer that proves that nothing ran.

    Attributes:
        code: a row of `CODES`; NOT_FOUND for a route or method that the far side does not have,
            UNDELIVERED for what never reached it.
        detail: for people.
        reason: everything else that the refusal said.
    """

    code: str
    detail: str = ""
    reason: Mapping[str, Any] = attrs.field(factory=dict[str, Any], eq=False)


@attrs.frozen
class Uncertain:
    """Anything else: whatever was asked may have happened, may still happen, or may never.

    Attributes:
        why: for people.
    """

    why: str


Outcome = Granted[T] | Refused | Uncertain
"""How any call of the fleet ends at its caller: one of three, apart in the types."""


def outcome_of(error: Exception) -> "Refused | Uncertain":
    """Return what *error*, raised by a call, says."""
    if isinstance(error, UNDELIVERED):
        return Refused("NOT_FOUND" if isinstance(error, NO_SUCH) else "UNDELIVERED", str(error))
    if isinstance(error, (FleetRefused, RunRouteError)):
        reason = error.reason or {}
        code = reason.get("code")
        if isinstance(code, str) and code in CODES and nothing_ran(code):
            return Refused(code, str(reason.get("detail", "")), reason)
    return Uncertain(f"{type(error).__name__}: {error}")


async def attempt(call: Awaitable[T]) -> Outcome[T]:
    """Await *call*, a call of a stub, and return how it ended; errors never leave here."""
    try:
        return Granted(await call)
    except Exception as error:
        return outcome_of(error)


async def answered(call: Awaitable[WebResponse]) -> Outcome[Mapping[str, Any]]:
    """Await *call*, a request to a worker, and return how it ended.

    Granted is a mapping whose `ok` is True, with status 200. Refused is one whose `ok` is False
    with a known code, or a bare 401, 404 or 405 of the worker's table. All else is uncertain: a 5xx
    without our body, a body of another form.
    """
    outcome = await attempt(call)
    if not isinstance(outcome, Granted):
        return outcome
    response = outcome.value
    body: object = response.body
    if isinstance(body, Mapping):
        fields = cast("Mapping[str, Any]", body)
        code = fields.get("code")
        if fields.get("ok") is True and response.status == 200:
            return Granted(fields)
        if fields.get("ok") is False and isinstance(code, str) and code in CODES:
            if CODES[code].certain:
                return Refused(code, str(fields.get("detail", "")), fields)
            return Uncertain(f"{code}: {fields.get('detail', '')}")
    elif response.status in (401, 404, 405):
        return Refused("UNAUTHORIZED" if response.status == 401 else "NOT_FOUND")
    return Uncertain(f"status {response.status} without a body of ours")

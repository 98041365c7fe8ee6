"""What checkers look for in the log: a fence that lives, a request of a route, its answer."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from ...actors import Address, WebRequest, WebResponse
from ..machine import EPOCH_US
from .log import Answer, Call, Change, Commit, Log, Seen, fence_in

__all__ = [
    "ADMISSION",
    "FETCH",
    "Asked",
    "answered",
    "asked",
    "drain_change",
    "has_ended",
    "living_fence",
    "new_permits",
    "registry_ms",
    "table",
]

ADMISSION: Final = "deploy:admission:"
FETCH: Final = ("call FleetRouter.fetch", "answer FleetRouter.fetch")


def registry_ms(log: Log) -> int:
    """Return the Registry's own time, milliseconds since 1970."""
    world = log.world
    skew_us = world.place(Address("Registry", "registry")).skew_us
    return (EPOCH_US + world.kernel.now_us + skew_us) // 1_000


def has_ended(drain: Any, now: int) -> bool:
    """Whether a drain row has ended by itself at *now*: at its end, or, if its lift was asked, at
    that of its holds.
    """
    holds_until = drain.get("holdsUntil")
    is_held = bool(drain.get("holds")) and drain.get("liftAsked") is True
    is_let_go = is_held and holds_until is not None and holds_until <= now
    return drain["until"] <= now or is_let_go


def living_fence(log: Log, drain: Any) -> dict[str, Any] | None:
    """Return the fence that stands in a drain row and lives by the Registry's clock."""
    if drain is None or has_ended(drain, registry_ms(log)):
        return None
    return fence_in(drain)


def drain_change(seen: Seen[Any]) -> Change | None:
    """Return what a commit of the Registry did to its drain; None for nothing."""
    return next((each for each in seen.entry.data.changes if each.key == "drain"), None)


def new_permits(commit: Commit) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the id and row of each permit that a commit has written."""
    for change in commit.of(ADMISSION):
        if change.before is None and change.after is not None:
            yield change.key.removeprefix(ADMISSION), change.after


class Asked(NamedTuple):
    """One request of a route."""

    who: str
    """Who asked."""
    method: str
    path: str
    body: Mapping[str, Any]
    request: WebRequest


def asked(call: Call) -> Asked | None:
    """Return what *call*, of the router, asks; None if it cannot be read."""
    request: object = call.arguments[0] if call.arguments else None
    if not isinstance(request, WebRequest):
        return None
    return Asked(call.caller, request.method, request.path, table(request.body), request)


def answered(answer: Answer) -> tuple[int, Mapping[str, Any]]:
    """Return status and body of an answer of the router; status 0 if it is none."""
    response: object = answer.value if answer.is_granted else None
    if not isinstance(response, WebResponse):
        return 0, {}
    return response.status, table(response.body)


def table(value: object) -> Mapping[str, Any]:
    """Return *value* if it is a mapping, and else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}

"""What every member says of itself when a gate asks: the member views of one reading.

A gate that needs a quiet or an idle fleet judges all views; one that could not be had is a view
that says so, and never quiet (P5.4). Source: spec/deploy-fence.md C.0, C.1.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..context import Context
from .documents import as_mapping
from .outcomes import Granted, Outcome, Refused, attempt
from .resident import Resident

__all__ = [
    "DEPLOY_STATES",
    "IDLE_STATES",
    "View",
    "failed_view",
    "is_idle",
    "is_quiet",
    "read_probes",
    "read_views",
]

View = dict[str, Any]
"""`resource`, `physicalMember`, `activation` and `live`: what the member said, or `{error}`."""

DEPLOY_STATES: Final = frozenset({"warm", "degraded", "down", "refreshing", "restoring"})
"""Lifecycle states in which a deploy may meet a member: what is interrupted resumes (I-01)."""
IDLE_STATES: Final = frozenset({"warm", "degraded", "down"})
"""Lifecycle states in which a recovery may meet a member."""


async def read_views(context: Context, members: Iterable[Mapping[str, Any]]) -> list[View]:
    """Ask every one of *members* at once, and return their views in that order."""
    asked = [
        (member, context.objects.get(Resident, member["resource"]).deploy_info())
        for member in members
    ]
    return [view_of(member, await attempt(call)) for member, call in asked]


async def read_probes(context: Context, views: list[View]) -> list[View]:
    """Return *views* with what the process probe of each member said; None if it failed."""
    asked = [
        (view, context.objects.get(Resident, view["resource"]).recovery_probe()) for view in views
    ]
    probed: list[View] = []
    for view, call in asked:
        outcome = await attempt(call)
        said = as_mapping(outcome.value) if isinstance(outcome, Granted) else None
        probed.append({**view, "activeProcesses": (said or {}).get("activeProcesses")})
    return probed


def view_of(member: Mapping[str, Any], outcome: Outcome[Any]) -> View:
    """Return the view that *outcome*, of asking *member*, is."""
    if isinstance(outcome, Granted):
        live = as_mapping(outcome.value)
        if live is None:
            return failed_view(member, "malformed")
        return {**named(member), "live": dict(live)}
    return failed_view(member, outcome.code if isinstance(outcome, Refused) else outcome.why)


def failed_view(member: Mapping[str, Any], why: str) -> View:
    """Return the view of a member that could not be read."""
    return {**named(member), "live": {"error": why}}


def named(member: Mapping[str, Any]) -> View:
    """Return which member it is."""
    return {key: member.get(key) for key in ("resource", "physicalMember", "activation")}


def is_quiet(view: View) -> bool:
    """Whether the member executes nothing, knows all its owners, and is in a state for a deploy."""
    return has_none_executing(view) and view["live"].get("state") in DEPLOY_STATES


def is_idle(view: View) -> bool:
    """Whether the member is quiet in the stricter states, and has no process of the pool's."""
    return (
        has_none_executing(view)
        and view["live"].get("state") in IDLE_STATES
        and is_zero(view.get("activeProcesses"))
    )


def has_none_executing(view: View) -> bool:
    """Whether the member counted, and counted neither executing nor unknown runs."""
    live = view["live"]
    counts = (live.get("executingRuns"), live.get("unknownRuns"))
    return "error" not in live and all(map(is_zero, counts))


def is_zero(value: object) -> bool:
    """Whether *value* is the integer 0: neither False nor absent is."""
    return type(value) is int and value == 0

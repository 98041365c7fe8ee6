"""The check right before a deploy command: one fence read, and what it must say (OP-39).

A reply that lacks a part is malformed, and refused like one that says no: there is no fallback to a
count (P7.1). Source: spec/deploy-fence.md C.6, H.3.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ..context import Context
from ..program import Program
from ..worker import WebRequest
from .documents import as_int, as_list, as_mapping, as_text
from .outcomes import Granted, Outcome, Refused, answered
from .router import FleetRouter

__all__ = ["FENCE_CALL_S", "NotReady", "Preflight", "Verdict", "preflight", "read_verdict"]

FENCE_CALL_S: Final = 600.0
"""Seconds to wait for a verdict: longer than the handler can take, which asks everybody at once, so
that a ready verdict is not given up while it is still being made."""

MISSING: Final = "FENCE_ENDPOINT_MISSING"


@attrs.frozen(kw_only=True)
class Verdict:
    """A well-formed reply of the fence route.

    Attributes:
        is_ready: whether the fleet is quiet under a fence that stands.
        since: when the drain began, milliseconds by the Registry's clock.
        until: when it ends.
        fence_id: names the fence; None at a producer that gives none.
        drain_id: names the drain in which it stood, as the fence does.
        worker_version: the Worker that answered.
        members: physical members, in the order of the Registry's list.
        admissions: permits that count; None if it did not say.
        problem: what it said against being ready.
    """

    is_ready: bool
    since: int
    until: int
    fence_id: str | None
    worker_version: str
    members: tuple[str, ...]
    admissions: int | None
    problem: str
    drain_id: str | None = None


@attrs.frozen
class NotReady:
    """No verdict to go on.

    Attributes:
        code: why; a row of `CODES`.
        detail: for people.
        is_final: whether another attempt is of no use.
    """

    code: str
    detail: str
    is_final: bool = False


def read_verdict(body: Mapping[str, Any]) -> Verdict | None:
    """Return what a reply of a producer of any level says, or None if a part of it is malformed."""
    draining = as_mapping(body.get("draining")) or {}
    since, until = as_int(draining.get("since")), as_int(draining.get("until"))
    version, at = as_text(draining.get("swapVersion")), as_int(draining.get("swapAt"))
    ready, stands = body.get("fenceReady"), draining.get("swapFence")
    members = members_of(body)
    if since is None or until is None or not version or at is None or members is None:
        return None
    if not isinstance(ready, bool) or not isinstance(stands, bool) or (ready and not stands):
        return None
    if not agrees(body, version, ready=ready):
        return None
    return Verdict(
        is_ready=ready,
        since=since,
        until=until,
        fence_id=as_text(draining.get("fenceId")),
        drain_id=as_text(draining.get("drainId")),
        worker_version=version,
        members=members,
        admissions=as_int(body.get("activeAdmissions")),
        problem=as_text(body.get("problem")) or ("" if ready else "a member is not quiet"),
    )


def members_of(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the physical members that a reply lists, or None unless each is there once."""
    raw = body.get("residents")
    if not isinstance(raw, list):
        return None
    rows = [as_mapping(each) or {} for each in as_list(body.get("residents"))]
    named = [as_text(row.get("physicalMember")) or as_text(row.get("resource")) for row in rows]
    found = tuple(each for each in named if each)
    return found if len(found) == len(set(found)) == len(rows) else None


def agrees(body: Mapping[str, Any], version: str, *, ready: bool) -> bool:
    """Whether the diagnostic, which older producers do not send, agrees with the rest."""
    if "deployDiagnostic" not in body:
        return True
    said = as_mapping(body["deployDiagnostic"]) or {}
    producer, fence = as_mapping(said.get("producer")), as_mapping(said.get("fence"))
    if producer is None or fence is None or producer.get("workerVersion") != version:
        return False
    return not ready or (fence.get("status"), said.get("readback")) == ("standing", "matched")


def judged(outcome: Outcome[Mapping[str, Any]]) -> Verdict | NotReady:
    """Return the verdict that *outcome*, of the one fence read of an attempt, is."""
    if isinstance(outcome, Granted):
        verdict = read_verdict(outcome.value)
        return verdict or NotReady("FENCE_READ_FAILED", "the reply is malformed")
    if isinstance(outcome, Refused):
        if outcome.code == "NOT_FOUND":
            return NotReady(MISSING, "the producer has no deploy fence", is_final=True)
        if outcome.code == "UNAUTHORIZED":
            return NotReady("UNAUTHORIZED", "the credential is not one of drains", is_final=True)
        return NotReady(outcome.code, outcome.detail)
    return NotReady("FENCE_READ_FAILED", outcome.why)


async def preflight(context: Context, bearer: str) -> Verdict | NotReady:
    """Read the fence once. Whatever it does not positively say, is no."""
    router = context.objects.worker(FleetRouter, deadline_s=FENCE_CALL_S)
    headers = {"authorization": f"Bearer {bearer}"}
    return judged(await answered(router.fetch(WebRequest("POST", "/deploy-fence", {}, headers))))


class Preflight(Program):
    """The check as a program of its own.

    Attributes:
        verdict: what it found, once it has ended.
    """

    def __init__(self, bearer: str) -> None:
        """Check with the credential of drains."""
        self.verdict: Verdict | NotReady | None = None
        self._bearer = bearer

    async def run(self) -> None:
        """Check once."""
        self.verdict = await preflight(self, self._bearer)

"""`POST /deploy-fence`: close the fleet, then read it, then say whether it is quiet (OP-03).

One attempt sets its own fence before the first member is asked, verifies it after the last has
answered, and takes it back unless the verdict is ready. Source: spec/deploy-fence.md C.1.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import attrs

from ..context import Context
from .codes import refused
from .documents import as_int, as_mapping, as_text
from .identities import Producer
from .outcomes import Granted, Outcome, attempt
from .registry import Registry
from .requests import Unanswered, value_of
from .views import View, is_quiet, read_views
from .wiring import REGISTRY, fleet_of

__all__ = [
    "Readback",
    "Reading",
    "deploy_fence",
    "diagnostic",
    "is_ready",
    "known_producer",
    "producer_document",
    "quiet_read",
    "set_fence",
    "take_back",
]

FenceStatus = Literal["standing", "withdrawn", "withdraw-uncertain", "absent"]
ReadbackStatus = Literal["matched", "mismatched", "unreadable", "not-attempted"]

NO_MAINTENANCE: Final = {"status": "none"}
"""No policy is bound, so no hold was to be installed."""


@attrs.frozen
class Readback:
    """What re-reading the drain showed of a fence.

    Attributes:
        status: of the fence.
        readback: whether the drain that was read is as it has to be.
        draining: the drain that was read; None if there is none or it could not be read.
    """

    status: FenceStatus
    readback: ReadbackStatus
    draining: dict[str, Any] | None = None


@attrs.frozen
class Reading:
    """One quiet read under a fence.

    Attributes:
        views: of every member that the Registry listed.
        is_verified: whether the fence still stood afterwards, with room, and no permit counted.
        counted: permits that count; None if the Registry did not say.
        problem: why it is not verified.
        fence: what the drain showed last.
    """

    views: Sequence[View]
    is_verified: bool
    counted: int | None
    problem: str | None
    fence: Readback


def known_producer(context: Context) -> Producer:
    """Return the Worker that runs, which has to know its own version and upload time.

    Raises:
        FleetRefused: PRODUCER_IDENTITY_UNKNOWN. Nothing was written.
    """
    producer = fleet_of(context).producer
    if producer.version is None or producer.version.uploaded_at is None:
        raise refused("PRODUCER_IDENTITY_UNKNOWN")
    return producer


def producer_document(producer: Producer) -> dict[str, Any]:
    """Return who answers, each identity in a field of its own."""
    version = producer.version
    return {
        **producer.build.wire(),
        "workerVersion": None if version is None else version.id,
        "uploadedAt": None if version is None else version.uploaded_at,
    }


async def deploy_fence(context: Context) -> dict[str, Any]:
    """Try once to make the fleet quiet; a verdict that is not ready leaves no fence unsaid.

    Raises:
        FleetRefused: PRODUCER_IDENTITY_UNKNOWN or FENCE_UNAVAILABLE: no fence was set.
            FENCE_READ_FAILED: the reading broke off; the diagnostic says what became of the fence.
    """
    producer = known_producer(context)
    fence = await set_fence(context, "preflight", producer, ())
    fence_id = fence["fenceId"]
    try:
        reading = await quiet_read(context, fence_id, producer, ())
    except Exception as error:
        back = await take_back(context, fence_id)
        raise refused(
            "FENCE_READ_FAILED",
            str(error),
            deployDiagnostic=diagnostic(producer, fence_id, back, None),
        ) from error
    ready = is_ready(reading)
    fact = reading.fence if ready else await take_back(context, fence_id)
    return {
        "ok": True,
        "draining": fact.draining,
        "fenceReady": ready,
        "activeAdmissions": reading.counted,
        "residents": list(reading.views),
        "problem": reading.problem,
        "deployDiagnostic": diagnostic(producer, fence_id, fact, reading.counted),
    }


async def set_fence(
    context: Context, kind: str, producer: Producer, ends: Sequence[int]
) -> dict[str, Any]:
    """Set a fence of this attempt's own, with the reserve left to every end (OP-04).

    Raises:
        FleetRefused: FENCE_UNAVAILABLE: none was set. FENCE_READ_FAILED: nobody can say; one that
            was set ends with the drain.
    """
    registry = context.objects.get(Registry, REGISTRY)
    owner = {"kind": kind, "ref": str(context.uuid())}
    outcome = await attempt(registry.set_fence(owner, producer.wire(), list(ends)))
    try:
        fence = as_mapping(value_of(outcome))
        if fence is None or as_text(fence.get("fenceId")) is None:
            raise Unanswered("the fence that was set has no name")
    except Unanswered as error:
        unknown = Readback("withdraw-uncertain", "not-attempted")
        raise refused(
            "FENCE_READ_FAILED",
            f"nobody can say whether a fence was set: {error}",
            deployDiagnostic=diagnostic(producer, None, unknown, None),
        ) from error
    return dict(fence)


async def quiet_read(
    context: Context, fence_id: str, producer: Producer, ends: Sequence[int]
) -> Reading:
    """Read every member under the fence, then verify the fence, then read it back.

    Raises:
        Exception: the Registry refused or did not answer: nothing is known of the fleet.
    """
    version = producer.version
    assert version is not None
    registry = context.objects.get(Registry, REGISTRY)
    members = value_of(await attempt(registry.list_members()))
    views = await read_views(context, members)
    verdict = as_mapping(
        value_of(await attempt(registry.verify_fence(fence_id, version.id, list(ends))))
    )
    said = verdict or {}
    draining = as_mapping(value_of(await attempt(registry.draining())))
    return Reading(
        views=views,
        is_verified=said.get("verified") is True,
        counted=as_int(said.get("counted")),
        problem=as_text(said.get("problem")),
        fence=standing_fence(draining, fence_id),
    )


def standing_fence(draining: Any, fence_id: str) -> Readback:
    """Return what a read of the drain shows of a fence that ought to stand."""
    drain = as_mapping(draining)
    found = None if drain is None else dict(drain)
    if stands(drain, fence_id):
        return Readback("standing", "matched", found)
    return Readback("absent", "mismatched", found)


def stands(drain: Any, fence_id: str) -> bool:
    """Whether the fence of that name stands in the drain that was read."""
    fields = as_mapping(drain) or {}
    return fields.get("swapFence") is True and fields.get("fenceId") == fence_id


def is_ready(reading: Reading) -> bool:
    """Whether the fleet is quiet under a fence that stands: every member, and every permit."""
    return (
        reading.is_verified
        and reading.counted == 0
        and reading.fence.readback == "matched"
        and all(is_quiet(view) for view in reading.views)
    )


async def take_back(context: Context, fence_id: str) -> Readback:
    """Withdraw the fence of that name, and say what one read of the drain shows (OP-06).

    "withdrawn" is said only after the fence was seen gone, whatever the withdrawal answered.
    """
    registry = context.objects.get(Registry, REGISTRY)
    await attempt(registry.withdraw_fence(fence_id))
    outcome = await attempt(context.objects.get(Registry, REGISTRY).draining())
    return withdrawn_fence(outcome, fence_id)


def withdrawn_fence(outcome: Outcome[Any], fence_id: str) -> Readback:
    """Return what a read of the drain shows of a fence that ought to be gone."""
    if not isinstance(outcome, Granted):
        return Readback("withdraw-uncertain", "unreadable")
    drain = as_mapping(outcome.value)
    found = None if drain is None else dict(drain)
    if stands(drain, fence_id):
        return Readback("standing", "mismatched", found)
    return Readback("withdrawn", "matched", found)


def diagnostic(
    producer: Producer, fence_id: str | None, fact: Readback, counted: int | None
) -> dict[str, Any]:
    """Return who answered, what became of the fence, and how that is known."""
    fence: dict[str, Any] = {"status": fact.status}
    if fence_id is not None:
        fence["fenceId"] = fence_id
    return {
        "producer": producer_document(producer),
        "fence": fence,
        "readback": fact.readback,
        "counted": counted,
        "excluded": None,
        "maintenanceInit": dict(NO_MAINTENANCE),
    }

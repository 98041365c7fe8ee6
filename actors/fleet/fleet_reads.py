"""What may be read of the fleet: its members as they are, and who answers (OP-28, OP-36).

Reading wakes nothing and changes nothing. Source: spec/deploy-fence.md C.5.
"""

from typing import Any

from ..context import Context
from .documents import as_mapping
from .fencing import Readback, diagnostic, producer_document
from .outcomes import attempt
from .registry import Registry
from .requests import value_of
from .views import read_views
from .wiring import REGISTRY, fleet_of

__all__ = ["health", "residents"]


async def residents(context: Context) -> dict[str, Any]:
    """Return every member with what it says of itself, and the drain.

    Raises:
        Unanswered: the Registry could not be read.
    """
    registry = context.objects.get(Registry, REGISTRY)
    members = value_of(await attempt(registry.list_members()))
    views = await read_views(context, members)
    draining = as_mapping(value_of(await attempt(registry.draining())))
    found = None if draining is None else dict(draining)
    return {
        "ok": True,
        "count": len(members),
        "residents": views,
        "draining": found,
        "maintenance": None,
        "riskWindow": None,
        "deployDiagnostic": diagnostic(fleet_of(context).producer, *standing(found), counted=None),
    }


def standing(draining: dict[str, Any] | None) -> tuple[str | None, Readback]:
    """Return which fence stands in the drain that was read, and that it was read."""
    if draining is None or draining.get("swapFence") is not True:
        return None, Readback("absent", "matched", draining)
    return draining.get("fenceId"), Readback("standing", "matched", draining)


def health(context: Context) -> dict[str, Any]:
    """Return which build answers, and what it can do. Touches no object."""
    producer = fleet_of(context).producer
    said = producer_document(producer)
    return {
        "ok": True,
        "build": producer.build.wire(),
        "workerVersion": said["workerVersion"],
        "uploadedAt": said["uploadedAt"],
        "capabilities": list(producer.capabilities),
    }

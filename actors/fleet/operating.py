"""Routes of bots and of onboarding: each is handed to the member of its resource (OP-29 to OP-32).

The permit is the member's to take: its stack does the work. Source: spec/deploy-fence.md C.2.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ..context import Context
from ..worker import WebRequest
from .admission import with_permit
from .codes import refused
from .documents import as_int, as_mapping
from .outcomes import attempt
from .registry import Registry
from .requests import fields_of, integer_field, text_field, value_of
from .resident import Resident
from .wiring import REGISTRY

__all__ = ["OPERATION_S", "offboard", "onboard", "operate"]

OPERATION_S: Final = 7_200.0
"""Seconds to wait for a member: work in a container takes what it takes."""

ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"attach": ("user",), "detach": (), "exec": ("work",), "op": ("work",), "set_deadline": ()}
)
"""Method of a member to the further texts that it takes."""


async def operate(context: Context, method: str, request: WebRequest) -> dict[str, Any]:
    """Hand the request to the member of its resource.

    Raises:
        FleetRefused: by the member's code: nothing was begun.
        Unanswered: nobody can say whether it was.
    """
    fields = fields_of(request)
    resident = context.objects.get(Resident, text_field(fields, "resource"), deadline_s=OPERATION_S)
    arguments: list[Any] = [
        text_field(fields, "thread"),
        text_field(fields, "runId"),
        integer_field(fields, "ownerGen"),
        integer_field(fields, "ownerFence"),
        origin_of(fields),
        *(text_field(fields, name) for name in ARGUMENTS[method]),
    ]
    if method == "set_deadline":
        arguments.append(as_int(fields.get("deadlineAt")))
    said = as_mapping(value_of(await attempt(getattr(resident, method)(*arguments)))) or {}
    return {**said, "ok": True}


def origin_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the original request was, as its caller describes it.

    Raises:
        FleetRefused: BAD_REQUEST.
    """
    origin = as_mapping(fields.get("origin"))
    if origin is None:
        raise refused("BAD_REQUEST", "origin: the original request is needed")
    return dict(origin)


async def onboard(context: Context, request: WebRequest) -> dict[str, Any]:
    """Have a new member add itself; it is pending until its container is whole."""
    fields = fields_of(request)
    resident = context.objects.get(Resident, text_field(fields, "resource"), deadline_s=OPERATION_S)
    physical = text_field(fields, "physicalMember")
    said = value_of(await attempt(resident.onboard(physical, origin_of(fields))))
    return {**said, "ok": True}


async def offboard(context: Context, request: WebRequest) -> dict[str, Any]:
    """Take a member off the list, under a permit; whatever it keeps stays where it is."""
    fields = fields_of(request)
    resource = text_field(fields, "resource")
    origin = {
        **origin_of(fields),
        "method": request.method,
        "route": "/offboard",
        "resource": resource,
    }

    async def work(permit: str) -> dict[str, Any]:
        del permit
        registry = context.objects.get(Registry, REGISTRY)
        return value_of(await attempt(registry.remove_member(resource)))

    return {"ok": True, "member": await with_permit(context, "fleet", origin, work)}

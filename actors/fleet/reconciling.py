"""`POST /reconcile`: drive every member to one frozen image target (OP-24).

Nothing starts without a complete build and target; there is no older behaviour to fall back to
(P35.5). Source: spec/deploy-fence.md C.5.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ..context import Context
from ..worker import WebRequest
from .admission import with_permit
from .codes import refused
from .documents import as_mapping, as_text
from .identities import ImageTarget, is_commit
from .outcomes import Granted, Refused, attempt
from .registry import Registry
from .requests import fields_of, value_of
from .resident import Resident
from .wiring import REGISTRY, fleet_of

__all__ = ["PROTOCOL", "ReconcileOrder", "reconcile", "reconcile_members"]

PROTOCOL: Final = 2
"""Of reconcile requests that carry a target; every other one is incompatible."""
RESULTS: Final = frozenset({"restarted", "current", "inactive", "deferred", "error"})


@attrs.frozen
class ReconcileOrder:
    """What every member is to run.

    Attributes:
        build: artifact id of the Worker that asks and answers.
        commit: of that build.
        target: frozen by whoever deploys.
    """

    build: str
    commit: str
    target: ImageTarget

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> "ReconcileOrder":
        """Return the order that a body says.

        Raises:
            FleetRefused: RECONCILE_CALLER_INCOMPATIBLE: a part is missing or has not the form.
        """
        build, commit = as_text(fields.get("build")), fields.get("commit")
        target = ImageTarget.parse(fields.get("target"))
        if fields.get("protocol") != PROTOCOL or not build or not is_commit(commit):
            raise refused("RECONCILE_CALLER_INCOMPATIBLE")
        if target is None:
            raise refused("RECONCILE_CALLER_INCOMPATIBLE", "target: missing or malformed")
        return cls(build, commit, target)


def require_own_build(context: Context, order: ReconcileOrder) -> None:
    """Refuse an order for another build than the one that runs.

    Raises:
        FleetRefused: BUILD_MISMATCH. No member was touched.
    """
    build = fleet_of(context).producer.build
    if (order.build, order.commit) != (build.artifact_id, build.commit):
        raise refused("BUILD_MISMATCH")


async def reconcile(context: Context, request: WebRequest) -> dict[str, Any]:
    """Reconcile every member under a permit, and return what each of them said.

    Raises:
        FleetRefused: nothing was started; or, without certainty, OUTCOME_UNKNOWN of the permit.
        Unanswered: the members could not be listed.
    """
    order = ReconcileOrder.parse(fields_of(request))
    require_own_build(context, order)
    origin = {
        "method": request.method,
        "route": "/reconcile",
        "resource": "fleet",
        "actor": "drain",
        "request": str(context.uuid()),
    }

    async def work(permit: str) -> list[dict[str, Any]]:
        del permit
        return await reconcile_members(context, order)

    rows = await with_permit(context, "reconcile", origin, work)
    return {"ok": True, "build": order.build, "target": order.target.wire(), "reconciled": rows}


async def reconcile_members(context: Context, order: ReconcileOrder) -> list[dict[str, Any]]:
    """Ask every member at once; one whose call failed is held from outside (OP-27).

    Raises:
        Unanswered: the Registry could not be read. No member was touched.
    """
    registry = context.objects.get(Registry, REGISTRY)
    before = reports_of(value_of(await attempt(registry.draining())))
    members = value_of(await attempt(registry.list_members()))
    asked = [
        (
            member,
            context.objects.get(Resident, member["resource"]).reconcile_for_deploy(
                member["resource"], order.build, order.target.wire()
            ),
        )
        for member in members
    ]
    rows: list[dict[str, Any]] = []
    for member, call in asked:
        outcome = await attempt(call)
        said = as_mapping(outcome.value) if isinstance(outcome, Granted) else None
        if said is None or said.get("result") not in RESULTS:
            since = before.get(member["resource"], -1) + 1
            await hold_from_outside(context, member["resource"], since)
            code = outcome.code if isinstance(outcome, Refused) else None
            said = {"result": "error", "verified": False, "code": code}
        rows.append(row_of(member, said))
    return rows


def reports_of(draining: object) -> Mapping[str, int]:
    """Return when each member reported last in the drain that was read: a later report is one that
    came since, by the Registry's own clock."""
    reports = as_mapping((as_mapping(draining) or {}).get("reportedAt")) or {}
    return {resource: at for resource, at in reports.items() if type(at) is int}


async def hold_from_outside(context: Context, resource: str, since: int) -> None:
    """Keep the drain for a member that did not answer, unless it has reported since *since*."""
    registry = context.objects.get(Registry, REGISTRY)
    await attempt(registry.hold_for(resource, None, since))


def row_of(member: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what one member said, beside which member it is."""
    row = {
        "resource": member.get("resource"),
        "physicalMember": member.get("physicalMember"),
        "result": said.get("result"),
        "verified": said.get("verified") is True,
        "build": said.get("build"),
        "target": said.get("target"),
    }
    return row if said.get("code") is None else {**row, "code": said["code"]}

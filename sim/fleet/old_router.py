"""The router of older levels: fewer routes, and answers that say less (section H)."""

from collections.abc import Mapping
from typing import Any, Final, cast

from ...actors import WebRequest, WebResponse
from ...actors.fleet import FleetRouter, Granted, Registry, Resident, attempt, fleet_of
from ...wire import content_hash
from .old_registry import RegistryL2

__all__ = ["RouterL0", "RouterL1", "RouterL2", "RouterL3"]

SAFE: Final = ("warm", "degraded", "down", "refreshing", "restoring")
COUNTS: Final = ("executingRuns", "unknownRuns")


def without(*paths: str) -> Any:
    """Return the table of the newest router without the routes of *paths*."""
    return tuple(route for route in FleetRouter.routes if route.path not in paths)


class RouterL3(FleetRouter, name="FleetRouter"):
    """Quoted recovery; a reconcile that names a commit, and no target."""

    async def reconcile(self, request: WebRequest) -> dict[str, Any]:
        """Ask every member to cycle its container for a commit."""
        body = cast("Mapping[str, Any]", request.body)
        registry = self.objects.get(Registry, "registry")
        permit = await self._begin_reconcile(registry)
        rows: list[dict[str, Any]] = []
        for member in await registry.list_members():
            stub: Any = self.objects.get(Resident, member["resource"])
            outcome = await attempt(
                stub.reconcile_for_deploy(member["resource"], body["build"], {})
            )
            said = outcome.value if isinstance(outcome, Granted) else {"result": "error"}
            rows.append({"resource": member["resource"], "result": said["result"]})
        await self._end_reconcile(registry, permit)
        return {"ok": True, "build": body["build"], "reconciled": rows}

    async def _begin_reconcile(self, registry: Registry) -> str:
        permit = str(self.uuid())
        by = fleet_of(self).producer.wire()
        await registry.begin_keyed(permit, content_hash(permit), "reconcile", by)
        return permit

    async def _end_reconcile(self, registry: Registry, permit: str) -> None:
        by = fleet_of(self).producer.wire()
        await registry.end_keyed(permit, content_hash(permit), by)


class RouterL2(RouterL3, name="FleetRouter"):
    """A recovery that asks for nothing but an id, and an inventory without quotes."""

    routes = without("/recover-quoted-admission")

    async def recover_legacy(self, request: WebRequest) -> dict[str, Any]:
        """Delete the permit of that id."""
        body = cast("Mapping[str, Any]", request.body)
        registry = self.objects.get(RegistryL2, "registry")
        return {"ok": True, **await registry.recover_admission(body["id"])}

    async def inventory(self, request: WebRequest) -> dict[str, Any]:
        """List the permits, whatever was asked for."""
        del request
        return {"ok": True, **await self.objects.get(Registry, "registry").list_admissions()}


class RouterL1(RouterL2, name="FleetRouter"):
    """A fence read without a diagnostic: the version stands in the drain."""

    async def deploy_fence(self, request: WebRequest) -> dict[str, Any]:
        """Fence, read every member, verify; take the fence back unless the fleet is quiet."""
        del request
        registry = self.objects.get(Registry, "registry")
        producer = fleet_of(self).producer
        version = producer.version
        assert version is not None
        owner = {"kind": "preflight", "ref": "old"}
        fence = await registry.set_fence(owner, producer.wire(), [])
        views = [await self._view(member) for member in await registry.list_members()]
        verdict = await registry.verify_fence(fence["fenceId"], version.id, [])
        draining = await registry.draining()
        ready = verdict["verified"] and all(map(is_quiet, views))
        if not ready:
            await registry.withdraw_fence(fence["fenceId"])
            draining = await registry.draining()
        return {
            "ok": True,
            "draining": draining,
            "fenceReady": ready,
            "activeAdmissions": verdict["counted"],
            "residents": views,
        }

    async def _begin_reconcile(self, registry: Registry) -> str:
        return str((await registry.begin_deploy_admission("reconcile"))["id"])

    async def _end_reconcile(self, registry: Registry, permit: str) -> None:
        await registry.end_deploy_admission(permit)

    async def residents(self, request: WebRequest) -> dict[str, Any]:
        """List the members, and nothing about who answers."""
        said = dict(await super().residents(request))
        del said["deployDiagnostic"]
        return said

    async def _view(self, member: Mapping[str, Any]) -> dict[str, Any]:
        stub = self.objects.get(Resident, member["resource"])
        outcome = await attempt(stub.deploy_info())
        live = outcome.value if isinstance(outcome, Granted) else {"error": "unreadable"}
        return {"resource": member["resource"], "live": live}


class RouterL0(RouterL1, name="FleetRouter"):
    """A drain, and no fence and no permits."""

    routes = without(
        "/recover-quoted-admission", "/recover-admission", "/deploy-admissions", "/deploy-fence"
    )

    async def reconcile(self, request: WebRequest) -> Any:
        """Nothing is reconciled yet."""
        del request
        return WebResponse(404)


def is_quiet(view: Mapping[str, Any]) -> bool:
    """Whether a member executes nothing, knows all its owners, and may be interrupted."""
    live = view["live"]
    return live.get("state") in SAFE and all(live.get(count) == 0 for count in COUNTS)

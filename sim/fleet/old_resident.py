"""The member of older levels: its requests take permits by id, and its image has no target."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from ...actors.fleet import FleetRefused, Granted, Refused, Registry, Resident, attempt

__all__ = ["ResidentL0", "ResidentL1", "ResidentL4"]

T = TypeVar("T")


class ResidentL4(Resident, name="Resident"):
    """Keyed permits; a cycle for a commit, whose progress names no target."""

    async def reconcile_for_deploy(
        self, resource: str, build: str, target: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Cycle the container once for *build*, a commit; what else is asked is not looked at."""
        del target
        kv = self.storage.kv
        progress: Any = kv.get("image:progress") or {}
        if progress.get("build") == build and kv.get("image:pending") is None:
            return {"result": "current"}
        if progress.get("build") != build:
            await self.objects.get(Registry, "registry").hold_for(resource, None)
            kv.put("image:progress", {"build": build, "cycleIssued": False})
            kv.put("image:pending", {"resource": resource})
        activity = await self._containers.activity()
        if not activity.running:
            await self._cycle.report()
            return {"result": "inactive"}
        if self._is_busy() or activity.boot_id is None:
            return {"result": "deferred"}
        await self._containers.stop(activity.boot_id)
        stopped = {"build": build, "cycleIssued": True, "containerBeforeCycle": activity.boot_id}
        kv.put("image:progress", stopped)
        return {"result": "restarted"}


class ResidentL1(ResidentL4, name="Resident"):
    """Permits by an id that the Registry makes."""

    async def _admitted(
        self, kind: str, origin: Mapping[str, Any], work: Callable[[str], Awaitable[T]]
    ) -> T:
        del origin
        registry = self.objects.get(Registry, "registry")
        begun = await attempt(registry.begin_deploy_admission(kind))
        if isinstance(begun, Refused):
            raise FleetRefused(begun.code, begun.detail)
        if not isinstance(begun, Granted):
            raise RuntimeError(begun.why)
        permit = begun.value["id"]
        try:
            return await work(permit)
        finally:
            await registry.end_deploy_admission(permit)


class ResidentL0(ResidentL1, name="Resident"):
    """No permits at all: only the drain is asked, at attach."""

    async def _admitted(
        self, kind: str, origin: Mapping[str, Any], work: Callable[[str], Awaitable[T]]
    ) -> T:
        del kind, origin
        return await work("none")

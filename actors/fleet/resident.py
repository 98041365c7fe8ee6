"""`Resident`: one member of the fleet, which serves one resource and owns one container.

Whatever it does for somebody it does under a permit of the Registry, for as long as it takes, in
the stack that asked for the permit. What it says of itself to a gate reads only. Source:
spec/deploy-fence.md B.2, C.2, C.5.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import trio

from ..object import DurableObject
from .admission import with_permit
from .bounds import milliseconds
from .codes import refused
from .documents import as_mapping
from .identities import ImageTarget
from .lifecycle import Lifecycle
from .operations import InFlight, NativeOutcome
from .outcomes import Granted, Refused, attempt
from .owners import Owner, is_superseded
from .reconcile import ImageCycle
from .registry import Registry
from .removal import RemovalGuard
from .standings import executing_count, read_all, read_standings
from .wiring import REGISTRY, fleet_of
from .workspaces import REMOVED, Workspaces

__all__ = ["Resident"]

T = TypeVar("T")

PHYSICAL: Final = "physicalMember"
OUTCOMES: Final[tuple[NativeOutcome, ...]] = ("completed", "unknown")


class Resident(DurableObject):
    """The member of the resource that it is named by."""

    def __init__(self) -> None:
        self._workspaces = Workspaces(self.storage)
        self._in_flight = InFlight()
        self._locks: dict[str, trio.Lock] = {}
        self._adopt(self._physical_member())

    def _adopt(self, physical_member: str) -> None:
        """Serve with the container of that physical member."""
        self._containers = fleet_of(self).containers(self.objects, physical_member)
        self._guard = RemovalGuard(self, self._containers, self._workspaces, self._in_flight)
        self._lifecycle = Lifecycle(self, self._containers)
        self._cycle = ImageCycle(self, self._containers, self._lifecycle, self._is_busy)

    # ---- requests, each under a permit

    async def attach(
        self,
        thread: str,
        run_id: str,
        owner_gen: int,
        owner_fence: int,
        origin: Mapping[str, Any],
        user: str = "",
    ) -> dict[str, Any]:
        """Give the thread's workspace to this owner, and make it if need be (OP-29).

        Raises:
            FleetRefused: by its code; no registration was written.
        """
        owner = owner_of(run_id, owner_gen, owner_fence)
        if not thread or REMOVED in thread:
            raise refused("BAD_REQUEST", f"a thread has a name without {REMOVED!r}")

        async def work(permit: str) -> dict[str, Any]:
            del permit
            with self._in_flight.on(thread):
                async with self._lock(thread):
                    return await self._attach(thread, owner, user)

        return await self._admitted("attach", origin, work)

    async def exec(
        self,
        thread: str,
        run_id: str,
        owner_gen: int,
        owner_fence: int,
        origin: Mapping[str, Any],
        work: str,
    ) -> dict[str, Any]:
        """Run *work* in the thread's workspace for its registered owner (OP-30).

        Returns `{operation, outcome}`, and what it printed if it completed.

        Raises:
            FleetRefused: by its code; nothing was submitted.
        """
        return await self._operate("exec", thread, (run_id, owner_gen, owner_fence), origin, work)

    async def op(
        self,
        thread: str,
        run_id: str,
        owner_gen: int,
        owner_fence: int,
        origin: Mapping[str, Any],
        work: str,
    ) -> dict[str, Any]:
        """As `exec`, for an operation of the member itself."""
        return await self._operate("op", thread, (run_id, owner_gen, owner_fence), origin, work)

    async def set_deadline(
        self,
        thread: str,
        run_id: str,
        owner_gen: int,
        owner_fence: int,
        origin: Mapping[str, Any],
        deadline_at: int | None,
    ) -> dict[str, Any]:
        """Store when the run of the registered owner has to have ended (OP-30)."""
        owner = owner_of(run_id, owner_gen, owner_fence)

        async def work(permit: str) -> dict[str, Any]:
            del permit
            with self._in_flight.on(thread):
                async with self._lock(thread):
                    self._require_registered(thread, owner)
                    self._workspaces.set_deadline(thread, deadline_at)
                    return {"deadlineAt": deadline_at}

        return await self._admitted("deadline", origin, work)

    async def detach(
        self,
        thread: str,
        run_id: str,
        owner_gen: int,
        owner_fence: int,
        origin: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Release the registration of this very owner, once all its files exist elsewhere (OP-30).

        Returns `{released, why}`. The workspace itself stays until it is swept.

        Raises:
            FleetRefused: OWNER_SUPERSEDED or NOT_FOUND; the registration is as it was.
        """
        owner = owner_of(run_id, owner_gen, owner_fence)

        async def work(permit: str) -> dict[str, Any]:
            del permit
            with self._in_flight.on(thread):
                async with self._lock(thread):
                    self._require_registered(thread, owner)
                    why = await self._guard.why_keep(thread)
                    if why is None:
                        self._workspaces.release(thread)
                    return {"released": why is None, "why": why}

        return await self._admitted("detach", origin, work)

    async def refresh(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Bring the container up and whole: one step of the refresh workflow (OP-31)."""

        async def work(permit: str) -> dict[str, Any]:
            del permit
            with self._in_flight.step():
                self._require_open()
                await self._bring_up()
                return {"state": self._lifecycle.state}

        return await self._admitted("refresh", origin, work)

    async def watchdog(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Look after the container, then remove each workspace that may go (OP-31, OP-46)."""

        async def work(permit: str) -> dict[str, Any]:
            del permit
            with self._in_flight.step():
                activity = await attempt(self._containers.activity())
                if isinstance(activity, Granted) and not activity.value.running:
                    self._lifecycle.enter("down", "the container does not run")
                removed: list[str] = []
                for thread in self._workspaces.threads():
                    async with self._lock(thread):
                        if await self._guard.remove(thread):
                            removed.append(thread)
                return {"state": self._lifecycle.state, "removed": removed}

        return await self._admitted("watchdog", origin, work)

    async def onboard(self, physical_member: str, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Add this member to the fleet, and activate it once its container is whole (OP-32)."""

        async def work(permit: str) -> dict[str, Any]:
            del permit
            with self._in_flight.step():
                resource, registry = self.address.name, self._registry
                await registry.add_member(resource, physical_member)
                self.storage.kv.put(PHYSICAL, physical_member)
                self._adopt(physical_member)
                self._lifecycle.enter("onboarding")
                await self._bring_up()
                await registry.activate_member(resource)
                return {"resource": resource, "physicalMember": physical_member}

        return await self._admitted("fleet", origin, work)

    # ---- questions of gates, and what is told

    async def deploy_info(self) -> dict[str, Any]:
        """Say what runs here and what is kept, for a deploy (OP-33). Writes nothing."""
        standings = await read_all(self, self._workspaces)
        counts = [*standings.values()]
        progress, in_flight = self._cycle.records.progress(), self._in_flight
        info: dict[str, Any] = {
            "state": self._lifecycle.state,
            "executingRuns": executing_count(standings, in_flight.threads(), in_flight.count()),
            "retainedRuns": counts.count("retained"),
            "unknownRuns": counts.count("unknown"),
            "runsInFlight": self._runs_in_flight(),
            "inFlight": in_flight.count(),
            "imageReport": "current" if self._cycle.records.pending() is None else "pending",
        }
        if progress is not None:
            info["imageBuild"] = progress.build
            if progress.target is not None:
                info["imageTarget"] = progress.target.wire()
        return info

    async def recovery_probe(self) -> dict[str, Any]:
        """Say how many processes of pool users the container runs (OP-34). Wakes nothing.

        Raises:
            Exception: the probe failed or printed rubbish. Nothing is known.
        """
        activity = await self._containers.activity()
        if activity.running and not (type(activity.processes) is int and activity.processes >= 0):
            raise ValueError(f"the probe printed {activity.processes!r}")
        return {"activeProcesses": activity.processes if activity.running else 0}

    async def reconcile_for_deploy(
        self, resource: str, build: str, target: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Do the next step of the container towards *build* and *target* (OP-25).

        Returns `{result, verified, build, target, code}`; build and target are what is stored.
        """
        wanted = ImageTarget.parse(target)
        if resource != self.address.name or not build or wanted is None:
            raise refused("RECONCILE_CALLER_INCOMPATIBLE")
        return await self._cycle.reconcile(resource, build, wanted)

    async def container_ready(self, boot_id: str) -> dict[str, Any]:
        """Be told that the container has booted: make it whole, then report what is owed (L.9).

        It takes no permit and passes any fence: it is what ends an old debt.
        """
        await self._lifecycle.restored(boot_id)
        return {"reported": await self._cycle.container_ready(boot_id)}

    async def native_outcome(self, operation: str, outcome: str) -> dict[str, Any]:
        """Be told by the container how what was submitted has ended. Ends no permit (P17.5)."""
        if outcome not in OUTCOMES:
            raise refused("BAD_REQUEST", f"there is no outcome {outcome!r}")
        return {"noted": self._guard.native.note(operation, outcome)}

    # ---- inside

    @property
    def _registry(self) -> Registry:
        return self.objects.get(Registry, REGISTRY)

    def _physical_member(self) -> str:
        stored: object = self.storage.kv.get(PHYSICAL)
        return stored if isinstance(stored, str) else self.address.name

    def _now(self) -> int:
        return milliseconds(self.now())

    def _lock(self, thread: str) -> trio.Lock:
        return self._locks.setdefault(thread, trio.Lock())

    async def _admitted(
        self, kind: str, origin: Mapping[str, Any], work: Callable[[str], Awaitable[T]]
    ) -> T:
        """Run *work* under a permit that this stack asks for and ends."""
        whole = {
            **origin, "method": "POST", "route": f"/{kind}", "resource": self.address.name,
        }  # fmt: skip
        return await with_permit(self, kind, whole, work)

    async def _attach(self, thread: str, owner: Owner, user: str) -> dict[str, Any]:
        if is_superseded(self._workspaces.accepted(thread), owner):
            raise refused("OWNER_SUPERSEDED")
        returns = await self._returns(thread, owner)
        await self._require_undrained(returns=returns)
        if not returns and self._cycle.records.pending() is not None:
            raise refused("IMAGE_STALE")
        self._require_open()
        await self._bring_up()
        workspace = self._workspaces.workspace(thread)
        await self._containers.provision(workspace)
        self._workspaces.register(thread, owner, user, self._now())
        return {"attached": True, "workspace": workspace}

    async def _returns(self, thread: str, owner: Owner) -> bool:
        """Whether *owner* is registered for the thread, and its run is live."""
        if self._workspaces.registration(thread, self._now()).owner != owner:
            return False
        standings = await read_standings(self, self._workspaces, (thread,))
        return standings[thread] == "executing"

    async def _require_undrained(self, *, returns: bool) -> None:
        """Refuse what the drain refuses, and everything if nobody could say whether there is one.

        Who was admitted before a fence, and reaches the member after it was read, is seen by nobody
        but here.
        """
        outcome = await attempt(self._registry.draining())
        if not isinstance(outcome, Granted):
            raise refused("DRAINING", "nobody could say whether the fleet drains")
        drain = as_mapping(outcome.value)
        if drain is not None and (drain.get("swapFence") is True or not returns):
            raise refused("DRAINING", draining=dict(drain))

    def _require_open(self) -> None:
        """Refuse to begin anything in a container that is about to be stopped."""
        if self._cycle.is_stopping:
            raise refused("IMAGE_STALE", "the container is about to be stopped")

    def _require_registered(self, thread: str, owner: Owner) -> None:
        """Refuse whoever is not the registered owner of the thread, all parts of it."""
        if is_superseded(self._workspaces.accepted(thread), owner):
            raise refused("OWNER_SUPERSEDED")
        if self._workspaces.registration(thread, self._now()).owner != owner:
            raise refused("NOT_FOUND", f"{owner.run_id} is not registered for {thread}")

    async def _bring_up(self) -> None:
        activity = await self._lifecycle.bring_up()
        if activity.boot_id is not None:
            await self._cycle.container_ready(activity.boot_id)

    async def _operate(
        self,
        kind: str,
        thread: str,
        triple: tuple[str, int, int],
        origin: Mapping[str, Any],
        job: str,
    ) -> dict[str, Any]:
        owner = owner_of(*triple)

        async def work(permit: str) -> dict[str, Any]:
            with self._in_flight.on(thread):
                self._require_registered(thread, owner)
                return await self._submit(permit, thread, job)

        return await self._admitted(kind, origin, work)

    async def _submit(self, permit: str, thread: str, job: str) -> dict[str, Any]:
        operation = str(self.uuid())
        self._guard.native.submitted(operation, permit, thread, self._now())
        workspace = self._workspaces.workspace(thread)
        outcome = await attempt(self._containers.submit(operation, permit, workspace, job))
        if isinstance(outcome, Granted):
            self._guard.native.note(operation, "completed")
            return {"operation": operation, "outcome": "completed", "printed": outcome.value}
        if isinstance(outcome, Refused):
            self._guard.native.withdrawn(operation)
            return {"operation": operation, "outcome": "refused"}
        self._guard.native.note(operation, "unknown")
        return {"operation": operation, "outcome": "unknown"}

    def _runs_in_flight(self) -> int:
        """Every registration, those of ended runs too, and every thread that is worked on."""
        return len({*self._workspaces.registered(), *self._in_flight.threads()})

    def _is_busy(self) -> bool:
        """Whether the container has to be left alone: anything runs, or is registered (P3.2)."""
        return self._runs_in_flight() > 0 or self._in_flight.count() > 0


def owner_of(run_id: str, owner_gen: int, owner_fence: int) -> Owner:
    """Return the owner that a request names.

    Raises:
        FleetRefused: BAD_REQUEST, a part is missing or malformed.
    """
    owner = Owner.parse({"runId": run_id, "ownerGen": owner_gen, "ownerFence": owner_fence})
    if owner is None:
        raise refused("BAD_REQUEST", "an owner has a run, a generation and a fence number")
    return owner

"""A member that does and says what no member may: what checkers of members have to reject."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from durasim.actors.fleet import FleetRouter, Registry, Resident
from durasim.sim import World
from durasim.sim.fleet.fleet import CodeLevel, Fleet
from durasim.sim.fleet.invariants import EVERYWHERE
from durasim.sim.fleet.plane import NativeContainer

from .told import told
from .whole import STATE

A = "repo:o/a"
OWNER = {"runId": "r1", "ownerGen": 1, "ownerFence": 1}
REGISTERED = {
    "reg:t1": {"thread": "t1", "registeredAt": 1, **OWNER},
    "regFence:t1": OWNER,
    "binding:t1": {"thread": "t1", "worktree": "t1", "evicted": False, "lastOwner": OWNER},
}


class Liar(Resident, name="Resident"):
    """Writes what it is told to, and says so."""

    def __init__(self) -> None:
        super().__init__()
        self._lies: dict[str, Any] = {}

    async def write(self, rows: dict[str, Any]) -> None:
        """Store *rows* in one commit; None deletes."""
        for key, row in rows.items():
            if row is None:
                self.storage.kv.delete(key)
            else:
                self.storage.kv.put(key, row)

    async def lie(self, said: dict[str, Any]) -> None:
        """Say this from now on."""
        self._lies = said

    async def stop(self) -> None:
        """Stop the container, whatever is in it."""
        activity = await self._containers.activity()
        await self._containers.stop(str(activity.boot_id))

    async def report(self, token: str | None) -> None:
        """Report, whatever is owed."""
        registry = self.objects.get(Registry, "registry")
        await registry.report_image_current(self.address.name, token)

    async def clear(self, workspace: str) -> None:
        """Remove a workspace."""
        await self._containers.remove(workspace)

    async def deploy_info(self) -> dict[str, Any]:
        """Say what was told."""
        return {**await super().deploy_info(), **self._lies}

    async def reconcile_for_deploy(
        self, resource: str, build: str, target: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Say what was told, and do nothing."""
        del resource, build, target
        return self._lies


class Liars:
    """A fleet of one liar, and what a test does with it."""

    def __init__(self, world: World) -> None:
        """Set it up."""
        code = CodeLevel(5, Registry, Liar, FleetRouter, ("fence",))
        self.fleet = Fleet(world, code, STATE, (A,))
        self.stub: Liar = self.fleet.resident("test", A)
        self.container = world.client("platform").get(NativeContainer, "member-1")

    def store(self, rows: Mapping[str, Any]) -> None:
        """Let the member have stored *rows* before."""
        self.fleet.store("Resident", A, rows)

    def live(self) -> None:
        """Let the run of `OWNER` live."""
        self.fleet.ground.note("run begins", {**OWNER, "thread": "t1"})

    async def read(self, **lies: Any) -> None:
        """Read the member, which says something else."""
        await self.stub.lie(lies)
        await self.stub.deploy_info()

    async def asked(self, build: str = "b1", version: int = 1, **says: Any) -> None:
        """Ask the member for a target, and let it say something."""
        await self.stub.lie(says)
        await self.stub.reconcile_for_deploy(A, build, target(version))


def target(version: int = 1) -> dict[str, Any]:
    """Return a target."""
    return {"application": "app", "version": version, "image": f"image:{version}"}


def rejected(act: Callable[[Liars], Awaitable[None]]) -> set[str]:
    """Return the names of all that *act* breaks."""

    async def story(world: World) -> None:
        await act(Liars(world))

    result = told(story, *EVERYWHERE)
    return {failure.property for failure in result.failures}

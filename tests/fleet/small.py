"""A fleet of the smallest code that has the right names, to test what surrounds it."""

from typing import Any

from durasim.actors import DurableObject, Route, WebRequest, Worker
from durasim.actors.fleet import FleetDeployment
from durasim.sim import World
from durasim.sim.fleet.fleet import CodeLevel, Fleet, StateCode


class SmallRegistry(DurableObject, name="Registry"):
    """Keeps rows, and nothing else."""

    async def keep(self, key: str, row: Any) -> None:
        """Store a row; None deletes it."""
        if row is None:
            await self.storage.delete(key)
        else:
            await self.storage.put(key, row)

    async def refuse(self) -> None:
        """Fail."""
        raise ValueError("no")


class SmallResident(DurableObject, name="Resident"):
    """Does native work, and remembers what it is told of it."""

    async def work(self, thread: str, words: str) -> Any:
        """Do *words* in the thread's workspace."""
        deployment: Any = self.env["fleet"]
        containers = deployment.containers(self.objects, self.address.name)
        await containers.provision(thread)
        return await containers.submit(f"op-{thread}", "permit", thread, words)

    async def native_outcome(self, operation: str, outcome: str) -> None:
        """Remember it."""
        await self.storage.put(f"native:{operation}", outcome)

    async def container_ready(self, boot_id: str) -> None:
        """Remember it."""
        await self.storage.put("boot", boot_id)


class NextResident(SmallResident, name="Resident"):
    """The next version."""


class SmallRouter(Worker, name="FleetRouter"):
    """Says which Worker it is."""

    routes = (Route("GET", "/healthz", "healthz"),)

    async def healthz(self, request: WebRequest) -> Any:
        """Say the build and the version."""
        del request
        deployment = self.env["fleet"]
        assert isinstance(deployment, FleetDeployment)
        version = deployment.producer.version
        assert version is not None
        build = deployment.producer.build.wire()
        return {"ok": True, "build": build, "version": version.id, "at": version.uploaded_at}


class SmallLedger(DurableObject, name="RunLedger"):
    """No runs."""


class SmallState(Worker, name="StateWorker"):
    """No routes."""


OLD = CodeLevel(4, SmallRegistry, SmallResident, SmallRouter)
NEW = CodeLevel(5, SmallRegistry, NextResident, SmallRouter)
STATE = StateCode(SmallLedger, SmallState)


def small_fleet(world: World, code: CodeLevel = OLD, **rest: Any) -> Fleet:
    """Set up a small fleet."""
    return Fleet(world, code, STATE, **rest)

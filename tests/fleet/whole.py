"""A fleet of the code as it is shipped, to test what stands in front of it."""

from typing import Any

from durasim.actors.fleet import ImageTarget
from durasim.actors.fleet.ledger import RunLedger
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.resident import Resident
from durasim.actors.fleet.router import FleetRouter
from durasim.actors.fleet.state_worker import StateWorker
from durasim.sim import World
from durasim.sim.fleet.fleet import CodeLevel, Fleet, StateCode
from durasim.sim.fleet.ground import Artifact
from durasim.sim.fleet.plane import APPLICATION

CODE = CodeLevel(5, Registry, Resident, FleetRouter, ("fence", "keyed", "quoted", "target"))
STATE = StateCode(RunLedger, StateWorker)
WORK = {"thread": "t1", "runId": "r1", "ownerGen": 1, "ownerFence": 1, "origin": {"request": "q"}}


def whole_fleet(world: World, **rest: Any) -> Fleet:
    """Set up a fleet of the shipped code."""
    return Fleet(world, CODE, STATE, **rest)


def target_of(fleet: Fleet) -> ImageTarget:
    """Return the application as it is."""
    return fleet.ground.application(APPLICATION)


def stamp_order(artifact: Artifact, target: ImageTarget) -> dict[str, Any]:
    """Return the body of a reconcile for *artifact* and *target*."""
    stamp = artifact.stamp
    return {
        "protocol": 2,
        "build": stamp.artifact_id,
        "commit": stamp.commit,
        "target": target.wire(),
    }


async def start_run(fleet: Fleet, run: str = "r1", thread: str = "t1") -> None:
    """Have a live run of an owner in the run ledger."""
    await fleet.ledger("bot").put_live(run, thread, 1, 1)


async def end_run(fleet: Fleet, run: str = "r1", thread: str = "t1") -> None:
    """End the run."""
    await fleet.ledger("bot").put_terminal(run, thread, 1, "completed", owner_fence=1)

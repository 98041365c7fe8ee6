"""A fleet of the code as it is shipped, to test what stands in front of it."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import attrs
import trio

from durasim.actors.fleet import Granted, ImageTarget, Outcome, Refused, Scope, Uncertain
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
MEMBER = "repo:o/a"


def whole_fleet(
    world: World,
    *,
    registry: type[Registry] = Registry,
    resident: type[Resident] = Resident,
    **rest: Any,
) -> Fleet:
    """Set up a fleet of the shipped code, or with other classes in its place."""
    code = attrs.evolve(CODE, registry=registry, resident=resident)
    return Fleet(world, code, STATE, **rest)


def target_of(fleet: Fleet) -> ImageTarget:
    """Return the application as it is."""
    return fleet.ground.application(APPLICATION)


def order_of(artifact: Artifact, target: ImageTarget) -> dict[str, Any]:
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


async def attach(fleet: Fleet, resource: str = MEMBER) -> Mapping[str, Any]:
    """Attach the run to its workspace in a member."""
    await start_run(fleet)
    body = {"resource": resource, "user": "ann", **WORK}
    return granted(await fleet.ask("bot", "POST", "/attach", body, scope="operator"))


async def asked(
    fleet: Fleet, method: str, path: str, body: Any = None, *, scope: Scope = "drain"
) -> Outcome[Mapping[str, Any]]:
    """Ask the router for something."""
    return await fleet.ask("ann", method, path, body or {}, scope=scope)


async def drained(fleet: Fleet, minutes: int = 90) -> Mapping[str, Any]:
    """Drain the fleet."""
    return granted(await fleet.ask("ann", "POST", "/drain", {"minutes": minutes}, scope="drain"))


async def fenced(fleet: Fleet) -> Mapping[str, Any]:
    """Read the fence."""
    return granted(await fleet.ask("ann", "POST", "/deploy-fence", {}, scope="drain"))


async def until(holds: Callable[[], bool]) -> None:
    """Look every second whether it holds by now."""
    while not holds():  # noqa: ASYNC110
        await trio.sleep(1)


def granted(outcome: Any) -> Mapping[str, Any]:
    """Return what *outcome* granted."""
    assert isinstance(outcome, Granted), outcome
    return cast("Granted[Mapping[str, Any]]", outcome).value


def code_of(outcome: Any) -> str:
    """Return the code of a refusal, or "?" for an uncertain outcome."""
    assert isinstance(outcome, (Refused, Uncertain)), outcome
    return outcome.code if isinstance(outcome, Refused) else "?"

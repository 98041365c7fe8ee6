"""One member with its container, and who works on it: what tests of members share."""

from collections.abc import Awaitable, Callable
from typing import Any

from durasim.actors.fleet.outcomes import Refused, attempt
from durasim.actors.fleet.owners import Owner
from durasim.actors.fleet.resident import Resident
from durasim.sim import Fault, World
from durasim.sim.fleet.fleet import Fleet
from durasim.sim.fleet.ground import Container

from .told import told
from .whole import target_of, whole_fleet

A = "repo:o/a"
ANN = Owner("r1", 1, 1)
BOB = Owner("r2", 1, 2)
BUILD = "build-2"


class Residence:
    """The member of `A`.

    Attributes:
        fleet: that it belongs to.
        stub: of the member.
    """

    def __init__(self, world: World) -> None:
        """Set up the fleet."""
        self.world = world
        self.fleet: Fleet = whole_fleet(world)
        self.stub = world.client("bot").get(Resident, A, deadline_s=9_000)
        self.requests = 0
        self.images = 1

    @property
    def container(self) -> Container:
        """Its container as it is."""
        return self.fleet.ground.containers["member-1"]

    @property
    def stored(self) -> dict[str, Any]:
        """What is durable of it."""
        return self.world.stored(Resident, A)

    def origin(self) -> dict[str, Any]:
        """Return what the next request is."""
        self.requests += 1
        return {"actor": "bot", "request": str(self.requests)}

    def target(self) -> dict[str, Any]:
        """Return the image target as it is now."""
        return target_of(self.fleet).wire()

    def other_target(self) -> dict[str, Any]:
        """Select another image, and return that target."""
        self.images += 1
        self.fleet.ground.select("fleet-containers", f"image:{self.images}")
        return self.target()

    async def live(self, owner: Owner = ANN, thread: str = "t1") -> None:
        """Let the ledger know that the run is live."""
        ledger = self.fleet.ledger("bot")
        await ledger.put_live(owner.run_id, thread, owner.generation, owner.fence)

    async def end(self, owner: Owner = ANN, thread: str = "t1", **rest: Any) -> None:
        """Let the ledger know that the run has ended."""
        ledger = self.fleet.ledger("bot")
        await ledger.put_terminal(owner.run_id, thread, owner.generation, "completed", **rest)

    async def attach(self, owner: Owner = ANN, thread: str = "t1") -> Any:
        """Attach, and return how it ended."""
        asked = self.stub.attach(thread, *parts(owner), self.origin())
        return await attempt(asked)

    async def exec(self, work: str, owner: Owner = ANN, thread: str = "t1") -> Any:
        """Work, and return how it ended."""
        return await attempt(self.stub.exec(thread, *parts(owner), self.origin(), work))

    async def detach(self, owner: Owner = ANN, thread: str = "t1") -> Any:
        """Detach, and return how it ended."""
        return await attempt(self.stub.detach(thread, *parts(owner), self.origin()))

    async def reconcile(self, target: dict[str, Any], build: str = BUILD) -> tuple[str, bool, Any]:
        """Reconcile; returns result, whether it is verified, and the code."""
        said = await self.stub.reconcile_for_deploy(A, build, target)
        return said["result"], said["verified"], said["code"]

    async def standing(self) -> tuple[int, int, int, int]:
        """Return executing, retained, unknown and all runs, as a gate is told."""
        info = await self.stub.deploy_info()
        names = ("executingRuns", "retainedRuns", "unknownRuns", "runsInFlight")
        executing, retained, unknown, runs = (info[name] for name in names)
        return executing, retained, unknown, runs


def parts(owner: Owner) -> tuple[str, int, int]:
    """Return the owner as arguments."""
    return owner.run_id, owner.generation, owner.fence


def code_of(outcome: Any) -> str:
    """Return the code of a refusal."""
    assert isinstance(outcome, Refused), outcome
    return outcome.code


def reside(
    story: Callable[[Residence], Awaitable[None]],
    *,
    faults: tuple[Fault, ...] = (),
    deviations: tuple[tuple[str, str], ...] = (),
) -> None:
    """Run *story* with a member, with exactly these deviations."""

    async def whole(world: World) -> None:
        await story(Residence(world))

    result = told(whole, faults=faults, deviations=deviations)
    assert result.ok, result.failures

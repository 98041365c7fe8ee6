"""Stories in which anything may go wrong: what each way of giving back stands (8.2)."""

import attrs
import trio

from ...actors import Program
from ..fault import Fault
from ..faults import (
    Abort,
    AlarmLate,
    AlarmTwice,
    AmbiguousCommit,
    ClockSkew,
    Crash,
    DuplicateQuery,
    DuplicateRequest,
    FailConstructor,
    FailQuery,
    FailRead,
    FailWrite,
    KillProgram,
    LoseQuery,
    LoseQueryReply,
    SlowDisk,
    SlowQuery,
    Swap,
    every_fault,
)
from ..scenario import scenario
from ..world import World
from .deployment import Design, Stage, Topology, set_stage
from .properties import ANSWERS, CLAIMS, refused_runs_leave_nothing
from .setting import STEADFAST, TOPOLOGIES, start_as
from .watching import fence_of

__all__ = ["anything_fails", "router_assumed"]

WORKFLOWS = ("order", "approval", "quick")

FREQUENT = (Abort, Crash, DuplicateQuery, FailQuery, LoseQuery, LoseQueryReply, SlowQuery)
"""What finds many places in a run: awaits and queries."""

RARE: dict[type[Fault], float] = {
    KillProgram: 60, ClockSkew: 30, AlarmLate: 20, AlarmTwice: 20, FailConstructor: 16,
    SlowDisk: 14, FailRead: 5, AmbiguousCommit: 8, FailWrite: 6, Swap: 4,
}  # fmt: skip
"""What finds few, and how much more often than others it has to be chosen there."""

ANYTHING: tuple[Fault, ...] = tuple(
    attrs.evolve(
        each, at_most=1, weight=1 if isinstance(each, FREQUENT) else RARE.get(type(each), 3)
    )
    for each in every_fault()
)
"""One of each kind, wherever it may strike."""

ASSUMED: tuple[Fault, ...] = (
    *(each for each in ANYTHING if not isinstance(each, DuplicateRequest | DuplicateQuery)),
    DuplicateRequest("RunOwners", at_most=1, weight=6),
    *(DuplicateQuery(f"flowsafe_{name}", at_most=1) for name in ("runs", "execution_fence")),
)
"""The same, but each start is delivered once at most, and each query of the reservations runs once
at most: what the router assumes."""


class Starter(Program):
    """A process that starts a key, and may be killed."""

    def __init__(self, stage: Stage, key: str, workflow: str) -> None:
        """Start *key* as "ann"."""
        self._stage, self._key, self._workflow = stage, key, workflow

    async def run(self) -> None:
        """Start it once."""
        await self._stage.start(self._key, who="ann", workflow=self._workflow)


async def tell(world: World, topology: Topology, design: Design, workflow: str) -> None:
    """Drain and reopen a deployment of two versions while keys are started in it."""
    world.machine("host", (), ())
    stage = await set_stage(world, topology, design)
    callers = {"key-1": "ann", "key-2": "bob", "key-3": "cy"}
    program = world.start(Starter(stage, "key-1", workflow), "ann's program")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "bob", "key-2", workflow)
        nursery.start_soon(stage.surely_move, "open", "draining")
    await stage.start("key-3", who="cy", workflow=workflow)
    await program.ended()
    await stage.surely_move("draining", "open")
    for key, who in callers.items():
        await stage.start(key, who=who, workflow=workflow)
    await stage.calm()
    state = fence_of(world).state
    if state != "open":
        # A move that arrived a second time has shut it again, as an operator sees.
        await stage.surely_move(state, "open")
    for key, who in callers.items():
        await stage.until_done(key, who=who, workflow=workflow)


@scenario(
    faults=ANYTHING,
    properties=(*CLAIMS, *ANSWERS, refused_runs_leave_nothing),
    parameters={"topology": TOPOLOGIES, "design": STEADFAST, "workflow": WORKFLOWS},
)
async def anything_fails(
    world: World,
    topology: Topology = "objects",
    design: Design = "holder",
    workflow: str = "order",
) -> None:
    """Whatever can go wrong does: holder and sealer stand it."""
    await tell(world, topology, design, workflow)


@scenario(
    faults=ASSUMED,
    properties=(*CLAIMS, *ANSWERS, refused_runs_leave_nothing),
    parameters={"topology": TOPOLOGIES, "workflow": WORKFLOWS},
)
async def router_assumed(
    world: World, topology: Topology = "objects", workflow: str = "order"
) -> None:
    """Whatever can go wrong does, but for what the router assumes: it stands that."""
    await tell(world, topology, "router", workflow)

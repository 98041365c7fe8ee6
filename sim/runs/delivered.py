"""Stories of messages: lost, late, twice, and behind what came after them."""

import trio

from ...actors import Address
from ...actors.runs import (
    Owner,
    RunObject,
    RunOwners,
    StartRequest,
    StartReservations,
    Target,
)
from ..faults import (
    ClockJump,
    Crash,
    DuplicateQuery,
    DuplicateRequest,
    Evict,
    LoseQuery,
    LoseQueryReply,
    LoseReply,
    LoseRequest,
    Restart,
    StaleIncarnation,
)
from ..scenario import scenario
from ..world import World
from .deployment import DESIGNS, Design, Topology, set_stage
from .properties import (
    ANSWERS,
    CLAIMS,
    no_key_is_stranded,
    not_started_while_live,
)
from .routers import SlowSealer
from .setting import EACH, RESERVATIONS, STEADFAST, TOPOLOGIES, at_runs, drain_in, start_as

__all__ = [
    "delivered_twice",
    "duplicate_start",
    "echo_after_reopen",
    "late_start",
    "lost_replies",
    "stale_release",
    "start_lost",
    "still_registered",
]


@scenario(
    faults=(
        *at_runs(LoseRequest, LoseReply, at_most=2),
        *at_runs(Crash, Restart),
        LoseQuery(at_most=2),
        LoseQueryReply(at_most=2),
    ),
    properties=CLAIMS + ANSWERS,
    parameters={**EACH, "workflow": ("order", "approval")},
)
async def lost_replies(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    workflow: str = "order",
) -> None:
    """Anything is lost while the deployment drains and opens again (L1 to L11)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "caller-1", "key-1", workflow)
        nursery.start_soon(stage.surely_move, "open", "draining")
    await stage.start("key-2", who="caller-2", workflow=workflow)
    await stage.surely_move("draining", "open")
    for number in (1, 2):
        await stage.start(f"key-{number}", who=f"caller-{number}", workflow=workflow)
    await stage.calm()
    for number in (1, 2):
        await stage.until_done(f"key-{number}", who=f"caller-{number}", workflow=workflow)


@scenario(
    faults=(
        DuplicateRequest(RunObject, at_most=1),
        StaleIncarnation(RunObject, at_most=1),
        LoseReply(RunObject, at_most=1),
    ),
    properties=CLAIMS,
    parameters={"design": STEADFAST},
)
async def duplicate_start(world: World, design: Design = "holder") -> None:
    """A start is delivered twice, and the fence closes between the two (case 41)."""
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        nursery.start_soon(drain_in, stage, 0.002)
        await trio.sleep(0.005)
        nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.surely_move("draining", "open")
    await stage.start("key-1")
    await stage.calm()
    await stage.until_done("key-1")


@scenario(
    faults=(DuplicateRequest(RunObject, at_most=1), LoseReply(RunObject, at_most=1)),
    properties=CLAIMS,
    parameters={"design": DESIGNS},
)
async def delivered_twice(world: World, design: Design = "router") -> None:
    """A start is delivered twice, and nobody dies: what has ended stays settled (case 24)."""
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        nursery.start_soon(drain_in, stage, 0.002)
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1")


@scenario(
    faults=(DuplicateQuery(f"{RESERVATIONS}.UPDATE", at_most=1), *at_runs(Crash)),
    properties=CLAIMS,
    parameters={"topology": TOPOLOGIES, "design": STEADFAST},
)
async def stale_release(
    world: World, topology: Topology = "objects", design: Design = "holder"
) -> None:
    """A release takes effect twice, the second time when the key was claimed anew (case 42)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    async with trio.open_nursery() as nursery:
        for after_s in (0.8, 1.1):
            await trio.sleep(max(0.0, after_s - world.now_s))
            nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.calm()
    await stage.until_done("key-1")


@scenario(
    faults=(DuplicateRequest(RunObject, at_most=1),),
    properties=CLAIMS,
    parameters={"design": STEADFAST},
)
async def echo_after_reopen(world: World, design: Design = "holder") -> None:
    """A refused start arrives again when the deployment is open: its claim is another's now."""
    stage = await set_stage(world, "objects", design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    await trio.sleep(1)
    await stage.until_done("key-1")


@scenario(
    faults=(
        LoseRequest(RunObject, at_most=1),
        ClockJump(RunObject, at_most=1),
        Evict(RunObject, at_most=1),
    ),
    properties=(*CLAIMS, no_key_is_stranded),
    parameters={"design": STEADFAST},
)
async def start_lost(world: World, design: Design = "sealer") -> None:
    """A start is lost or late, and somebody asks about it (L4): only the sealer gets it back."""
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        for seconds in (0.001, 0.009, 0.09, 0.9):
            await trio.sleep(seconds)
            nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.start("key-1")
    await stage.calm()
    await stage.until_done("key-1")


class SlowOwners(RunOwners, name=RunOwners.stored_name):
    """A registry that takes its time to forget."""

    async def reserve(self, run: str, token: str, kind: str, owner_id: str) -> None:
        """Reserve, in 5 ms."""
        await self.sleep(0.005)
        await super().reserve(run, token, kind, owner_id)

    async def release(self, run: str, token: str) -> bool:
        """Forget, in 200 ms."""
        await self.sleep(0.2)
        return await super().release(run, token)


START_MS = 1_767_225_600_000
"""When worlds begin, milliseconds since 1970."""


@scenario(
    properties=CLAIMS,
    parameters={"design": ("sealer",), "after_ms": (1, 5, 20), "evicted": (False, True)},
)
async def late_start(
    world: World, design: Design = "sealer", after_ms: int = 5, evicted: bool = True
) -> None:
    """A start arrives when its claim was asked about, and refused for good (8.2)."""
    world.machine("registry", (SlowOwners,))
    stage = await set_stage(world, "objects", design)
    slow = StartReservations(world.client("slow router").database, lambda: START_MS)
    asked = StartRequest("key-1", Owner("human", "ann"), Target("workflow", "order"))
    await slow.reserve(asked, lambda: "run-1")
    claimed = await slow.claim("key-1", "run-1")
    assert claimed is not None
    world.ledger.note(
        "log start-decided",
        (("key", "key-1"), ("runId", "run-1"), ("stamp", claimed.updated_at)),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.start_by, SlowSealer, "key-1")
        await trio.sleep(after_ms / 1000)
        if evicted:
            world.default().host.evict(Address("RunObject", "order:run-1"))
        await stage.send_start("key-1", "run-1", stamp=claimed.updated_at)
    await stage.calm()
    await stage.until_done("key-1")


@scenario(
    properties=(*CLAIMS, not_started_while_live),
    parameters={"design": STEADFAST},
)
async def still_registered(world: World, design: Design = "holder") -> None:
    """A claim is back, and the start that was refused is not quite over (19, 43)."""
    world.machine("registry", (SlowOwners,))
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(0.001)
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(0.001)
        await stage.surely_move("open", "draining")
        await trio.sleep(0.05)
        nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1")

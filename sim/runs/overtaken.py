"""Stories of a router that is overtaken, and of a start that is heard of twice."""

import trio

from ..scenario import scenario
from ..world import World
from .delivered import SlowOwners
from .deployment import DESIGNS, Design, Stage, set_stage
from .drained import a_start_is_refused
from .notes import fields
from .properties import CLAIMS, not_started_while_live, refused_runs_leave_nothing
from .routers import RepeatingRouter, SlowReader

__all__ = [
    "echo_behind_drain",
    "echoed_start",
    "echoed_suspension",
    "read_back_late",
    "refused_midway",
]


@scenario(
    properties=(*CLAIMS, not_started_while_live),
    parameters={"design": ("holder", "sealer")},
)
async def read_back_late(world: World, design: Design = "holder") -> None:
    """Who has made a row reads it back late: by then it was claimed, and has come back (19)."""
    world.machine("registry", (SlowOwners,))
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.start_by, SlowReader, "key-1")
        await trio.sleep(0.001)
        nursery.start_soon(stage.start, "key-1")
        await trio.sleep(0.001)
        await stage.surely_move("open", "draining")
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1")


@scenario(
    properties=(*CLAIMS, refused_runs_leave_nothing, a_start_is_refused),
    parameters={"design": DESIGNS},
)
async def refused_midway(world: World, design: Design = "router") -> None:
    """A start is refused between two gates, and nobody asks again: nothing is left of it (26)."""
    world.machine("registry", (SlowOwners,))
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.start, None)
        await trio.sleep(0.001)
        await stage.surely_move("open", "draining")


async def echoed(stage: Stage, workflow: str) -> None:
    """Start a run whose answer is lost, and drain before the transport sends the start again."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.start_by, RepeatingRouter, "key-1", workflow)
        await trio.sleep(1)
        await stage.surely_move("open", "draining")
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1", workflow=workflow)


@scenario(properties=CLAIMS, parameters={"design": DESIGNS})
async def echoed_start(world: World, design: Design = "router") -> None:
    """A start is sent again, and refused, when its run has ended: its key stays spent (24)."""
    await echoed(await set_stage(world, "objects", design), "order")


@scenario(properties=CLAIMS, parameters={"design": ("holder", "sealer")})
async def echoed_suspension(world: World, design: Design = "holder") -> None:
    """A start is sent again, and refused, while its run waits: its claim is kept (41)."""
    await echoed(await set_stage(world, "objects", design), "approval")


@scenario(properties=CLAIMS, parameters={"design": ("holder", "sealer")})
async def echo_behind_drain(world: World, design: Design = "holder") -> None:
    """A refused start arrives again behind the next drain: its claim is another one now (42)."""
    stage = await set_stage(world, "objects", design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1", workflow="approval")
    (claim,) = [
        fields(entry) for entry in world.ledger.entries if entry.kind == "log start-decided"
    ]
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1", workflow="approval")
    await stage.surely_move("open", "draining")
    await stage.send_start("key-1", claim["runId"], workflow="approval", stamp=claim["stamp"])
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1", workflow="approval")

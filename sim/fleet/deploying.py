"""Stories of whole deploys: runs that go on and end, retained workspaces, outages, two runners."""

from typing import Any, Final

import trio

from ..faults import (
    AlarmLate,
    AlarmTwice,
    AmbiguousCommit,
    ClockJump,
    ClockSkew,
    CorruptReply,
    CorruptRequest,
    Crash,
    DuplicateRequest,
    Evict,
    FailConstructor,
    FailRead,
    FailWrite,
    Fault,
    KillProgram,
    LoseReply,
    LoseRequest,
    Partition,
    Restart,
    SlowDisk,
    StaleIncarnation,
    Swap,
)
from ..scenario import scenario
from ..world import World
from .acting import Deploy, Run, begun, deploy, ended, recover
from .checks import Reached
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import set_fleet

__all__ = [
    "ANYTHING",
    "EVERY_KIND",
    "closing",
    "debt_and_recovery",
    "deploy_with_outage",
    "ordinary_deploy",
    "retained_over_image",
    "two_runners",
]

ANYTHING: Final[tuple[Fault, ...]] = (
    LoseRequest(at_most=2),
    LoseReply(at_most=2),
    DuplicateRequest(at_most=2),
    CorruptRequest(at_most=1),
    CorruptReply(at_most=1),
    Partition(at_most=1),
    Crash(at_most=2),
    Restart(at_most=2),
    FailWrite(at_most=1),
    AmbiguousCommit(at_most=1),
    FailRead(at_most=1),
    SlowDisk(at_most=2),
    Evict(at_most=2),
    AlarmLate(at_most=1, weight=4),
    AlarmTwice(at_most=1),
    KillProgram(at_most=1),
)
"""Whatever may go wrong in a fleet, a few times in a run."""

EVERY_KIND: Final[tuple[Fault, ...]] = (
    *ANYTHING,
    ClockSkew(at_most=2, weight=6),
    ClockJump(at_most=1, weight=3),
    FailConstructor(at_most=1, weight=2),
    StaleIncarnation(at_most=1, weight=3),
    Swap(at_most=1, weight=3),
)
"""And what has few places to strike: wrong clocks, constructors that fail, two incarnations, a
rollback in part."""

REPORTS: Final = Reached("a deploy is reported", "note runner")
IMAGE: Final = "registry.example/fleet:2"


async def closing(fleet: Fleet) -> None:
    """End the faults, and wait until every drain and every lease had its time."""
    fleet.world.end_faults()
    await trio.sleep(120 * 60)


async def run_a_while(fleet: Fleet, run: Run, minutes: float, work: str) -> None:
    """Let *run* work, be live for *minutes*, and end."""
    await begun(fleet, run, work=work)
    await trio.sleep(minutes * 60)
    await ended(fleet, run)


async def come_late(fleet: Fleet, run: Run) -> None:
    """Ask to attach every half a minute, for ten minutes: a new run under a drain."""
    for _ in range(20):
        await begun(fleet, run, who="newcomer")
        await trio.sleep(30)


async def undrain_at_last(fleet: Fleet, started: Deploy) -> None:
    """Wait for the deploy, and look as an operator does who was told of a failure."""
    await started.report()
    await fleet.ask("operator", "GET", "/residents", scope="read")


@scenario(
    faults=EVERY_KIND,
    properties=(*EVERYWHERE, REPORTS),
    parameters={"image": [None, IMAGE], "minutes": [0, 3, 17], "late": [False, True]},
    settle_s=8_000,
)
async def ordinary_deploy(world: World, image: Any, minutes: int, late: bool) -> None:
    """A deploy among a run that has ended, one that goes on, and newcomers."""
    fleet = set_fleet(world)
    await run_a_while(fleet, Run("ended", "done"), 0, "write")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            run_a_while, fleet, Run("going", "busy", "repo:o/b"), minutes, "write run:5 save"
        )
        await trio.sleep(30)
        started = deploy(fleet, fleet.artifact(image=image))
        if late:
            nursery.start_soon(come_late, fleet, Run("newcomer", "new"))
        await undrain_at_last(fleet, started)
    await closing(fleet)


@scenario(
    faults=EVERY_KIND,
    properties=EVERYWHERE,
    parameters={"minutes": [1, 9], "named": [None, "f" * 40, "0" * 39 + "1-2026-01-01"]},
    settle_s=8_000,
)
async def deploy_with_outage(world: World, minutes: int, named: str | None) -> None:
    """The state Worker is out of order during the quiet reads; then it answers."""
    fleet = set_fleet(world)
    await run_a_while(fleet, Run("ended", "done"), 0, "write")
    fleet.break_state_worker()
    started = deploy(fleet, fleet.artifact(named=named))
    await trio.sleep(minutes * 60)
    fleet.mend_state_worker()
    await undrain_at_last(fleet, started)
    await fleet.ask("operator", "GET", "/healthz")
    await closing(fleet)


@scenario(
    faults=EVERY_KIND, properties=EVERYWHERE, parameters={"apart": [0, 30, 400]}, settle_s=8_000
)
async def two_runners(world: World, apart: int) -> None:
    """Two deploys at once, with different images: one fence at a time, one target at a time."""
    fleet = set_fleet(world)
    await run_a_while(fleet, Run("ended", "done"), 0, "write save")
    first = deploy(fleet, fleet.artifact(image=IMAGE))
    await trio.sleep(apart)
    second = deploy(fleet, fleet.artifact(image="registry.example/fleet:3"), who="other")
    await first.report()
    await second.report()
    await closing(fleet)


@scenario(faults=EVERY_KIND, properties=EVERYWHERE, settle_s=8_000)
async def debt_and_recovery(world: World) -> None:
    """A member dies in the middle of an operation: its permit is debt until it is recovered."""
    fleet = set_fleet(world)
    run = Run("dying", "t")

    async def crash() -> None:
        await trio.sleep(20)
        fleet.machine_of(run.resource).crash("for the story")

    world.spawn("crash", crash)
    await begun(fleet, run, work="write run:60 save")
    await ended(fleet, run)
    await fleet.ask("operator", "POST", "/drain", {"minutes": 90}, scope="drain")
    await trio.sleep(120)
    debt = sorted(fleet.log.permits)
    for permit in debt:
        await recover(fleet, permit)
    started = deploy(fleet, fleet.artifact())
    await started.report()
    await trio.sleep(120)
    for permit in debt:
        path, query = "/deploy-admissions", {"id": permit}
        await fleet.ask("operator", "GET", path, scope="admin", query=query)
    await closing(fleet)


@scenario(faults=EVERY_KIND, properties=EVERYWHERE, settle_s=8_000)
async def retained_over_image(world: World) -> None:
    """An image change meets a container with the only copy of somebody's files, twice over."""
    fleet = set_fleet(world)
    await run_a_while(fleet, Run("ended", "done"), 0, "write")
    first = deploy(fleet, fleet.artifact(image=IMAGE))
    await first.report()
    second = deploy(fleet, fleet.artifact(image="registry.example/fleet:3"), who="other")
    await second.report()
    await closing(fleet)

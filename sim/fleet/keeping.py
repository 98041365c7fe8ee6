"""Stories of owners and workspaces: who still runs, what is only kept, and what may go.

Source: spec/deploy-fence.md G.1 (G05 to G07, G15, G18, G19, G128).
"""

from typing import Any, Final

import trio

from ...actors.fleet import attempt
from ..faults import (
    Abort,
    CorruptReply,
    Crash,
    DuplicateRequest,
    Evict,
    Fault,
    LoseReply,
    LoseRequest,
    Restart,
)
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, detached, ended
from .checks import Reached
from .deploying import ANYTHING, closing
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import set_fleet

__all__ = [
    "STORIES",
    "admitted_before_fence",
    "counted_once",
    "ended_without_saving",
    "ending_of_before",
    "member_restarts",
    "members_at_work",
    "newcomer_under_fence",
    "owners_unheard",
    "provisional_ending",
]

RUN: Final = Run("r1", "t1")
AGAIN: Final = Run("r1", "t1", generation=2, fence=2)
OTHER: Final = Run("r2", "t2", "repo:o/b")
LEDGER_LOST: Final[tuple[Fault, ...]] = (
    LoseRequest("StateWorker.fetch", at_most=3),
    LoseReply("StateWorker.fetch", at_most=3),
    LoseRequest("RunLedger.owner", at_most=2),
    Crash("RunLedger", at_most=1),
)
"""Every way in which nobody says how an owner stands."""
READY: Final = Reached("an owner was read", "answer Resident.deploy_info")


async def drained(fleet: Fleet, minutes: int = 90) -> None:
    """Have the fleet drain."""
    await fleet.ask("ops", "POST", "/drain", {"minutes": minutes}, scope="drain")


async def read_quietly(fleet: Fleet, times: int, pause_s: float = 60) -> None:
    """Try to close the fleet, as a runner does; a verdict that is ready keeps its fence."""
    for _ in range(times):
        await fleet.ask("ops", "POST", "/deploy-fence", scope="drain")
        await trio.sleep(pause_s)


async def work_long(fleet: Fleet) -> None:
    """Have the run work for longer than anybody waits for an answer."""
    origin = {"actor": "bot", "request": "long"}
    member = fleet.resident("bot", RUN.resource)
    await attempt(member.exec("t1", *RUN.triple, origin, "write run:400 save"))


async def swept(fleet: Fleet, resource: str, times: int, pause_s: float = 300) -> None:
    """Have the watchdog of a member look after it."""
    for number in range(times):
        origin = {"actor": "watchdog", "request": str(number)}
        await attempt(fleet.resident("watchdog", resource).watchdog(origin))
        await trio.sleep(pause_s)


@scenario(faults=LEDGER_LOST, properties=(*EVERYWHERE, READY), settle_s=8_000)
async def ending_of_before(world: World) -> None:
    """A run has ended and goes on under a new generation, of which the ledger hears late (G05)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write save")
    await ended(fleet, RUN)
    fleet.ground.note("run begins", AGAIN.document())
    origin = {"actor": "bot", "request": "again"}
    await attempt(fleet.resident("bot", RUN.resource).attach("t1", *AGAIN.triple, origin))
    await drained(fleet)
    await read_quietly(fleet, 2)
    await begun(fleet, AGAIN)
    await read_quietly(fleet, 2)
    await ended(fleet, AGAIN)
    await read_quietly(fleet, 2)
    await closing(fleet)


@scenario(faults=LEDGER_LOST, properties=(*EVERYWHERE, READY), settle_s=8_000)
async def provisional_ending(world: World) -> None:
    """The ledger holds an ending ahead of its confirmation, and the run works on (G06)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write")
    early = fleet.ledger("bot").put_terminal("r1", "t1", 1, "failed", provisional=True)
    await attempt(early)
    await drained(fleet)
    await read_quietly(fleet, 3)
    await ended(fleet, RUN)
    await read_quietly(fleet, 2)
    await closing(fleet)


@scenario(
    faults=LEDGER_LOST,
    properties=(*EVERYWHERE, READY),
    parameters={"lives": [True, False]},
    settle_s=8_000,
)
async def owners_unheard(world: World, lives: bool) -> None:
    """The state Worker is silent while a fleet is read and while a member is swept (G07)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write save")
    if not lives:
        await ended(fleet, RUN)
    await swept(fleet, RUN.resource, 2, 60)
    await drained(fleet)
    await read_quietly(fleet, 3)
    await ended(fleet, RUN)
    await read_quietly(fleet, 1)
    await closing(fleet)


@scenario(
    faults=(LoseReply("NativeContainer.submit", at_most=1), DuplicateRequest("Resident.exec")),
    properties=(*EVERYWHERE, READY),
    settle_s=8_000,
)
async def counted_once(world: World) -> None:
    """A live run has a command in flight while the fleet is read (G15)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work_long, fleet)
        await trio.sleep(30)
        await drained(fleet)
        await read_quietly(fleet, 3)
    await ended(fleet, RUN)
    await read_quietly(fleet, 1)
    await closing(fleet)


@scenario(
    faults=(
        LoseRequest("Registry.draining", at_most=3),
        LoseReply("Registry.draining", at_most=3),
        LoseReply("Registry.begin_keyed", at_most=1),
    ),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def newcomer_under_fence(world: World) -> None:
    """A new run asks on and on under a fence, and the drain is not always read (G18)."""
    fleet = set_fleet(world)
    await drained(fleet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_quietly, fleet, 2)
        for _ in range(12):
            await begun(fleet, RUN)
            await trio.sleep(10)
    await closing(fleet)


async def read_slowly(fleet: Fleet, resource: str, who: str) -> None:
    """Close the fleet and read it as the router does, where that takes seconds.

    An attempt is what one stack does: *who* has made none before.
    """
    registry = fleet.registry(who)
    producer = fleet.deployment(fleet.ground.versions[-1]).producer.wire()
    owner = {"kind": "preflight", "ref": "slow"}
    fence_id: str = (await registry.set_fence(owner, producer, []))["fenceId"]
    info: dict[str, Any] = await fleet.resident(who, resource).deploy_info()
    await trio.sleep(3)
    version = producer["workerVersion"]
    verdict: dict[str, Any] = await registry.verify_fence(fence_id, version, [])
    ready = verdict["verified"] and (info["executingRuns"], info["unknownRuns"]) == (0, 0)
    fleet.ground.note("verdict", {"ready": ready, "resource": resource})
    await registry.withdraw_fence(fence_id)


@scenario(
    faults=(CorruptReply("Registry.draining", weight=9),),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def admitted_before_fence(world: World) -> None:
    """Runs that are admitted right before a fence reach their member after it was read."""
    fleet = set_fleet(world)
    await refreshed(fleet, RUN.resource, 1)
    await drained(fleet)
    for number in range(1, 13):
        run = Run(f"r{number}", "t1", fence=number)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(begun, fleet, run)
            await trio.sleep(0.01)
            nursery.start_soon(read_slowly, fleet, run.resource, f"reader {number}")
        await ended(fleet, run)
        await trio.sleep(60)
    await closing(fleet)


@scenario(
    faults=(
        *LEDGER_LOST[:2],
        LoseReply("NativeContainer.is_preserved", at_most=1),
        LoseReply("NativeContainer.submit", at_most=1),
        DuplicateRequest("NativeContainer.remove", at_most=1),
        Crash("Resident", at_most=1),
    ),
    properties=EVERYWHERE,
    parameters={"work": ["write", "write save", "save"]},
    settle_s=8_000,
)
async def ended_without_saving(world: World, work: str) -> None:
    """A run has ended, its tree is at a pushed commit, and one file exists nowhere else (G19)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work=work)
    await detached(fleet, RUN)
    await ended(fleet, RUN)
    await swept(fleet, RUN.resource, 2)
    await begun(fleet, AGAIN, work="write")
    await swept(fleet, RUN.resource, 1)
    await ended(fleet, AGAIN)
    await swept(fleet, RUN.resource, 1)
    await closing(fleet)


@scenario(
    faults=(Crash("Resident", at_most=1), Restart("Resident", at_most=1), Abort("Resident")),
    properties=(*EVERYWHERE, READY),
    settle_s=8_000,
)
async def member_restarts(world: World) -> None:
    """A member restarts while its container works on: its counters are gone (G128)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work_long, fleet)
        await trio.sleep(30)
        await drained(fleet)
        await read_quietly(fleet, 4)
        await trio.sleep(300)
    await ended(fleet, RUN)
    await read_quietly(fleet, 1)
    await closing(fleet)


async def work_and_leave(fleet: Fleet, run: Run, work: str, saves: bool) -> None:
    """Let *run* live its whole life."""
    await begun(fleet, run, work=work)
    await trio.sleep(20)
    if saves:
        await detached(fleet, run)
    await ended(fleet, run)


async def refreshed(fleet: Fleet, resource: str, times: int) -> None:
    """Have the refresh workflow bring a member up, step by step."""
    for number in range(times):
        origin = {"actor": "refresh", "request": str(number)}
        await attempt(fleet.resident("refresh", resource).refresh(origin))
        await trio.sleep(45)


@scenario(
    faults=(*ANYTHING, Evict("Resident", at_most=3)),
    properties=(*EVERYWHERE, READY),
    parameters={"saves": [True, False], "again": [True, False]},
    settle_s=8_000,
)
async def members_at_work(world: World, saves: bool, again: bool) -> None:
    """Runs come and go on two members, which are refreshed, swept and read, whatever goes wrong."""
    fleet = set_fleet(world)
    work: Any = "write run:5 save" if saves else "write run:5"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work_and_leave, fleet, RUN, work, saves)
        nursery.start_soon(work_and_leave, fleet, OTHER, "write", False)
        nursery.start_soon(refreshed, fleet, "repo:o/b", 3)
        nursery.start_soon(swept, fleet, "repo:o/a", 3, 50)
        await trio.sleep(60)
        await drained(fleet, 30)
        await read_quietly(fleet, 2)
        if again:
            await work_and_leave(fleet, AGAIN, "write save", True)
    await closing(fleet)


STORIES: Final = (
    ending_of_before,
    provisional_ending,
    owners_unheard,
    counted_once,
    newcomer_under_fence,
    admitted_before_fence,
    ended_without_saving,
    member_restarts,
    members_at_work,
)
"""In the order of their numbers."""

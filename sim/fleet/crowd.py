"""A deploy in a big fleet: hundreds of registrations, thousands of calls, all checks on.

It is what the speed of the system is measured with, and holds at any size.
"""

from typing import Any, Final

import trio

from ..scenario import scenario
from ..world import World
from .acting import Run, begun, deploy, detached, ended
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import set_fleet

__all__ = ["CALLS_EACH", "RETAINED_EACH", "crowd"]

CALLS_EACH: Final = 40
"""Calls of attach, exec and detach for each member."""
RETAINED_EACH: Final = 4
"""Registrations of ended runs that each member keeps."""
STORY_S: Final = 90 * 60
DRAIN_AT_S: Final = 20 * 60


def retained(fleet: Fleet, resource: str, number: int) -> None:
    """Have a workspace there whose run has ended, and whose files exist nowhere else."""
    run = Run(f"{resource} {number}", f"kept-{number}", resource)
    owner = {"runId": run.run_id, "ownerGen": 1, "ownerFence": 1}
    now = fleet.ground.now_ms
    rows: dict[str, Any] = {
        f"reg:{run.thread}": {"thread": run.thread, "registeredAt": now, **owner},
        f"regFence:{run.thread}": owner,
        f"binding:{run.thread}": {
            "thread": run.thread, "user": "bot", "worktree": run.thread, "lastAttachAt": now,
            "evicted": False, "lastOwner": owner,
        },
    }  # fmt: skip
    fleet.store("Resident", resource, rows)
    ending = {
        "id": run.run_id, "thread": run.thread, "ownerGen": 1, "ownerFence": 1,
        "status": "completed", "provisional": False,
    }  # fmt: skip
    fleet.store("RunLedger", "runs", {f"terminal:{run.run_id}": ending})


async def calls(fleet: Fleet, resource: str, nth: int) -> None:
    """Be the bot of one member: one short run after the other, until the story is over."""
    rounds = CALLS_EACH // 4
    pause_s = STORY_S / rounds
    await trio.sleep(pause_s * (nth % 97) / 97)
    for number in range(rounds):
        run = Run(f"{resource} short {number}", f"short-{number}", resource)
        await begun(fleet, run, who=f"bot {nth}", work="write run:1 save")
        await ended(fleet, run, who=f"bot {nth}")
        await detached(fleet, run, who=f"bot {nth}")
        await detached(fleet, run, who=f"bot {nth}")
        await trio.sleep(pause_s)


@scenario(properties=EVERYWHERE, parameters={"members": [5]}, settle_s=8_000, ends_s=200_000)
async def crowd(world: World, members: int) -> None:
    """An ordinary deploy of a big fleet, among calls to every member."""
    resources = [f"repo:o/{number}" for number in range(members)]
    fleet = set_fleet(world, *resources, machines=4)
    for resource in resources:
        for number in range(RETAINED_EACH):
            retained(fleet, resource, number)
    async with trio.open_nursery() as nursery:
        for nth, resource in enumerate(resources):
            nursery.start_soon(calls, fleet, resource, nth)
        await trio.sleep(DRAIN_AT_S)
        report = await deploy(fleet, fleet.artifact()).report()
        assert report["outcome"] == "ready", report
    kept = [key for rows in fleet.log.residents.values() for key in rows if key.startswith("reg:")]
    assert len(kept) == RETAINED_EACH * members, "a retained registration is gone"

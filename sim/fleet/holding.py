"""Holds of members that are older than the fence of a deploy: what the fence may still rely on.

By the specification's own `live_drain` a verified fence vanishes before its upload, with the drain
in which it stands: `docs/findings/holds-before-fence.md` says how.
"""

from typing import Final

import attrs
import trio

from ...actors.fleet import DrainRecord
from ..mutants import Mutant
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, deploy, ended
from .deploying import closing
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import set_fleet
from .permitting import RUN, one_request
from .plane import APPLICATION

__all__ = ["HOLDING", "STORIES"]

FLEET: Final = "durasim.actors.fleet"


async def newcomers(fleet: Fleet, after: float) -> None:
    """Let a new run ask every two seconds, around the end of the holds."""
    await trio.sleep(after)
    for number in range(20):
        run = Run(f"new-{number}", f"n-{number}", "repo:o/b")
        await begun(fleet, run)
        await ended(fleet, run)
        await trio.sleep(2)


@scenario(
    parameters={"retained": [True, False], "wait": [585, 590, 594, 597]},
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def holds_before_fence(world: World, retained: bool, wait: float) -> None:
    """A reconcile by hand holds the drain before the deploy's fence; its holds end in between."""
    fleet = set_fleet(world)
    await one_request(fleet, Run("warm", "w", "repo:o/b"), "write save")
    if retained:
        await one_request(fleet, RUN, "write")
    artifact = fleet.artifact(image="registry.example/fleet:2")

    async def prepare() -> None:
        stamp = fleet.ground.versions[-1].artifact.stamp
        target = fleet.ground.application(APPLICATION)
        body = {
            "protocol": 2, "build": stamp.artifact_id, "commit": stamp.commit,
            "target": attrs.evolve(target, version=target.version + 7).wire(),
        }  # fmt: skip
        await fleet.ask("operator", "POST", "/reconcile", body, scope="drain")
        await trio.sleep(wait)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(newcomers, fleet, wait + 5)
        await deploy(fleet, artifact, prepare=prepare).report()
    await closing(fleet)


def holds_end_drains(record: DrainRecord | None, now: int) -> DrainRecord | None:
    """End a drain at the end of its holds, whether or not its lift was asked (C.0)."""
    if record is None or record.until <= now:
        return None
    has_ended = record.holds and record.holds_until is not None and record.holds_until <= now
    return None if has_ended else record


HOLDING: Final = (
    Mutant(
        "holds_end_drains", f"{FLEET}.drain:live_drain", holds_end_drains, holds_before_fence,
        ("INV-09", "INV-10"), parameters={"retained": True, "wait": 594}, needs_fault=False,
    ),
)  # fmt: skip
"""The rule as the specification has it."""

STORIES: Final = (holds_before_fence,)
"""Every story told here."""

"""Members that join and leave while the fleet is read: the list of a reading is that of its end.

By the specification's own rules a verdict is ready, and a recovery commits, without a member that
was listed meanwhile: `docs/findings/fleet/member-that-joins.md` says how.
"""

# A mutant stands in for a method.
# pyright: reportPrivateUsage=false

from typing import Any, Final

import trio

from ...actors.fleet import Granted, Registry, attempt
from ..mutants import Mutant
from ..scenario import scenario
from ..world import World
from .acting import recover
from .attempting import retained, slow_fleet
from .checks import Reached
from .deploying import closing
from .fleet import Fleet
from .ground import Container
from .invariants import EVERYWHERE
from .recovering import PERMIT, debt

__all__ = ["JOINING", "STORIES", "member_joins", "member_joins_a_recovery"]

FLEET: Final = "durasim.actors.fleet"
JOINED: Final = Reached("a member joins", "answer Resident.onboard")
NEWCOMERS: Final = 6


async def join(fleet: Fleet, number: int) -> None:
    """Onboard a new member."""
    resource, member = f"repo:o/new-{number}", f"new-member-{number}"
    fleet.members[resource] = member
    fleet.ground.containers[member] = Container(resource)
    origin = {"actor": "admin", "request": f"onboard {number}"}
    await attempt(fleet.resident("admin", resource).onboard(member, origin))


async def read_once(fleet: Fleet) -> None:
    """Close the fleet, read it, and take the fence back as whoever has set it may."""
    said = await fleet.ask("reader", "POST", "/deploy-fence", {}, scope="drain")
    if isinstance(said, Granted) and said.value["fenceReady"]:
        await fleet.registry("reader").withdraw_fence(said.value["draining"]["fenceId"])


@scenario(properties=(*EVERYWHERE, JOINED), settle_s=8_000)
async def member_joins(world: World) -> None:
    """Members ask to join right before a fence, and one to leave: a verdict covers its list."""
    fleet = slow_fleet(world)
    await retained(fleet)
    await fleet.registry("reader").drain(90, "reader", "to read")
    for number in range(NEWCOMERS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(join, fleet, number)
            await trio.sleep(0.01 * (number % 2))
            nursery.start_soon(read_once, fleet)
        await trio.sleep(60)
    body = {"resource": "repo:o/b", "origin": {"actor": "admin", "request": "offboard"}}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_once, fleet)
        await fleet.ask("admin", "POST", "/offboard", body, scope="admin")
    await closing(fleet)


@scenario(
    properties=EVERYWHERE, settle_s=8_000, parameters={"after": [0.0, 0.004, 0.006, 0.01, 0.02]}
)
async def member_joins_a_recovery(world: World, after: float) -> None:
    """A member asks to join while the fleet is read for a recovery, which counts no permits."""
    fleet = slow_fleet(world)
    await retained(fleet)
    await debt(fleet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recover, fleet, PERMIT)
        await trio.sleep(after)
        nursery.start_soon(join, fleet, 1)
    await closing(fleet)


def members_change_under_fence(self: Registry) -> None:
    """Let whoever has a permit from before the fence change the list (OP-32)."""
    del self


def mutant(name: str, story: Any, *expected: str) -> Mutant:
    """Return the rule as the specification has it, as *story* sees it."""
    return Mutant(
        name, f"{FLEET}.registry:Registry._require_same_members", members_change_under_fence,
        story, expected, needs_fault=False,
    )  # fmt: skip


JOINING: Final = (
    mutant("members_join_under_fence", member_joins, "INV-12"),
    mutant("members_join_a_recovery", member_joins_a_recovery, "INV-46"),
)
"""The rule as the specification has it."""

STORIES: Final = (member_joins, member_joins_a_recovery)
"""Every story told here."""

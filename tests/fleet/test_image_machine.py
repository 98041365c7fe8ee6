"""Each row of the table of a member's image progress, walked on a member (E.6)."""

from typing import Any

import pytest
import trio

from durasim.actors.fleet.images import IMAGE_MACHINE, ImageMove
from durasim.sim.fleet.plane import NativeContainer

from .residence import BUILD, A, Residence, reside

DEFERRED = ("deferred", False, None)
RESTARTED = ("restarted", False, None)
INACTIVE = ("inactive", True, None)


async def other(here: Residence) -> None:
    """Owe nothing: there is another progress, or none."""
    assert await here.reconcile(here.other_target(), "build-0") == INACTIVE


async def owed(here: Residence) -> None:
    """Owe the report for T, with a container that runs."""
    await here.attach()
    assert await here.reconcile(here.target()) == DEFERRED
    await here.detach()


async def cycled(here: Residence) -> None:
    """Owe the report for T, and the container was stopped."""
    await owed(here)
    assert await here.reconcile(here.target()) == RESTARTED


async def done(here: Residence) -> None:
    """Have reported for T."""
    await cycled(here)
    assert await here.reconcile(here.target()) == INACTIVE


async def reconcile(here: Residence) -> None:
    """Ask for T."""
    await here.stub.reconcile_for_deploy(A, BUILD, here.target())


async def reconcile_unreadable(here: Residence) -> None:
    """Ask for T while the container cannot be read."""
    here.container.probe_fails = True
    await reconcile(here)


async def reconcile_inactive(here: Residence) -> None:
    """Ask for T after the platform has stopped the container."""
    here.fleet.ground.stop("member-1", "platform")
    await reconcile(here)


async def reconcile_hydrating(here: Residence) -> None:
    """Ask for T while the replacement hydrates, and look before it is whole."""
    here.container.hydrate_s = 100
    await here.world.client("platform").get(NativeContainer, "member-1").start()
    asked = here.stub.reconcile_for_deploy(A, BUILD, here.target())
    await trio.sleep(20)
    assert asked is not None


async def replaced(here: Residence) -> None:
    """Have the replacement boot and become whole."""
    await here.world.client("platform").get(NativeContainer, "member-1").start()
    await trio.sleep(30)


async def reconcile_another(here: Residence) -> None:
    """Ask for another target than the one that is owed."""
    said = await here.stub.reconcile_for_deploy(A, "build-3", here.target())
    assert said["result"] == "error"


async def time_passes(here: Residence) -> None:
    """Wait for five hours."""
    await trio.sleep(5 * 3_600)
    assert here.world.now_s >= 5 * 3_600


WALKS: dict[tuple[str, str], tuple[Any, Any]] = {
    ("other or none, not owed", "reconcile T"): (other, reconcile_unreadable),
    ("T, not owed", "reconcile T"): (done, reconcile),
    ("T, owed", "reconcile T, quiet, stopped"): (owed, reconcile),
    ("T, owed", "reconcile T, busy or unreadable"): (owed, reconcile_unreadable),
    ("T, owed", "seen inactive"): (owed, reconcile_inactive),
    ("T cycled, owed", "seen inactive"): (cycled, reconcile),
    ("T cycled, owed", "new boot, hydrated"): (cycled, replaced),
    ("T cycled, owed", "reconcile T, hydrating"): (cycled, reconcile_hydrating),
    ("P, owed", "reconcile T"): (owed, reconcile_another),
    ("P, owed", "report by its token"): (cycled, replaced),
    ("any", "time"): (owed, time_passes),
}
"""How each row of the machine is walked: what comes before it, and what happens."""


def stands(here: Residence, after: str) -> bool:
    """Whether the member stands as a row says: owing or not, for T or P, cycled or not."""
    progress = here.stored["image:progress"]
    about = progress["build"] == BUILD and progress["target"] == here.target()
    issued = progress["cycleIssued"] is True
    owes = "image:pending" in here.stored
    return (
        about
        and {
            "T, owed": owes and not issued,
            "T cycled, owed": owes and issued,
            "T, not owed": not owes,
            "P, owed": owes,
            "P, not owed": not owes,
            "the same": owes and not issued,
        }[after]
    )


@pytest.mark.parametrize("move", IMAGE_MACHINE, ids=lambda move: f"{move.state}: {move.event}")
def test_each_row_of_the_image_machine_is_what_happens(move: ImageMove) -> None:
    """What comes after it is stored."""

    async def story(here: Residence) -> None:
        before, event = WALKS[move.state, move.event]
        await before(here)
        await event(here)
        assert stands(here, move.after), here.stored

    reside(story)

"""What is said of faults that struck in no run."""

from durasim.actors import DurableObject
from durasim.sim import (
    Crash,
    Fault,
    LoseQuery,
    LoseReply,
    LoseRequest,
    SlowDisk,
    World,
    explore,
    scenario,
)
from durasim.sim.unstruck import never_struck


class Lamp(DurableObject):
    """Is on."""

    async def on(self) -> None:
        """Write."""
        await self.storage.put("on", value=True)


async def lit(world: World) -> None:
    """Turn it on."""
    await world.client("ann").get(Lamp, "l").on()


def told(*plan: Fault, runs: int = 20) -> str | None:
    """Explore with *plan* and return the line."""
    return never_struck(explore(scenario(faults=plan)(lit), runs=runs))


def test_what_strikes_is_no_matter() -> None:
    """Nothing is said if each fault struck, or must not."""
    assert told(SlowDisk(Lamp), LoseReply(at_most=0)) is None


def test_a_method_that_is_misspelt_is_named() -> None:
    """As far as the class is known."""
    assert told(LoseReply("Lamp.no"), Crash("Nobody.on")) == (
        "lit: never struck in any of 20 runs: reply lost of Lamp.no "
        "(Lamp has no method 'no'; it has on) and crash of Nobody.on"
    )


def test_of_many_only_three_are_named() -> None:
    """It stays one line."""
    kinds = (LoseReply, LoseRequest, LoseQuery, Crash, SlowDisk)
    assert told(*(kind("Nobody") for kind in kinds), runs=1) == (
        "lit: never struck in the only run: reply lost of Nobody, request lost of Nobody, "
        "query lost of Nobody and 2 more"
    )

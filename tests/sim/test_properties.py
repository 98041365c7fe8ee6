"""When each kind of property is asked."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import trio

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import (
    Job,
    Ordinary,
    Property,
    RunResult,
    World,
    at_rest,
    eventually,
    explore,
    run_once,
    scenario,
)


class Pulse(DurableObject):
    """Counts, and counts on by itself if it was woken."""

    async def step(self) -> None:
        """Count one."""
        await self.storage.put("n", await self.storage.get("n", 0) + 1)

    async def wake(self) -> None:
        """Count on for ever."""
        await self.storage.set_alarm(timedelta(seconds=60))

    async def alarm(self, info: AlarmInfo) -> None:
        """Count and ask for the next."""
        del info
        await self.step()
        await self.wake()


def ran(story: Callable[[World], Awaitable[None]], *properties: Property[Any]) -> RunResult:
    """Run *story* once."""
    made = scenario(properties=properties, settle_s=600)(story)
    return run_once(Job(scenario=made, seed=1, source=Ordinary()))


def count(world: World) -> int:
    """Return the count that is stored."""
    number: int = world.stored(Pulse, "p").get("n", 0)
    return number


@eventually
def is_one(world: World) -> bool:
    """The count is one at some moment."""
    return count(world) == 1


@eventually
def is_three(world: World) -> None:
    """The count is three at some moment."""
    assert count(world) == 3, f"it is {count(world)}"


@at_rest
def is_still(world: World) -> bool:
    """Something was counted."""
    return count(world) > 0


async def stepping(world: World) -> None:
    """Three steps; faults have ended after the first two."""
    pulse = world.client("ann").get(Pulse, "p")
    await pulse.step()
    await pulse.step()
    world.end_faults()
    await pulse.step()
    await pulse.step()


async def waking(world: World) -> None:
    """Leave something behind that never rests."""
    await world.client("ann").get(Pulse, "p").wake()
    await trio.sleep(1)


def test_eventually_is_one_moment_after_the_faults() -> None:
    """What was true before does not count; what is true for a moment later does."""
    result = ran(stepping, is_one, is_three)

    assert [(each.property, each.message) for each in result.failures] == [
        ("is_one", "The count is one at some moment.")
    ]


def test_eventually_is_asked_while_the_world_settles() -> None:
    """An alarm makes it true, for a minute, long after the story; if none does, it says why not."""
    assert ran(waking, is_one, is_three).ok

    async def short(world: World) -> None:
        await world.client("ann").get(Pulse, "p").step()

    (failure,) = ran(short, is_three).failures
    assert failure.message == "it is 1"


def test_at_rest_is_not_asked_where_there_is_no_rest() -> None:
    """The run says so, and a batch that never came to rest does not hold."""
    result = ran(waking, is_still)

    assert result.ok
    assert result.unasked == ("is_still",)
    assert result.remarks == (
        "is_still was not asked: things were still scheduled when the world was cut off",
    )
    exploration = explore(scenario(properties=(is_still,), settle_s=600)(waking), runs=3)
    assert not exploration.ok
    assert [(each.property, each.message) for each in exploration.unreached] == [
        ("the rest of is_still", "no run of 3 reached it")
    ]


def test_at_rest_is_asked_where_there_is() -> None:
    """It fails as any other."""

    async def nothing(world: World) -> None:
        del world

    result = ran(nothing, is_still)

    assert [each.property for each in result.failures] == ["is_still"]
    assert result.unasked == ()
    assert ran(stepping, is_still).ok

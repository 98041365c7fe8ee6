"""What is left of the dead where their own scope does not reach, and the time that it takes."""

from contextvars import Context
from typing import Any

import trio

from durasim.actors import Address, DurableObject, OutcomeUnknown
from durasim.sim import Crash, Job, Recorded, Scenario, World, run_once


async def stubborn() -> None:
    """Sleep long, whoever cancels it."""
    with trio.CancelScope(shield=True):
        await trio.sleep(1000)


class Parent(DurableObject):
    """Runs a task that has none of its context variables."""

    async def work(self) -> None:
        """Write, with the task running."""
        async with trio.open_nursery() as nursery:
            Context().run(nursery.start_soon, stubborn)
            await self.storage.put("k", 1)
            await self.sleep(1)


async def crashed(world: World) -> None:
    """The parent dies after its commit."""
    try:
        await world.client("a").get(Parent, "p").work()
    except OutcomeUnknown:
        return
    raise AssertionError("it went on")


def test_a_nameless_task_in_a_nursery_of_the_dead_ends_with_them() -> None:
    """It is found from the nursery down, and moves no time."""
    told = Scenario("crashed", crashed, (Crash(Parent, at_most=1),))
    source = Recorded([("commit 1 of Parent/p in work", "crash after")])
    result = run_once(Job(scenario=told, seed=1, source=source))

    assert not result.failures, result.failures
    assert result.virtual_seconds < 100


class Guest(DurableObject):
    """Leaves a task in a nursery of somebody else."""

    async def leave(self) -> None:
        """Start it, and be idle."""
        nursery: Any = self.env["nursery"]
        nursery.start_soon(stubborn)


def test_what_the_evicted_left_with_others_ends_before_time_moves() -> None:
    """They end by themselves when they are idle; the living nursery is free at that moment."""
    left: list[int] = []

    async def evicted(world: World) -> None:
        async with trio.open_nursery() as nursery:
            world.env["nursery"] = nursery
            await world.client("a").get(Guest, "g").leave()
            left.append(len(nursery.child_tasks))
            await trio.sleep(15)
            assert world.incarnation(Address("Guest", "g")) is None
            left.append(len(nursery.child_tasks))

    result = run_once(Job(scenario=Scenario("evicted", evicted), seed=1, source=Recorded([])))

    assert not result.failures, result.failures
    assert left == [1, 0]
    assert result.virtual_seconds < 100

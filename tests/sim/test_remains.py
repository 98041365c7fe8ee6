"""What is left of the dead where their own scope does not reach, and the time that it takes."""

from contextvars import Context

import trio

from durasim.actors import DurableObject, OutcomeUnknown
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

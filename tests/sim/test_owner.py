"""Whose code runs is known in foreign contexts, too; code of nobody has no effect."""

from contextvars import Context
from functools import partial
from typing import cast

import pytest
import trio

from durasim.actors import DurableObject, OutcomeUnknown
from durasim.sim import Job, Ledger, Ordinary, RunResult, Scenario, World, run_once, scenario
from durasim.sim.owner import owner
from durasim.wire import IncarnationGone


def run(story: Scenario) -> RunResult:
    """Run *story* once, ordinarily."""
    return run_once(Job(scenario=story, seed=1, source=Ordinary()))


class Payer(DurableObject):
    """Has effects by ways around its own context."""

    def ledger(self) -> Ledger:
        """Return the outside."""
        return cast(Ledger, self.env["ledger"])

    async def pay(self) -> None:
        """Pay in a context that knows nobody."""
        Context().run(partial(self.ledger().note, "paid"))

    async def pay_dead(self) -> None:
        """Do the same after death."""
        try:
            await trio.sleep_forever()
        finally:
            Context().run(partial(self.ledger().note, "paid"))

    async def pay_by_system_task(self) -> None:
        """Leave a task that no crash ends."""

        async def late() -> None:
            self.ledger().note("late")

        trio.lowlevel.spawn_system_task(late)

    async def pay_by_token(self) -> None:
        """Leave a function to trio."""
        trio.lowlevel.current_trio_token().run_sync_soon(self.ledger().note, "late")

    async def pay_by_both(self) -> None:
        """Leave a task, from a context that knows nobody."""

        async def late() -> None:
            self.ledger().note("late")

        Context().run(trio.lowlevel.spawn_system_task, late)


def test_a_foreign_context_changes_nothing() -> None:
    """The effect is the object's, in its name."""

    @scenario()
    async def story(world: World) -> None:
        await world.client("ann").get(Payer, "p").pay()
        assert [entry.actor for entry in world.ledger.entries] == ["Payer/p"]

    assert run(story).failures == ()


def test_the_dead_have_no_effect_in_a_foreign_context() -> None:
    """Their task says that they are dead."""

    @scenario()
    async def story(world: World) -> None:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def call() -> None:
                with pytest.raises(OutcomeUnknown):
                    await world.client("ann").get(Payer, "p").pay_dead()

            await trio.sleep(1)
            world.default().crash("power")
        await trio.sleep(1)
        assert world.ledger.entries == []

    assert run(story).failures == ()


@pytest.mark.parametrize(
    ("way", "what"),
    [
        ("pay_by_system_task", "trio.lowlevel.spawn_system_task()"),
        ("pay_by_both", "trio.lowlevel.spawn_system_task()"),
        ("pay_by_token", "TrioToken.run_sync_soon()"),
    ],
)
def test_nothing_is_left_to_nobody(way: str, what: str) -> None:
    """The fence refuses it, and the run fails for it."""

    @scenario()
    async def story(world: World) -> None:
        with pytest.raises(Exception, match="outlives every crash"):
            await getattr(world.client("ann").get(Payer, "p"), way)()
        await trio.sleep(1)
        assert world.ledger.entries == []

    (failure,) = run(story).failures

    assert failure.property == "determinism"
    assert failure.message.startswith(f"{what} in test_owner.py:")
    assert "use self.wait_until(…), or a nursery" in failure.message


async def test_a_task_of_nobody_is_refused() -> None:
    """As the task of this test is one."""
    with pytest.raises(IncarnationGone, match="a task of nobody"):
        owner()


def test_outside_of_tasks_the_world_itself_acts() -> None:
    """It belongs to no actor."""
    assert owner() is None

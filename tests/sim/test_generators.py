"""Async generators that nobody finishes are closed where they are dropped."""

import gc
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
import trio

from durasim.actors import DurableObject
from durasim.sim import Job, Ledger, Ordinary, RunResult, World, run_once, scenario

HELD: list[object] = []


def run(story: Callable[[World], Awaitable[None]]) -> RunResult:
    """Run *story* once, ordinarily."""
    return run_once(Job(scenario=scenario(name="story")(story), seed=1, source=Ordinary()))


async def numbers(ledger: Ledger, order: list[str]) -> AsyncGenerator[int, None]:
    """Count, and clean up when dropped."""
    try:
        for number in range(10):
            yield number
    finally:
        order.append("closing")
        ledger.note("closed")
        await trio.sleep(1)
        order.append("never")


class Reader(DurableObject):
    """Reads from generators and drops them."""

    async def first(self) -> str:
        """Take one number."""
        ledger = self.env["ledger"]
        assert isinstance(ledger, Ledger)
        order: list[str] = []
        async for number in numbers(ledger, order):
            order.append(f"got {number}")
            break
        order.append("dropped")
        return ", ".join(order)

    async def hold(self) -> None:
        """Take one number, and keep the generator where no world ends it."""
        ledger = self.env["ledger"]
        assert isinstance(ledger, Ledger)
        held = numbers(ledger, [])
        await anext(held)
        HELD.append(held)


def test_a_living_object_closes_it_at_once_and_as_itself() -> None:
    """What its `finally` does counts; it cannot wait there, as under trio."""
    answers: list[str] = []

    async def story(world: World) -> None:
        answers.append(await world.client("alice").get(Reader, "r").first())

    result = run(story)

    assert answers == ["got 0, closing, dropped"]
    assert [row.actor for row in result.rows if row.kind == "effect"] == ["Reader/r"]


def test_what_outlives_its_world_is_nobodys() -> None:
    """It is closed when it is collected, without effects and without a word."""

    async def story(world: World) -> None:
        await world.client("alice").get(Reader, "r").hold()

    result = run(story)
    HELD.clear()
    gc.collect()

    assert result.failures == ()
    assert "effect" not in {row.kind for row in result.rows}


def test_a_generator_that_swallows_everything_is_left_alone() -> None:
    """It neither hangs nor warns."""

    async def stubborn() -> AsyncGenerator[int, None]:
        while True:
            try:
                yield 1
                await trio.sleep(1)
            except BaseException:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1)
                await trio.Event().wait()

    async def story(world: World) -> None:
        async for _ in stubborn():
            break
        await trio.sleep(1)
        assert world.now_s == 1

    assert run(story).failures == ()


async def test_outside_of_worlds_they_are_left_to_trio() -> None:
    """A generator of the code around is closed by trio, which warns."""

    async def outside() -> AsyncGenerator[int, None]:
        yield 1

    async def drop() -> None:
        async for _ in outside():
            break

    with pytest.warns(ResourceWarning, match="garbage collected"):
        await drop()
    await trio.testing.wait_all_tasks_blocked()

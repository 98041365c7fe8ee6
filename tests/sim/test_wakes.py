"""Tasks that wake together: one runs now, the others are events that may come later."""

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.lowlevel

from durasim.actors import DurableObject
from durasim.sim import Job, Ordinary, Recorded, RunResult, World, run_once, scenario

Story = Callable[[World], Awaitable[None]]


def run(story: Story, *deviations: tuple[str, str]) -> RunResult:
    """Run *story* once with *deviations*."""
    source = Recorded(deviations)
    return run_once(Job(scenario=scenario(name="story")(story), seed=1, source=source, log=True))


def race(order: list[str]) -> Story:
    """Return a story in which three tasks wake at once, each twice."""

    async def story(world: World) -> None:
        del world
        event = trio.Event()

        async def child(name: str) -> None:
            await event.wait()
            order.append(name)
            await trio.lowlevel.checkpoint()
            order.append(name.upper())

        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(child, name)
            await trio.sleep(1)
            event.set()

    return story


def test_the_ordinary_order_is_that_of_creation_and_runs_on() -> None:
    """Who was made first goes first, and goes on until it waits for others."""
    order: list[str] = []
    result = run(race(order))

    assert result.failures == ()
    assert order == ["a", "A", "b", "B", "c", "C"]


def test_a_wake_can_be_put_behind_all_else() -> None:
    """One deviation by name: the first child's wake comes last."""
    ordinary: list[str] = []
    wakes = [name for name, _ in run(race(ordinary)).log if name.startswith("wake")]
    order: list[str] = []
    # The first three wakes are those in which the children begin to run.
    result = run(race(order), (wakes[3], "behind"))

    assert len(wakes) == 6
    assert order == ["b", "B", "c", "C", "a", "A"]
    assert [each.choice for each in result.deviations] == [wakes[3]]
    assert "comes after all else of that moment" in result.deviations[0].sentence


@pytest.mark.parametrize("first", [True, False])
def test_a_single_wake_is_no_choice(first: bool) -> None:
    """Where only one can run there is nothing to decide."""

    async def story(world: World) -> None:
        del world
        await trio.sleep(1 if first else 2)
        await trio.lowlevel.checkpoint()

    assert run(story).log == ()


class Pair(DurableObject):
    """Handles one event at a time, and notices if two overlap before the first awaits."""

    overlaps = 0

    async def add(self, name: str) -> int:
        """Append in one turn."""
        names: list[str] = await self.storage.get("names") or []
        names.append(name)
        await self.storage.put("names", names)
        return len(names)


def test_whom_a_gate_lets_in_runs_before_the_next_event() -> None:
    """However many others wake at that moment, each event has its turn before the next enters."""
    seen: list[list[str]] = []

    async def story(world: World) -> None:
        event = trio.Event()

        async def client(name: str) -> None:
            await event.wait()
            stubs = [world.client(name).get(Pair, f"pair-{number}") for number in range(2)]
            calls = [stub.add(name) for stub in stubs for _ in range(3)]
            for call in calls:
                await call

        async def spin() -> None:
            for _ in range(6_000):
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            for name in ("alice", "bob"):
                nursery.start_soon(client, name)
            nursery.start_soon(spin)
            await trio.sleep(1)
            event.set()
        seen.extend(world.stored(Pair, f"pair-{number}")["names"] for number in range(2))

    result = run(story)

    assert result.failures == ()
    assert [sorted(names) for names in seen] == [["alice"] * 3 + ["bob"] * 3] * 2


def test_an_ordinary_source_never_deviates() -> None:
    """And logs nothing unless asked."""
    story = scenario(name="story")(race([]))
    result = run_once(Job(scenario=story, seed=1, source=Ordinary()))

    assert result.deviations == ()
    assert result.log == ()

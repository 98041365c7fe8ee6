"""Who waits for whom: whole stories are in `tests/conformance/test_deadlocks.py`."""

from datetime import timedelta
from typing import Any

import trio

from durasim.actors import AlarmInfo, Deadlock, DurableObject
from durasim.sim import World

from ..actors.stage import tell


class Queue(DurableObject):
    """One request after the other."""

    delivery = "serial"

    async def ask(self, *others: str) -> list[str]:
        """Ask all of *others* at once for nothing; the cycles that this would close."""
        said: list[str] = []

        async def child(call: Any) -> None:
            said.append(await cycle_of(call))

        async with trio.open_nursery() as nursery:
            for other in others:
                nursery.start_soon(child, self.objects.get(Queue, other).nothing())
        return said

    async def chain(self, *others: str) -> str:
        """Ask the first of *others* to ask the rest."""
        first, *rest = others
        stub = self.objects.get(Queue, first)
        return await cycle_of(stub.chain(*rest) if rest else stub.nothing())

    async def nothing(self) -> str:
        """Answer."""
        return "nothing"

    async def leave_section(self) -> None:
        """Leave a critical section over, which waits for a call and keeps the next request out."""

        async def work() -> None:
            await self.block_concurrency_while(self.objects.get(Queue, "c").nothing)

        self.wait_until(work)


async def cycle_of(call: Any) -> str:
    """Return the cycle that *call* would close, or its answer."""
    try:
        return str(await call)
    except Deadlock as deadlock:
        return " -> ".join(deadlock.cycle)


def test_a_call_that_is_under_way_is_no_wait_yet() -> None:
    """Neither to an object that does not run, nor to one that does."""

    async def story(world: World) -> None:
        client = world.client("c")
        for _ in range(2):
            asking = client.get(Queue, "a").ask("b")
            meanwhile = client.get(Queue, "a").nothing()
            assert await asking == ["nothing"]
            assert await meanwhile == "nothing"
        assert world.now_s == 2

    late = [(f"request {number} of Queue/b.nothing by Queue/a", "1 s late") for number in (1, 2)]
    tell(story, *late)


def test_a_request_behind_a_section_waits_for_no_request() -> None:
    """The object is free; it goes on when the section ends."""

    async def story(world: World) -> None:
        client = world.client("c")
        await client.get(Queue, "b").leave_section()
        asking = client.get(Queue, "a").ask("b")
        meanwhile = client.get(Queue, "a").nothing()
        assert await asking == ["nothing"]
        assert await meanwhile == "nothing"
        assert world.now_s == 1

    tell(story, ("request 1 of Queue/c.nothing by Queue/b", "1 s late"))


def test_a_call_under_way_to_an_object_that_waits_is_no_wait_yet() -> None:
    """It has not been queued there, and nobody knows whether it will be."""

    async def story(world: World) -> None:
        client = world.client("c")
        asking = client.get(Queue, "b").ask("c")
        await trio.sleep(0.5)
        assert await client.get(Queue, "a").ask("b") == ["nothing"]
        assert await asking == ["nothing"]
        assert world.now_s == 1.5

    tell(
        story,
        ("request 1 of Queue/c.nothing by Queue/b", "1 s late"),
        ("request 1 of Queue/b.nothing by Queue/a", "1 s late"),
    )


class Ringing(Queue):
    """Its alarm asks another object to ask back."""

    async def set(self) -> None:
        """Ring at once."""
        await self.storage.set_alarm(timedelta())

    async def alarm(self, info: AlarmInfo) -> None:
        """Ask."""
        del info
        said = await self.objects.get(Asking, "a").ask_back(self.address.name)
        await self.storage.put("said", said)


class Asking(Queue):
    """Asks back."""

    async def ask_back(self, name: str) -> str:
        """Ask, and say what cycle that would close."""
        return await cycle_of(self.objects.get(Ringing, name).nothing())


def test_a_cycle_may_go_through_an_alarm() -> None:
    """While its handler runs, requests wait for it as for any other."""

    async def story(world: World) -> None:
        await world.client("c").get(Ringing, "r").set()
        await trio.sleep(1)
        cycle = "Asking/a -> Ringing/r -> Asking/a"
        assert world.stored(Ringing, "r") == {"said": cycle}

    tell(story)


def test_every_call_that_closes_a_cycle_is_refused() -> None:
    """Also when one request closes several; others of it are answered."""

    async def story(world: World) -> None:
        said = await world.client("c").get(Queue, "a").ask("a", "b", "a")
        assert sorted(said) == ["Queue/a -> Queue/a", "Queue/a -> Queue/a", "nothing"]

    tell(story)


def test_ways_that_meet_are_gone_once() -> None:
    """Two requests queue at one object, which waits for nobody in a cycle."""

    class Holding(Queue):
        """Holds its place while it calls somebody."""

        async def hold(self) -> None:
            """Call."""
            await self.objects.get(Queue, "c").nothing()

        async def both(self, other: str) -> list[str]:
            """Ask twice."""
            calls = [self.objects.get(Holding, other).nothing() for _ in range(2)]
            said: list[str] = []

            async def child(call: Any) -> None:
                said.append(await cycle_of(call))

            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(child, call)
            return said

    async def story(world: World) -> None:
        client = world.client("c")
        holding = client.get(Holding, "d").hold()
        assert await client.get(Holding, "a").both("d") == ["nothing"] * 2
        await holding

    tell(story, ("request 1 of Queue/c.nothing by " + Holding.stored_name + "/d", "1 s late"))


def test_a_cycle_may_be_long_and_go_over_several_machines() -> None:
    """A hundred objects; the caller of the refused request comes first and last."""

    async def story(world: World) -> None:
        world.machine("one", (Queue,))
        world.machine("two", (Queue,))
        names = [f"q{number}" for number in range(100)]
        homes = {world.place(world.client("c").get(Queue, name).address).name for name in names}
        assert homes == {"one", "two"}
        said = await world.client("c").get(Queue, names[0]).chain(*names[1:], names[0])
        cycle = said.split(" -> ")
        assert (cycle[0], cycle[1], cycle[-1]) == ("Queue/q99", "Queue/q0", "Queue/q99")
        assert len(set(cycle)) == 100

    tell(story)

"""A counter that waits in the wrong place: what was read is old when it is written.

    durasim explore examples/counter.py:naive
    durasim explore examples/counter.py:repaired

Each visit counts for as much as the rate object says at that moment. While a counter waits for
another object, other visits may enter. The naive counter reads its total before it waits, and what
came in between is overwritten. No fault is needed: the order of the events is enough.
"""

import trio

from durasim.actors import DurableObject
from durasim.sim import World, at_rest, scenario


class Rate(DurableObject):
    """Knows what one visit counts for."""

    async def current(self) -> int:
        """Return it."""
        return 3


class Counter(DurableObject):
    """Counts visits. Stores `total`, the sum so far."""

    async def visit_stale(self) -> None:
        """Read, wait, write: wrong."""
        total = await self.storage.get("total", 0)
        rate = await self.objects.get(Rate, "visits").current()
        await self.storage.put("total", total + rate)

    async def visit(self) -> None:
        """Wait first. Reading and writing storage lets nothing else in, so they stay together."""
        rate = await self.objects.get(Rate, "visits").current()
        total = await self.storage.get("total", 0)
        await self.storage.put("total", total + rate)


@at_rest
def each_visit_counts(world: World) -> None:
    """The total is three times the number of visits."""
    visits = world.ledger.count("visit")
    total = world.stored(Counter, "page").get("total", 0)
    assert total == 3 * visits, f"{visits} visits count {3 * visits}, and the total is {total}"


@scenario(properties=(each_visit_counts,), parameters={"visitors": (2, 3)})
async def naive(world: World, visitors: int = 2) -> None:
    """Visitors come at the same time, to the counter that reads before it waits."""

    async def come(name: str) -> None:
        world.ledger.note("visit")
        await world.client(name).get(Counter, "page").visit_stale()

    async with trio.open_nursery() as nursery:
        for number in range(visitors):
            nursery.start_soon(come, f"visitor-{number}")


@scenario(properties=(each_visit_counts,), parameters={"visitors": (2, 3)})
async def repaired(world: World, visitors: int = 2) -> None:
    """Visitors come at the same time, to the counter that waits before it reads."""

    async def come(name: str) -> None:
        world.ledger.note("visit")
        await world.client(name).get(Counter, "page").visit()

    async with trio.open_nursery() as nursery:
        for number in range(visitors):
            nursery.start_soon(come, f"visitor-{number}")

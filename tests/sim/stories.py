"""Small scenarios that the tests of exploration share."""

import itertools

import trio

from durasim.actors import DurableObject, OutcomeUnknown
from durasim.sim import Crash, LoseReply, World, always, scenario, sometimes

CALLS = itertools.count()
"""How often the process has run `leaking`: what no run may look at."""


class Tally(DurableObject):
    """Counts."""

    async def add(self, by: int) -> int:
        """Add; a negative total is never right."""
        total = await self.storage.get("total", 0) + step(by)
        await self.storage.put("total", total)
        return int(total)


def step(by: int) -> int:
    """Return what is added: a mutant replaces it."""
    return by


async def adding(world: World, *, clients: int, retries: bool) -> None:
    """Each client adds twice."""

    async def work(name: str) -> None:
        tally = world.client(name).get(Tally, "t")
        for _ in range(2):
            while True:
                try:
                    await tally.add(1)
                    break
                except OutcomeUnknown:
                    if not retries:
                        raise

    async with trio.open_nursery() as nursery:
        for number in range(clients):
            nursery.start_soon(work, f"client-{number}")
    assert world.stored(Tally, "t")["total"] == 2 * clients


@sometimes
def it_counts(world: World) -> bool:
    """Something was added at all."""
    return bool(world.stored(Tally, "t"))


@sometimes
def it_counts_to_a_million(world: World) -> bool:
    """Nobody adds that often."""
    return int(world.stored(Tally, "t").get("total", 0)) > 1_000_000


@always
def never_negative(world: World) -> None:
    """No total is below zero."""
    assert world.stored(Tally, "t").get("total", 0) >= 0


@scenario(parameters={"clients": (1, 2)}, properties=(it_counts, never_negative))
async def right(world: World, clients: int) -> None:
    """Nothing can go wrong here."""
    await adding(world, clients=clients, retries=False)


@scenario(faults=(LoseReply(Tally.add, at_most=2), Crash(Tally, at_most=1)))
async def retried(world: World) -> None:
    """A lost reply is retried, and counts twice."""
    await adding(world, clients=2, retries=True)


@scenario(properties=(it_counts, it_counts_to_a_million))
async def vacuous(world: World) -> None:
    """One of its states is never reached."""
    await adding(world, clients=1, retries=False)


@scenario()
async def leaking(world: World) -> None:
    """Each run asks for another amount: a number that lives outside of the world."""
    await world.client("ann").get(Tally, "t").add(next(CALLS) % 7)
    raise AssertionError


@scenario(faults=(LoseReply(Tally.add),))
async def mistaken(world: World) -> None:
    """A mistake in the scenario itself, which only a lost reply leads to."""
    try:
        await world.client("ann").get(Tally, "t").add(1)
    except OutcomeUnknown as error:
        raise KeyError("nobody") from error


@scenario(parameters={"where": ((1, 2),)})
async def unwritable(world: World, where: tuple[int, int]) -> None:
    """Fails with a parameter that JSON does not hold."""
    del world
    assert where == (2, 1)


not_a_scenario = 17


@scenario(faults=(LoseReply(Tally.add),))
async def hashed(world: World) -> None:
    """Notes a set in its own order, which every process has another of."""
    world.ledger.note("set", str(set(map(str, range(20)))))
    await mistaken.story(world)

"""A lost reply: whoever tries again may count twice.

    durasim explore examples/lost_reply.py:naive
    durasim explore examples/lost_reply.py:repaired

A client clicks. If no answer comes, it cannot know whether the click was counted, and clicks again.
The naive counter counts both. The repaired one is told which click it is, and counts each once.
"""

from durasim.actors import DurableObject, OutcomeUnknown
from durasim.sim import LoseReply, World, at_rest, scenario


class Counter(DurableObject):
    """Counts clicks.

    Stored keys:
        total: how many clicks were counted.
        click/ID: the total that this click was answered with.
    """

    async def increment(self) -> int:
        """Count one more."""
        total = await self.storage.get("total", 0) + 1
        await self.storage.put("total", total)
        return total

    async def increment_once(self, click: str) -> int:
        """Count *click*; if it comes again, give its first answer again."""
        answer: int | None = await self.storage.get(f"click/{click}")
        if answer is not None:
            return answer
        total = await self.storage.get("total", 0) + 1
        # Both writes are one commit, since nothing between them waits for anything else.
        await self.storage.put("total", total)
        await self.storage.put(f"click/{click}", total)
        return total


@at_rest
def each_click_counts_once(world: World) -> None:
    """The total is the number of clicks that people made."""
    clicks = world.ledger.count("click")
    total = world.stored(Counter, "cart").get("total", 0)
    assert total == clicks, f"people clicked {clicks} times, and the total is {total}"


@scenario(faults=(LoseReply(),), properties=(each_click_counts_once,))
async def naive(world: World) -> None:
    """A client that does not know whether a click was counted clicks again."""
    counter = world.client("alice").get(Counter, "cart")
    for _ in range(2):
        world.ledger.note("click")
        while True:
            try:
                await counter.increment()
            except OutcomeUnknown:
                continue
            break


@scenario(faults=(LoseReply(),), properties=(each_click_counts_once,))
async def repaired(world: World) -> None:
    """The same client, which says which click it is."""
    counter = world.client("alice").get(Counter, "cart")
    for number in range(2):
        world.ledger.note("click")
        while True:
            try:
                await counter.increment_once(f"alice-{number}")
            except OutcomeUnknown:
                continue
            break

"""Planted bugs that need a fault: each broken, and repaired."""

from datetime import timedelta

import trio

from durasim.actors import AlarmInfo, DurableObject, ObjectReset, OutcomeUnknown
from durasim.sim import (
    AlarmTwice,
    Crash,
    Ledger,
    LoseReply,
    StaleIncarnation,
    World,
    always,
    at_rest,
    scenario,
)

from .orders import Rates, together

# ---- lost reply, retried


class Till(DurableObject):
    """Takes payments; knows them by number if it is told one."""

    async def pay(self, amount: int, number: str | None) -> int:
        """Add *amount*, once for each *number*."""
        if number is not None:
            answered = await self.storage.get(f"paid {number}", None)
            if answered is not None:
                return int(answered)
        total = await self.storage.get("total", 0) + amount
        self.storage.put("total", total)
        if number is not None:
            self.storage.put(f"paid {number}", total)
        return int(total)


async def payments(world: World, *, numbered: bool) -> None:
    """A client pays three times, and repeats what it cannot know."""
    till = world.client("ann").get(Till, "t")
    for number in range(3):
        while True:
            try:
                await till.pay(10, f"{number}" if numbered else None)
                break
            except OutcomeUnknown:
                continue
    assert world.stored(Till, "t")["total"] == 30


@scenario(faults=(LoseReply(Till.pay, at_most=2),))
async def lost_reply(world: World) -> None:
    """The reply is lost, the payment is not."""
    await payments(world, numbered=False)


@scenario(faults=(LoseReply(Till.pay, at_most=2),))
async def lost_reply_repaired(world: World) -> None:
    """A number tells a repetition from a second payment."""
    await payments(world, numbered=True)


# ---- stale alarm


class Seat(DurableObject):
    """A seat that is held for ten seconds; an alarm frees it."""

    careful = False

    async def hold(self, who: str) -> bool:
        """Hold it for *who* if it is free."""
        if await self.storage.get("who", None) is not None:
            return False
        until = self.now() + timedelta(seconds=10)
        self.storage.put("who", who)
        self.storage.put("until", until)
        self.storage.set_alarm(until)
        return True

    async def holder(self) -> str | None:
        """Return who holds it."""
        who: str | None = await self.storage.get("who", None)
        return who

    async def alarm(self, info: AlarmInfo) -> None:
        """Free it, whoever holds it now."""
        del info
        if self.careful and self.now() < await self.storage.get("until"):
            return
        self.storage.delete("who")


class CarefulSeat(Seat):
    """The same; its alarm looks whether the time is over."""

    careful = True


async def holds(world: World, seat: type[Seat]) -> None:
    """Bob holds the seat as soon as Ann's time is over, and has it for his ten seconds."""
    await world.client("ann").get(seat, "1a").hold("ann")
    bob = world.client("bob").get(seat, "1a")
    while True:
        if await bob.hold("bob"):
            break
        await trio.sleep(0.5)
    held_at = trio.current_time()
    while trio.current_time() < held_at + 9:
        assert await bob.holder() == "bob", "the seat was freed before its time"
        await trio.sleep(1)


@scenario(faults=(AlarmTwice(),))
async def stale_alarm(world: World) -> None:
    """The second ring of an alarm is for somebody who is gone."""
    await holds(world, Seat)


@scenario(faults=(AlarmTwice(),))
async def stale_alarm_repaired(world: World) -> None:
    """The alarm frees only what is over."""
    await holds(world, CarefulSeat)


# ---- crash between two commits


class Purses(DurableObject):
    """Two purses with 100 together."""

    async def move(self, amount: int, *, at_once: bool) -> None:
        """Move *amount* from left to right; asking somebody in between ends the turn."""
        left = await self.storage.get("left", 100) - amount
        right = await self.storage.get("right", 0) + amount
        if not at_once:
            self.storage.put("left", left)
        await self.objects.get(Rates, "today").factor()
        self.storage.put("left", left)
        self.storage.put("right", right)


@at_rest
def a_hundred_together(world: World) -> None:
    """What is in the purses is always a hundred."""
    stored = world.stored(Purses, "p")
    total = stored.get("left", 100) + stored.get("right", 0)
    assert total == 100, f"there are {total}"


async def moves(world: World, *, at_once: bool) -> None:
    """One client moves three times; a move that was cut off is given up."""
    for _ in range(3):
        try:
            await world.client("ann").get(Purses, "p").move(10, at_once=at_once)
        except (ObjectReset, OutcomeUnknown):
            return


@scenario(faults=(Crash(Purses, at_most=1),), properties=(a_hundred_together,))
async def crash_between_commits(world: World) -> None:
    """The first half is stored, the second is not."""
    await moves(world, at_once=False)


@scenario(faults=(Crash(Purses, at_most=1),), properties=(a_hundred_together,))
async def crash_between_commits_repaired(world: World) -> None:
    """Both halves are one commit."""
    await moves(world, at_once=True)


# ---- double activation


class Printer(DurableObject):
    """Prints each document once; it takes a second."""

    def __init__(self) -> None:
        """Nothing is printing."""
        self.printing: set[str] = set()

    async def print_once(self, document: str, *, write_first: bool) -> None:
        """Print *document*, unless that is going on or done."""
        if document in self.printing or await self.storage.get(document, False):
            return
        self.printing.add(document)
        if write_first:
            await self.storage.put(document, True)
        await self.sleep(1)
        ledger = self.env["ledger"]
        assert isinstance(ledger, Ledger)
        ledger.note("printed", document)
        if not write_first:
            await self.storage.put(document, True)


@always
def each_document_once(world: World) -> None:
    """No document comes out twice."""
    assert world.ledger.count("printed", "letter") <= 1


async def prints(world: World, *, write_first: bool) -> None:
    """Two clients want the same document at the same time."""

    async def printing(name: str) -> None:
        try:
            printer = world.client(name).get(Printer, "p")
            await printer.print_once("letter", write_first=write_first)
        except (ObjectReset, OutcomeUnknown):
            return

    await together(lambda: printing("ann"), lambda: printing("bob"))


@scenario(faults=(StaleIncarnation(Printer, at_most=1),), properties=(each_document_once,))
async def double_activation(world: World) -> None:
    """Two incarnations run, and each remembers its own printing only."""
    await prints(world, write_first=False)


@scenario(faults=(StaleIncarnation(Printer, at_most=1),), properties=(each_document_once,))
async def double_activation_repaired(world: World) -> None:
    """What is going on is stored before it begins."""
    await prints(world, write_first=True)

"""Planted bugs that need nothing but an order of events: each broken, and repaired."""

from collections.abc import Awaitable, Callable

import trio

from durasim.actors import DurableObject
from durasim.sim import World, scenario


async def together(*stories: Callable[[], Awaitable[None]]) -> None:
    """Run clients beside each other."""
    async with trio.open_nursery() as nursery:
        for story in stories:
            nursery.start_soon(story)


class Rates(DurableObject):
    """Somebody else, whom an object asks between a read and a write."""

    async def factor(self) -> int:
        """Return what an amount is multiplied by."""
        return 1


# ---- lost update


class Account(DurableObject):
    """Reads, asks, writes: while it asks, another request may enter and write."""

    async def add(self, amount: int) -> None:
        """Add to the total that was read before the other object was asked."""
        total = await self.storage.get("total", 0)
        factor = await self.objects.get(Rates, "today").factor()
        await self.storage.put("total", total + amount * factor)

    async def add_safely(self, amount: int) -> None:
        """Ask first: nothing enters between this read and this write."""
        factor = await self.objects.get(Rates, "today").factor()
        total = await self.storage.get("total", 0)
        await self.storage.put("total", total + amount * factor)


async def additions(world: World, *, safely: bool) -> None:
    """Two clients add twice each; every addition counts."""

    async def adding(name: str) -> None:
        account = world.client(name).get(Account, "shared")
        for _ in range(2):
            await (account.add_safely(1) if safely else account.add(1))

    await together(lambda: adding("ann"), lambda: adding("bob"))
    assert world.stored(Account, "shared") == {"total": 4}


@scenario()
async def lost_update(world: World) -> None:
    """A write is based on a read that is out of date."""
    await additions(world, safely=False)


@scenario()
async def lost_update_repaired(world: World) -> None:
    """The read and the write are in one turn."""
    await additions(world, safely=True)


# ---- write skew


class Ward(DurableObject):
    """Two doctors; one has to stay."""

    async def leave(self, doctor: str, *, look_again: bool) -> None:
        """Let *doctor* go if another one is here; the answer may be old when it is used."""
        if await self.is_alone(doctor):
            return
        await self.objects.get(Rates, "office").factor()
        if look_again and await self.is_alone(doctor):
            return
        await self.storage.put(f"gone/{doctor}", True)

    async def is_alone(self, doctor: str) -> bool:
        """Whether nobody else is here."""
        others = [other for other in ("ann", "bob") if other != doctor]
        return all([await self.storage.get(f"gone/{other}", False) for other in others])


async def leavings(world: World, *, look_again: bool) -> None:
    """Both doctors want to leave; at most one may."""

    async def leaving(name: str) -> None:
        await world.client(name).get(Ward, "w").leave(name, look_again=look_again)

    await together(lambda: leaving("ann"), lambda: leaving("bob"))
    assert len(world.stored(Ward, "w")) == 1


@scenario()
async def write_skew(world: World) -> None:
    """Each reads what the other writes, and writes what the other reads."""
    await leavings(world, look_again=False)


@scenario()
async def write_skew_repaired(world: World) -> None:
    """The condition is read again in the turn that writes."""
    await leavings(world, look_again=True)


# ---- ABA


class Stack(DurableObject):
    """A stack whose clients exchange its top: c over b over a."""

    async def look(self) -> tuple[str, str, int]:
        """Return what is on top, what is below it, and how often the top changed."""
        top = await self.storage.get("top", "c")
        below = await self.storage.get(f"below {top}", {"c": "b", "b": "a"}.get(top, ""))
        return top, below, await self.storage.get("changes", 0)

    async def exchange(self, old: str, new: str, changes: int | None) -> bool:
        """Put *new* on top if *old* is, and if the top changed *changes* times so far."""
        top, _, counted = await self.look()
        if top != old or changes not in (None, counted):
            return False
        self.storage.put("top", new)
        self.storage.put("changes", counted + 1)
        return True

    async def push(self, item: str) -> None:
        """Put *item* on top of what is there."""
        top, _, counted = await self.look()
        self.storage.put(f"below {item}", top)
        self.storage.put("top", item)
        self.storage.put("changes", counted + 1)


async def pops(world: World, *, versions: bool) -> None:
    """Ann pops one; Bob pops two and puts the first back. Nobody's item is on the stack."""
    held: list[str] = []

    async def pop(name: str) -> str:
        stack = world.client(name).get(Stack, "s")
        while True:
            top, below, changes = await stack.look()
            if await stack.exchange(top, below, changes if versions else None):
                return top

    async def one() -> None:
        held.append(await pop("ann"))

    async def two() -> None:
        first = await pop("bob")
        held.append(await pop("bob"))
        await world.client("bob").get(Stack, "s").push(first)

    await together(one, two)
    top = world.stored(Stack, "s")["top"]
    assert top not in held, f"{top} is on the stack, and somebody has it"


@scenario()
async def aba(world: World) -> None:
    """The top is what it was, and is not the same: it was away in between."""
    await pops(world, versions=False)


@scenario()
async def aba_repaired(world: World) -> None:
    """A version counts the changes."""
    await pops(world, versions=True)


# ---- three ordered preemptions


class Board(DurableObject):
    """Flags that are up for one step each."""

    async def step(self, who: str, number: int, *, held: bool) -> None:
        """Take one step: a shows x, b hands x on as y, c hands y on as z, d must not see z."""
        flags = {name: await self.storage.get(name, False) for name in ("x", "y", "z")}
        match who, number:
            case "a", 1 | 2:
                self.storage.put("x", number == 1)
            case "b", 1 | 2:
                self.storage.put("y", number == 1 and flags["x"])
            case "c", 1 | 2:
                self.storage.put("z", number == 1 and flags["y"] and not held)
            case "d", 3:
                self.storage.put("seen", flags["z"])
            case _:
                pass


async def steps(world: World, *, held: bool) -> None:
    """Four clients take four steps each."""

    async def walk(name: str) -> None:
        for number in range(4):
            await world.client(name).get(Board, "b").step(name, number, held=held)

    await together(*(lambda name=name: walk(name) for name in "abcd"))
    assert not world.stored(Board, "b")["seen"]


@scenario()
async def three_preemptions(world: World) -> None:
    """Three clients have to be stopped in the middle, one after another, each at one place."""
    await steps(world, held=False)


@scenario()
async def three_preemptions_repaired(world: World) -> None:
    """The third flag is never shown."""
    await steps(world, held=True)


# ---- starvation


class Door(DurableObject):
    """A door that is open for one step."""

    async def turn(self, is_open: bool) -> None:
        """Open or close it."""
        await self.storage.put("open", is_open)

    async def look(self) -> bool:
        """Whether it is open."""
        return await self.storage.get("open", False)


async def walks(world: World, *, closed: bool) -> None:
    """Ann opens the door for one step; Bob looks at it after 30 steps of his own."""

    async def opening() -> None:
        door = world.client("ann").get(Door, "d")
        await door.turn(not closed)
        await door.turn(False)

    async def walking() -> None:
        rates = world.client("bob").get(Rates, "way")
        for _ in range(30):
            await rates.factor()
        assert not await world.client("bob").get(Door, "d").look()

    await together(opening, walking)


@scenario()
async def starvation(world: World) -> None:
    """Ann waits while Bob takes more than 30 steps."""
    await walks(world, closed=False)


@scenario()
async def starvation_repaired(world: World) -> None:
    """The door stays closed."""
    await walks(world, closed=True)

"""A transfer between two accounts: two commits in two objects are not one.

    durasim explore examples/transfer.py:naive
    durasim explore examples/transfer.py:repaired

The naive account takes the money, hands it over, and puts it back if the other side did not answer.
A crash between the two commits loses it; a lost answer doubles it. The repaired account commits the
debit together with a record of the transfer, and an alarm hands over whatever is recorded until the
other side has answered; the other side takes each transfer once.
"""

from contextlib import suppress
from datetime import timedelta
from typing import TypedDict

from durasim.actors import AlarmInfo, DurableObject, OutcomeUnknown
from durasim.sim import Crash, LoseReply, World, at_rest, scenario


class Transfer(TypedDict):
    """What is recorded of a transfer until it has arrived."""

    to: str
    amount: int


class Account(DurableObject):
    """Money.

    Stored keys:
        balance: how much there is; 100 at first.
        sent/ID: True for each transfer that left here.
        outgoing/ID: a transfer that has left and is not known to have arrived.
        received/ID: True for each transfer that arrived here.
    """

    async def deposit(self, amount: int) -> None:
        """Add *amount*."""
        await self.storage.put("balance", await self.storage.get("balance", 100) + amount)

    async def send_in_two_steps(self, to: str, amount: int) -> None:
        """Take the money here, then give it there: wrong."""
        await self.deposit(-amount)
        try:
            await self.objects.get(Account, to).deposit(amount)
        except OutcomeUnknown:
            await self.deposit(amount)

    async def send(self, transfer: str, to: str, amount: int) -> None:
        """Record *transfer*, once; `alarm` sees to the rest."""
        if await self.storage.get(f"sent/{transfer}", False):
            return
        await self.deposit(-amount)
        await self.storage.put(f"sent/{transfer}", True)
        await self.storage.put(f"outgoing/{transfer}", Transfer(to=to, amount=amount))
        await self.storage.set_alarm(timedelta())

    async def receive(self, transfer: str, amount: int) -> None:
        """Take what *transfer* brings, once."""
        if not await self.storage.get(f"received/{transfer}", False):
            await self.deposit(amount)
            await self.storage.put(f"received/{transfer}", True)

    async def alarm(self, info: AlarmInfo) -> None:
        """Hand over what has left. If that fails, the alarm is tried again."""
        outgoing: dict[str, Transfer] = await self.storage.list(prefix="outgoing/")
        for key, transfer in outgoing.items():
            other = self.objects.get(Account, transfer["to"])
            await other.receive(key.removeprefix("outgoing/"), transfer["amount"])
            await self.storage.delete(key)


@at_rest
def no_money_is_made_or_lost(world: World) -> None:
    """Both accounts together hold what they held at first."""
    ann, bob = balance(world, "ann"), balance(world, "bob")
    assert ann + bob == 200, f"there were 200; now ann has {ann} and bob has {bob}"


@at_rest
def what_was_ordered_arrives(world: World) -> None:
    """Bob gets each amount that was ordered for him, once."""
    ordered = 30 * world.ledger.count("ordered")
    got = balance(world, "bob") - 100
    assert got == ordered, f"{ordered} were ordered for bob, and he got {got}"


def balance(world: World, name: str) -> int:
    """Return what is stored as the balance of *name*."""
    stored: int = world.stored(Account, name).get("balance", 100)
    return stored


@scenario(faults=(LoseReply(), Crash()), properties=(no_money_is_made_or_lost,))
async def naive(world: World) -> None:
    """Ann sends 30 to Bob, in two steps."""
    # Nobody tries again here: not even money that is sent at most once is safe.
    with suppress(OutcomeUnknown):
        await world.client("phone").get(Account, "ann").send_in_two_steps("bob", 30)


@scenario(
    faults=(LoseReply(), Crash()),
    properties=(no_money_is_made_or_lost, what_was_ordered_arrives),
)
async def repaired(world: World) -> None:
    """Ann sends 30 to Bob, twice; a record and an alarm carry each over."""
    for transfer in ("rent", "dinner"):
        world.ledger.note("ordered")
        while True:
            try:
                await world.client("phone").get(Account, "ann").send(transfer, "bob", 30)
            except OutcomeUnknown:
                continue
            break

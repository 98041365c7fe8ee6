"""An outbox: what is done outside and what is stored can not be one step.

    durasim explore examples/outbox.py:naive
    durasim explore examples/outbox.py:repaired

An order charges a card, which nothing takes back. The naive order charges and then stores that it
did: a crash between the two charges again. The repaired order first commits what is to be charged,
together with an alarm that sends it; since the alarm may run twice, the bank is told which order it
is, and takes each once.
"""

from datetime import timedelta

from durasim.actors import AlarmInfo, DurableObject, OutcomeUnknown
from durasim.sim import AlarmTwice, Crash, Ledger, LoseReply, World, at_rest, scenario


class Bank:
    """Outside of everything that can crash here."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def charge(self, order: str) -> None:
        """Take the money."""
        self._ledger.note("charged", order)

    def charge_once(self, order: str) -> None:
        """Take the money unless it has been taken for this order."""
        if not self._ledger.count("charged", order):
            self.charge(order)


class Order(DurableObject):
    """One order.

    Stored keys:
        is_paid: whether it has been charged, as far as is known here.
        outbox: True while a charge is to be sent.
    """

    @property
    def bank(self) -> Bank:
        """The bank, which the host gives to its objects."""
        bank = self.env["bank"]
        assert isinstance(bank, Bank)
        return bank

    async def pay_at_once(self) -> None:
        """Charge, then store: wrong."""
        if not await self.storage.get("is_paid", False):
            self.bank.charge(self.address.name)
            await self.storage.put("is_paid", True)

    async def pay(self) -> None:
        """Put the charge into the outbox, once; `alarm` sends it."""
        if not await self.storage.get("is_paid", False):
            await self.storage.put("is_paid", True)
            await self.storage.put("outbox", True)
            await self.storage.set_alarm(timedelta())

    async def alarm(self, info: AlarmInfo) -> None:
        """Send what is in the outbox."""
        if await self.storage.get("outbox", False):
            self.bank.charge_once(self.address.name)
            await self.storage.delete("outbox")


@at_rest
def each_order_is_charged_once(world: World) -> None:
    """Nobody pays twice, and nobody gets away."""
    for order in ("book", "lamp"):
        charges = world.ledger.count("charged", order)
        assert charges == 1, f"the {order} was charged {charges} times"


PLAN = (Crash(), LoseReply(), AlarmTwice())


@scenario(faults=PLAN, properties=(each_order_is_charged_once,))
async def naive(world: World) -> None:
    """Two orders are paid; whoever cannot know whether it worked tries again."""
    world.env["bank"] = Bank(world.ledger)
    for order in ("book", "lamp"):
        while True:
            try:
                await world.client("shop").get(Order, order).pay_at_once()
            except OutcomeUnknown:
                continue
            break


@scenario(faults=PLAN, properties=(each_order_is_charged_once,))
async def repaired(world: World) -> None:
    """The same, by way of the outbox."""
    world.env["bank"] = Bank(world.ledger)
    for order in ("book", "lamp"):
        while True:
            try:
                await world.client("shop").get(Order, order).pay()
            except OutcomeUnknown:
                continue
            break

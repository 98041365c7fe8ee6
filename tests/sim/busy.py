"""A scenario full of what trio offers, under every fault: what depends on luck would show here."""

from collections.abc import Awaitable, Mapping
from hashlib import sha256
from math import log

import trio

from durasim.actors import AlarmInfo, DurableObject, Program
from durasim.sim import (
    Job,
    Ledger,
    Option,
    Ordinary,
    Scenario,
    Site,
    Source,
    World,
    every_fault,
    scenario,
)


class Hub(DurableObject):
    """Uses nurseries, events, locks, channels, conditions and deadlines in its handlers."""

    async def fan(self, width: int) -> str:
        """Let *width* children race for a lock, with equal deadlines."""
        order: list[str] = []
        lock = trio.Lock()
        sender, receiver = trio.open_memory_channel[str](1)

        async def child(name: str) -> None:
            await trio.sleep(0.25)
            async with lock:
                order.append(name)
                await trio.sleep(0.01 * (len(order) % 2))
            await sender.send(name)

        async with trio.open_nursery() as nursery:
            for number in range(width):
                nursery.start_soon(child, f"child-{number}")
            order += [f"got {await receiver.receive()}" for _ in range(width)]
        self.note(order)
        await self.storage.put("order", order)
        return ",".join(order)

    async def meet(self) -> str:
        """Let tasks wait for each other: an event, a condition, a deadline that passes."""
        order: list[str] = []
        event = trio.Event()
        condition = trio.Condition()

        async def waiter(name: str) -> None:
            await event.wait()
            async with condition:
                order.append(f"{name} waits")
                with trio.move_on_after(0.5):
                    await condition.wait()
                order.append(f"{name} goes")

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(waiter, f"waiter-{number}")
            await trio.sleep(0.1)
            event.set()
            await trio.sleep(0.1)
            async with condition:
                condition.notify(2)
            nursery.start_soon(trio.sleep, 0.5)
        self.note(order)
        return ",".join(order)

    async def give_up(self) -> str:
        """Cancel children that clean up, at one instant and by equal deadlines."""
        order: list[str] = []

        async def child(name: str) -> None:
            try:
                await trio.sleep_forever()
            finally:
                order.append(name)
                with trio.move_on_after(0.05, shield=True):
                    await trio.sleep(0.02)
                    order.append(f"{name} is done")

        with trio.move_on_after(0.3):
            async with trio.open_nursery() as nursery:
                for number in range(3):
                    nursery.start_soon(child, f"first-{number}")
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(child, f"second-{number}")
            await trio.sleep(0.3)
            nursery.cancel_scope.cancel()
        self.note(order)
        return ",".join(order)

    async def ask(self, others: int) -> str:
        """Call others side by side, give up one of the calls, and remember the answers."""
        answers: list[str] = []

        async def call(number: int) -> None:
            stub = self.objects.get(Hub, f"hub-{number}", deadline_s=3)
            with trio.move_on_after(0.2 + number):
                answers.append(await settled(stub.fan(2)))

        async with trio.open_nursery() as nursery:
            for number in range(others):
                nursery.start_soon(call, number)
        await self.storage.put("answers", answers)
        await self.storage.set_alarm(self.now())
        await self.sleep(0.1)
        return f"{len(answers)} {self.uuid()}"

    async def alarm(self, info: AlarmInfo) -> None:
        """Count, and leave work running."""
        count = int(await self.storage.get("alarms", 0)) + 1
        await self.storage.put("alarms", count)

        async def later() -> None:
            await trio.sleep(0.5)
            self.note([f"alarm {count} {info.retry_count} {self.random():.3f}"])

        self.wait_until(later)

    def note(self, order: list[str]) -> None:
        """Tell the outside."""
        ledger = self.env["ledger"]
        assert isinstance(ledger, Ledger)
        ledger.note("order", order)


class Line(DurableObject):
    """A serial object with a constructor and a critical section."""

    delivery = "serial"

    def __init__(self) -> None:
        self.seen = 0
        self.block_concurrency_while(self.load)

    async def load(self) -> None:
        """Read what is stored."""
        self.seen = int(await self.storage.get("seen", 0))
        await trio.sleep(0.05)

    async def pass_on(self, name: str) -> str:
        """Count, and call a hub."""
        self.seen += 1
        await self.storage.put("seen", self.seen)
        answer = await settled(self.objects.get(Hub, name, deadline_s=2).meet())
        return f"{self.seen}: {answer}"


class Tool(Program):
    """An external process that calls."""

    async def run(self) -> None:
        """Call twice."""
        for number in range(2):
            await settled(self.objects.get(Line, "line", deadline_s=4).pass_on(f"hub-{number}"))
            await self.sleep(0.2)


async def settled(call: Awaitable[str]) -> str:
    """Return the value of *call*, or the name of its error."""
    try:
        return await call
    except Exception as error:
        return type(error).__name__


async def everything(world: World) -> None:
    """Clients, programs and objects do everything at once."""

    async def client(name: str) -> None:
        mine = world.client(name)
        hub = mine.get(Hub, "hub-0", deadline_s=5)
        for step in (hub.fan(3), hub.meet(), hub.give_up(), hub.ask(3)):
            world.ledger.note("answer", await settled(step))
            with trio.move_on_after(0.5):
                await trio.sleep(0.5)
        world.ledger.note("line", await settled(mine.get(Line, "line").pass_on("hub-1")))

    async with trio.open_nursery() as nursery:
        for name in ("alice", "bob", "carol"):
            nursery.start_soon(client, name)
        await world.start(Tool(), "tool").ended()


ordinary: Scenario = scenario(name="everything")(everything)
faulty: Scenario = scenario(faults=every_fault(), name="everything, all faults")(everything)


FAULTS = tuple(fault for fault in every_fault() if "query" not in fault.kinds)
"""Those that can strike here: nobody asks the shared database."""


class Often(Ordinary):
    """A source of choices: as often as *rate* says, by *seed*, the same on every Python."""

    def __init__(self, seed: int, rate: float) -> None:
        self._seed = seed
        self._rate = rate
        self._drawn = 0

    def _draw(self) -> float:
        self._drawn += 1
        data = sha256(f"{self._seed}/{self._drawn}".encode()).digest()
        return (int.from_bytes(data[:6]) + 1) / (1 << 48)

    def planned(self, kind: str, subject: str) -> Mapping[int, str] | None:
        """Nothing."""
        del kind, subject
        return None

    def rate(self, site: Site) -> float:
        """The same everywhere, but where there is little to choose."""
        return 9.0 if site.kind in ("alarm", "clock", "read") else self._rate

    def gap(self) -> float:
        """As if each choice were on its own."""
        return -log(self._draw())

    def pick(self, site: Site, options: tuple[Option, ...]) -> Option | None:
        """Any of them, but a fault if there is one."""
        del site
        options = tuple(option for option in options if option.fault is not None) or options
        return options[int(self._draw() * len(options)) % len(options)]


def job(story: Scenario, seed: int, source: Source) -> Job:
    """Return one run of *story*."""
    return Job(scenario=story, seed=seed, source=source, keep=0)


def jobs() -> dict[str, Job]:
    """Return the runs whose digests are recorded, by name."""
    found = {f"ordinary, seed {seed}": job(ordinary, seed, Ordinary()) for seed in (1, 2)}
    for seed in range(12):
        rate = (0.01, 0.03, 0.1)[seed % 3]
        found[f"all faults, seed {seed}, rate {rate}"] = job(faulty, seed, Often(seed, rate))
    for number, fault in enumerate(FAULTS):
        alone: Scenario = scenario(faults=(fault,), name=f"everything, {fault}")(everything)
        found[f"only {fault}"] = job(alone, number, Often(number, 0.2))
    return found

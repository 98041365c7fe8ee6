"""The arms that every port's suite runs on: one that is real, one that is simulated.

An arm runs a test body inside its own kind of world and hands it the port. Run twice, the same arm
has the same stored state.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import attrs
import trio

from durasim.actors import Clock, Entropy, Origin, Store, Transport
from durasim.hosts import Loopback, RealClock, SqliteStore, SystemEntropy
from durasim.sim import Fault, Job, Ordinary, Scenario, SlowDisk, Source, World, run_once
from durasim.sim.disk import Disk, DiskStore
from durasim.sim.machine import HostClock, Machine
from durasim.sim.network import Message

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)

Body = Callable[[P], Awaitable[None]]


class Arm(Protocol[P_co]):
    """One way to have a port."""

    def run(self, body: Callable[[P_co], Awaitable[None]]) -> None:
        """Run *body* with the port until it ends; its error is raised."""
        ...


class EmbeddedStores:
    """SQLite files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "objects.db"

    def run(self, body: Body[Store]) -> None:
        """Run *body* with the file open."""

        async def main() -> None:
            store = SqliteStore(self.path, crashed=loudly)
            try:
                await body(store)
            finally:
                await store.close()

        trio.run(main)


class EmbeddedClocks:
    """The real clock."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, body: Body[Clock]) -> None:
        """Run *body* while the clock runs."""

        async def main() -> None:
            clock = RealClock()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(clock.run)
                await body(clock)
                nursery.cancel_scope.cancel()

        trio.run(main)


class EmbeddedEntropies:
    """The operating system's entropy."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, body: Body[Entropy]) -> None:
        """Run *body* with it."""

        async def main() -> None:
            await body(SystemEntropy())

        trio.run(main)


class Far:
    """The far end of a transport: keeps every request with its way back."""

    def __init__(self) -> None:
        self.taken: list[tuple[bytes, Origin]] = []
        self._more = trio.Event()

    def receive(self, data: bytes, origin: Origin) -> None:
        """Keep a request."""
        self.taken.append((data, origin))
        self._more.set()

    async def arrived(self, count: int) -> list[tuple[bytes, Origin]]:
        """Wait for *count* requests in all and return them in the order of arrival."""
        while len(self.taken) < count:
            self._more = trio.Event()
            await self._more.wait()
        return self.taken


@attrs.frozen
class Line:
    """A transport, its far end, and the clock that belongs to it."""

    transport: Transport
    far: Far
    clock: Clock


class EmbeddedLines:
    """Within one process."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, body: Body[Line]) -> None:
        """Run *body* with a line to a far end."""

        async def main() -> None:
            far = Far()
            await body(Line(Loopback(far), far, RealClock()))

        trio.run(main)


def in_world(
    story: Callable[[World], Awaitable[None]],
    source: Source | None = None,
    faults: tuple[Fault, ...] = (),
) -> None:
    """Tell *story* in a world of its own; it must hold."""
    told = Scenario("arm", story, faults)
    result = run_once(Job(scenario=told, seed=1, source=source or Ordinary()))
    assert not result.failures, result.failures


class SimulatedStores:
    """The disk of a world, which outlives its worlds here."""

    def __init__(self, folder: Path) -> None:
        del folder
        self.disk = Disk()

    def run(self, body: Body[Store]) -> None:
        """Run *body* with the store of a machine on that disk."""

        async def story(world: World) -> None:
            await body(DiskStore(world.machine("host"), self.disk))

        in_world(story)


class Slowly(dict[int, str]):
    """At each number the same: slow."""

    def get(self, key: int, default: object = None) -> str:
        """Return it."""
        del key, default
        return "1 s"


class SlowCommits(Ordinary):
    """A source by which every commit takes a second."""

    def planned(self, kind: str, subject: str) -> Mapping[int, str] | None:
        """Plan it for all of them."""
        del subject
        return Slowly() if kind == "commit" else None


class SlowStores(SimulatedStores):
    """The same, but every commit takes a second, during which others come."""

    def run(self, body: Body[Store]) -> None:
        """Run *body* with the store of a machine on that disk."""

        async def story(world: World) -> None:
            await body(DiskStore(world.machine("host"), self.disk))

        in_world(story, SlowCommits(), (SlowDisk(),))


class SimulatedClocks:
    """The clock of a machine of a world."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, body: Body[Clock]) -> None:
        """Run *body* in virtual time."""

        async def story(world: World) -> None:
            await body(HostClock(world.machine("host")))

        in_world(story)


class SimulatedEntropies:
    """The streams of a seed."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, body: Body[Entropy]) -> None:
        """Run *body* with them."""

        async def story(world: World) -> None:
            await body(world.entropy)

        in_world(story)


class FarMachine(Machine):
    """A machine whose requests nobody but the test answers."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "host", ((),))
        self.far = Far()

    def is_early(self, message: Message) -> bool:
        """It is always up."""
        del message
        return False

    def receive(self, data: bytes, message: Message) -> None:
        """Keep a request."""
        self.far.receive(data, message)


class SimulatedLines:
    """The network of a world."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, body: Body[Line]) -> None:
        """Run *body* with a line to a far end."""

        async def story(world: World) -> None:
            machine = FarMachine(world)
            world.machines["host"] = machine
            await body(Line(world.network, machine.far, HostClock(machine)))

        in_world(story)


def loudly(error: BaseException) -> None:
    """Fail the test: the port is broken."""
    raise error


STORES: dict[str, Callable[[Path], Arm[Store]]] = {
    "embedded": EmbeddedStores,
    "simulated": SimulatedStores,
    "slow": SlowStores,
}
CLOCKS: dict[str, Callable[[Path], Arm[Clock]]] = {
    "embedded": EmbeddedClocks,
    "simulated": SimulatedClocks,
}
LINES: dict[str, Callable[[Path], Arm[Line]]] = {
    "embedded": EmbeddedLines,
    "simulated": SimulatedLines,
}
ENTROPIES: dict[str, Callable[[Path], Arm[Entropy]]] = {
    "embedded": EmbeddedEntropies,
    "simulated": SimulatedEntropies,
}

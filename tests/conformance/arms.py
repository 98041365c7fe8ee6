"""The arms that every port's suite runs on: one that is real, one that is simulated.

An arm runs a test body inside its own kind of world and hands it the port. Run twice, the same arm
has the same stored state.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import attrs
import trio

from durasim.actors import Clock, Entropy, Origin, Store, Transport
from durasim.hosts import Loopback, RealClock, SqliteStore, SystemEntropy

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


def loudly(error: BaseException) -> None:
    """Fail the test: the port is broken."""
    raise error


STORES: dict[str, Callable[[Path], Arm[Store]]] = {"embedded": EmbeddedStores}
CLOCKS: dict[str, Callable[[Path], Arm[Clock]]] = {"embedded": EmbeddedClocks}
LINES: dict[str, Callable[[Path], Arm[Line]]] = {"embedded": EmbeddedLines}
ENTROPIES: dict[str, Callable[[Path], Arm[Entropy]]] = {"embedded": EmbeddedEntropies}

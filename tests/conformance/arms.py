"""The arms that every port's suite runs on: one that is real, one that is simulated.

An arm runs a test body inside its own kind of world and hands it the port. Run twice, the same arm
has the same stored state.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from durasim.actors import Clock, Entropy, Store
from durasim.hosts import RealClock, SqliteStore, SystemEntropy

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


def loudly(error: BaseException) -> None:
    """Fail the test: the port is broken."""
    raise error


STORES: dict[str, Callable[[Path], Arm[Store]]] = {"embedded": EmbeddedStores}
CLOCKS: dict[str, Callable[[Path], Arm[Clock]]] = {"embedded": EmbeddedClocks}
ENTROPIES: dict[str, Callable[[Path], Arm[Entropy]]] = {"embedded": EmbeddedEntropies}

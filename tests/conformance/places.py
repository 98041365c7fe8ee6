"""Where whole objects live: in a program of their own, and in a world. Same code, same answers."""

import ast
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import trio

from durasim.actors import CALL_DEADLINE_S, Address, DurableObject, Worker
from durasim.hosts import EmbeddedHost, Host, inspect_file
from durasim.sim import Job, Ordinary, Scenario, World, run_once

T = TypeVar("T", bound=DurableObject)
W = TypeVar("W", bound=Worker)


class Place(Protocol):
    """A host, and whoever calls it from outside. Objects find `stored` in `env`."""

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub."""
        ...

    def worker(self, cls: type[W], *, deadline_s: float = CALL_DEADLINE_S) -> W:
        """Return a stub of a worker."""
        ...

    def stored(self, cls: type[DurableObject], name: str, /) -> dict[str, Any]:
        """Return what is durable of an object."""
        ...

    def evict(self, cls: type[DurableObject], name: str) -> bool:
        """Let an idle object go; returns whether it went."""
        ...


Story = Callable[[Place], Awaitable[None]]
Stored = Callable[[type[DurableObject], str], dict[str, Any]]


class EmbeddedPlace:
    """An `EmbeddedHost`."""

    def __init__(self, host: EmbeddedHost, stored: Stored) -> None:
        self._host = host
        self.get = host.get
        self.worker = host.worker
        self.stored = stored

    def evict(self, cls: type[DurableObject], name: str) -> bool:
        """Not waiting for its time."""
        host = self._host._host  # pyright: ignore[reportPrivateUsage]
        assert isinstance(host, Host)
        return host.evict(Address(cls.stored_name, name))


class WorldPlace:
    """The machine "host" of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.get = world.client("client").get
        self.worker = world.client("client").worker
        self.stored = world.stored

    def evict(self, cls: type[DurableObject], name: str) -> bool:
        """Not waiting for its time."""
        return self._world.machines["host"].host.evict(Address(cls.stored_name, name))


class Embedded:
    """Tells stories in real time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "objects.db"

    def tell(self, story: Story) -> None:
        """Tell *story*; told again, its objects are as they were left."""

        async def main() -> None:
            env: dict[str, object] = {"stored": self._stored}
            async with EmbeddedHost(self._path, env=env) as host:
                with trio.fail_after(20):
                    await story(EmbeddedPlace(host, self._stored))

        trio.run(main)

    def _stored(self, cls: type[DurableObject], name: str) -> dict[str, Any]:
        """Read the file as anybody could."""
        for found in inspect_file(self._path).objects:
            if found.address == Address(cls.stored_name, name):
                return {entry.key: ast.literal_eval(entry.text) for entry in found.keys}
        return {}


class Simulated:
    """Tells stories in virtual time."""

    def __init__(self, folder: Path) -> None:
        del folder

    def tell(self, story: Story) -> None:
        """Tell *story*."""

        async def told(world: World) -> None:
            place = WorldPlace(world)
            world.env["stored"] = place.stored
            await story(place)

        result = run_once(Job(scenario=Scenario("told", told), seed=1, source=Ordinary()))
        assert not result.failures, result.failures


PLACES: dict[str, Callable[[Path], Embedded | Simulated]] = {
    "embedded": Embedded,
    "simulated": Simulated,
}

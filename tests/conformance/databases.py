"""Where the shared database is: in a file of an embedded host, and in a world."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from durasim.actors import CALL_DEADLINE_S, Database, DurableObject
from durasim.hosts import EmbeddedHost
from durasim.sim import Job, Ordinary, Scenario, World, run_once

T = TypeVar("T", bound=DurableObject)


class Desk(Protocol):
    """Somebody outside of all objects, who reaches objects and the database."""

    @property
    def database(self) -> Database:
        """The shared database."""
        ...

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub."""
        ...


Story = Callable[[Desk], Awaitable[None]]
Tell = Callable[[Story], None]

ACCOUNTS = (
    "CREATE TABLE accounts (name TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0))",
    "INSERT INTO accounts VALUES ('a', 100), ('b', 100), ('c', 0)",
)


def embedded(folder: Path, story: Story) -> None:
    """Tell *story* in real time, on a file."""

    async def main() -> None:
        async with EmbeddedHost(folder / "objects.db", database=folder / "runs.db") as host:
            with trio.fail_after(20):
                await story(host)

    trio.run(main)


def simulated(folder: Path, story: Story) -> None:
    """Tell *story* in virtual time, in memory."""
    del folder

    async def told(world: World) -> None:
        await story(world.client("desk"))

    result = run_once(Job(scenario=Scenario("told", told), seed=1, source=Ordinary()))
    assert not result.failures, result.failures


DATABASES: dict[str, Callable[[Path, Story], None]] = {
    "embedded": embedded,
    "simulated": simulated,
}


async def opened(desk: Desk) -> Database:
    """Return the database with its accounts."""
    await desk.database.batch([(sql, ()) for sql in ACCOUNTS])
    return desk.database


async def cents(database: Database) -> dict[str, int]:
    """Return what everybody has."""
    return dict((await database.execute("SELECT name, cents FROM accounts")).rows)  # type: ignore[arg-type]

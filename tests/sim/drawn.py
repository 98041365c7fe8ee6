"""Runs whose charts are drawn in tests: a counter, its clients, and deviations by name."""

from collections.abc import Iterable
from datetime import timedelta

import trio

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import (
    Crash,
    Evict,
    Job,
    LoseReply,
    LoseRequest,
    Recorded,
    RunResult,
    Scenario,
    StaleIncarnation,
    World,
    run_once,
    scenario,
)
from durasim.sim.diagram import Diagram, diagram_of


class Counter(DurableObject):
    """Counts, and rings once."""

    async def increment(self, by: int = 1) -> int:
        """Add *by*."""
        total: int = await self.storage.get("total", 0) + by
        await self.storage.put("total", total)
        return total

    async def refuse(self) -> None:
        """Raise."""
        raise ValueError("no more than that")

    async def ring_in(self, seconds: float) -> None:
        """Ask for an alarm."""
        await self.storage.set_alarm(timedelta(seconds=seconds))

    async def alarm(self, info: AlarmInfo) -> None:
        """Ring."""
        assert not info.is_retry
        await self.storage.delete("total")


FAULTS = (LoseReply(), LoseRequest(), Crash(), Evict(), StaleIncarnation())


@scenario(faults=FAULTS)
async def clicks(world: World, clients: int = 2, each: int = 2) -> None:
    """Clients click at the same time."""

    async def click(name: str) -> None:
        for _ in range(each):
            await world.client(name).get(Counter, "c").increment()

    async with trio.open_nursery() as nursery:
        for number in range(clients):
            nursery.start_soon(click, f"client-{number}")
    assert world.stored(Counter, "c") == {"total": each * clients}


def ran(
    which: Scenario = clicks, deviations: Iterable[tuple[str, str]] = (), **parameters: object
) -> RunResult:
    """Run with exactly these *deviations*."""
    return run_once(Job(scenario=which, seed=0, source=Recorded(deviations), parameters=parameters))


def drawn(
    which: Scenario = clicks, deviations: Iterable[tuple[str, str]] = (), **parameters: object
) -> Diagram:
    """Run with exactly these *deviations*, and return the diagram."""
    result = ran(which, deviations, **parameters)
    assert result.unknown == ()
    return diagram_of(result.rows, result.deviations, result.failures)

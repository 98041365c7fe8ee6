"""What `durasim bench` runs, and the yardsticks it is held against in the same process."""

import gc
import math
import tracemalloc
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import attrs
import trio

from ..actors import DurableObject
from ..wire import register
from .choices import Ordinary, Site
from .faults import Crash, LoseReply
from .properties import Property
from .run import Job, RunResult, run_jobs, run_once
from .scenario import Scenario, scenario
from .trace import Row
from .world import World

__all__ = [
    "channel_pair",
    "gated_calls",
    "jump_sleeps",
    "payload_calls",
    "peak_bytes",
    "serial_calls",
    "timed",
    "timed_many",
    "timed_sleeps",
    "watched_calls",
]


class GatedCounter(DurableObject, name="bench.GatedCounter"):
    """Get and put with a commit for each call."""

    async def add(self, by: int, note: str, share: float, nothing: None) -> int:
        """Add *by*; the other fields are carried along."""
        del note, share, nothing
        total: int = await self.storage.get("total", 0) + by
        await self.storage.put("total", total)
        return total


class SerialCounter(GatedCounter, name="bench.SerialCounter"):
    """The same, one request after the other."""

    delivery = "serial"


@register(name="bench.Order")
@attrs.frozen
class Order:
    """A payload with four small fields, through cattrs."""

    by: int
    note: str
    share: float
    tags: list[str]


class PayloadCounter(DurableObject, name="bench.PayloadCounter"):
    """As `GatedCounter`, with a class of the user's as argument."""

    async def add(self, order: Order) -> int:
        """Add the order."""
        total: int = await self.storage.get("total", 0) + order.by
        await self.storage.put("total", total)
        return total


class Armed(Ordinary):
    """A source of choices that could deviate at every choice, and does not."""

    def rate(self, site: Site) -> float:
        """Hardly ever."""
        del site
        return 1e-15

    def gap(self) -> float:
        """Not within any run."""
        return 1.0


class CommitsAreCounted(Property[dict[str, int]]):
    """A property that sees every commit, as those of users do."""

    name = "commits are counted"
    kinds = ("commit",)

    def init(self) -> dict[str, int]:
        """Commits seen, by object."""
        return {}

    def observe(self, state: dict[str, int], event: Row) -> dict[str, int]:
        """Count one commit."""
        state[event.actor] = state.get(event.actor, 0) + 1
        return state

    def holds(self, state: dict[str, int], world: World) -> bool:
        """Whether a commit was seen."""
        del world
        return bool(state)


PAUSE_CALLS = 1000
"""Calls of a client after which a virtual millisecond passes: time must not seem to stand still."""

PLAN = (LoseReply(at_most=0), Crash(at_most=0, at=("before commit", "after commit")))


def _calls(
    name: str,
    begin: Callable[[World, str, str], Callable[[], Awaitable[object]]],
    *properties: Property[Any],
) -> Scenario:
    """Return a scenario; *begin* gives a client's way to call the object of a name."""

    async def story(world: World, clients: int, calls: int, objects: int) -> None:
        async def work(number: int) -> None:
            who = f"client-{number}"
            ways = [begin(world, who, f"o{ordinal}") for ordinal in range(objects)]
            for turn in range(calls // clients):
                await ways[(turn * clients + number) % objects]()
                if turn % PAUSE_CALLS == PAUSE_CALLS - 1:
                    await trio.sleep(0.001)

        async with trio.open_nursery() as nursery:
            for number in range(clients):
                nursery.start_soon(work, number)

    parameters = {"clients": (4,), "calls": (40,), "objects": (1,)}
    return Scenario(name, story, PLAN, properties, parameters)


def _counting(
    cls: type[GatedCounter],
) -> Callable[[World, str, str], Callable[[], Awaitable[object]]]:
    def begin(world: World, who: str, name: str) -> Callable[[], Awaitable[object]]:
        stub = world.client(who).get(cls, name)
        return lambda: stub.add(1, "two", 3.5, None)

    return begin


def _ordering(world: World, who: str, name: str) -> Callable[[], Awaitable[object]]:
    stub = world.client(who).get(PayloadCounter, name)
    order = Order(1, "two", 3.5, ["four"])
    return lambda: stub.add(order)


serial_calls = _calls("bench_serial", _counting(SerialCounter))
watched_calls = _calls("bench_watched", _counting(SerialCounter), CommitsAreCounted())
gated_calls = _calls("bench_gated", _counting(GatedCounter))
payload_calls = _calls("bench_payload", _ordering)


@scenario(name="bench_sleeps", parameters={"tasks": (100,), "rounds": (20,)})
async def world_sleeps(world: World, tasks: int, rounds: int) -> None:
    """Tasks that sleep to deadlines of their own, again and again."""
    del world
    await _sleepers(tasks, rounds)


async def _sleepers(tasks: int, rounds: int) -> None:
    async def sleeper(number: int) -> None:
        for turn in range(rounds):
            await trio.sleep(1 + number / 1000 + turn / 7)

    async with trio.open_nursery() as nursery:
        for number in range(tasks):
            nursery.start_soon(sleeper, number)


class JumpClock(trio.abc.Clock):
    """The smallest clock that jumps to the next deadline."""

    def __init__(self) -> None:
        self._now = 0.0

    def start_clock(self) -> None:
        """Nothing to start."""

    def current_time(self) -> float:
        """Return virtual seconds."""
        return self._now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Jump."""
        if deadline != math.inf:
            self._now = max(self._now, deadline)
            return 0
        return deadline


def jump_sleeps(tasks: int, rounds: int) -> float:
    """Return the seconds that the sleepers take under the smallest jump clock."""
    began = perf_counter()
    trio.run(_sleepers, tasks, rounds, clock=JumpClock())
    return perf_counter() - began


def channel_pair(rounds: int) -> float:
    """Return the seconds of so many memory-channel round trips between one pair of tasks."""

    async def main() -> float:
        there, ours = trio.open_memory_channel[int](0)
        back, theirs = trio.open_memory_channel[int](0)

        async def echo() -> None:
            async for number in ours:
                await back.send(number)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(echo)
            began = perf_counter()
            for number in range(rounds):
                await there.send(number)
                await theirs.receive()
            seconds = perf_counter() - began
            nursery.cancel_scope.cancel()
        return seconds

    return trio.run(main)


def timed(story: Scenario, *, calls: int, objects: int = 1, clients: int = 4) -> float:
    """Return the seconds of one run of *story*, made, run and torn down.

    Raises:
        RuntimeError: the run did not hold; its time means nothing.
    """
    parameters = {"calls": calls, "objects": objects, "clients": clients}
    job = Job(scenario=story, seed=1, source=Armed(), parameters=parameters, keep=1000)
    return _seconds(run_once(job))


def timed_many(story: Scenario, *, calls: int, worlds: int) -> float:
    """Return the seconds of one world, over *worlds* of them in one trio run."""
    parameters = {"calls": calls, "objects": 1, "clients": 4}
    left = [worlds]

    def following(result: RunResult | None) -> Job | None:
        if result is not None:
            _seconds(result)
        left[0] -= 1
        if left[0] < 0:
            return None
        return Job(scenario=story, seed=1, source=Armed(), parameters=parameters, keep=1000)

    began = perf_counter()
    run_jobs(following)
    return (perf_counter() - began) / worlds


def timed_sleeps(tasks: int, rounds: int) -> float:
    """Return the seconds that the sleepers take in a world."""
    parameters = {"tasks": tasks, "rounds": rounds}
    job = Job(scenario=world_sleeps, seed=1, source=Armed(), parameters=parameters, keep=1000)
    return _seconds(run_once(job))


def peak_bytes(calls: int) -> int:
    """Return the tracemalloc peak of a run of *calls* above that of an idle world."""
    peaks: list[int] = []
    for count in (4, calls):
        gc.collect()
        tracemalloc.start()
        timed(serial_calls, calls=count)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return max(1, peaks[1] - peaks[0])


def _seconds(result: RunResult) -> float:
    if not result.ok:
        raise RuntimeError(f"{result.scenario.name}: {result.failures[0].message}")
    return result.wall_seconds

"""One run: a scenario in a world of its own, and what it says at the end."""

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any

import attrs
import trio

from .choices import Choices, Deviation, Source
from .errors import describe
from .fence import fence
from .garbage import collected_by_hand
from .generators import Generators
from .kernel import Kernel
from .properties import Watch
from .scenario import Scenario
from .trace import Row
from .trio_order import deterministic_order
from .world import Failure, World

__all__ = ["Job", "RunResult", "draw_parameters", "run_jobs", "run_once"]

KEEP_ROWS = 20_000
"""Trace rows kept of a run: enough for every chart, and bounded for the longest."""


@attrs.frozen(kw_only=True)
class Job:
    """What to run.

    Attributes:
        scenario: which.
        seed: of the entropy.
        source: of the choices.
        parameters: drawn by the seed if None.
        log: keep the name and options of every choice.
        keep: trace rows to keep.
    """

    scenario: Scenario
    seed: int
    source: Source
    parameters: Mapping[str, Any] | None = None
    log: bool = False
    keep: int = KEEP_ROWS


@attrs.frozen(kw_only=True)
class RunResult:
    """What one run says.

    Attributes:
        parameters: with which it ran.
        failures: what did not hold, in the order found.
        deviations: every choice that was not ordinary, in order.
        unknown: planned deviations whose option was not there.
        unused: planned deviations whose choice was never made: see `Job.source`.
        digest: of the trace.
        events: how many rows the trace had.
        virtual_seconds, wall_seconds: how long it took, there and here.
        faults: how often each fault of the plan struck, in plan order.
        sometimes: whether each `sometimes` was reached.
        log: every choice, if asked for.
        rows: the last rows of the trace.
        remarks: what a verdict adds, a line each: the first error of each failing alarm.
        unasked: every `at_rest` that was not asked, since the world was cut off before its rest.
    """

    scenario: Scenario
    seed: int
    parameters: Mapping[str, Any]
    failures: tuple[Failure, ...]
    deviations: tuple[Deviation, ...]
    unknown: tuple[str, ...]
    digest: str
    events: int
    virtual_seconds: float
    wall_seconds: float
    faults: tuple[int, ...]
    sometimes: Mapping[str, bool]
    log: tuple[tuple[str, tuple[str, ...]], ...] = attrs.field(repr=False)
    rows: tuple[Row, ...] = attrs.field(repr=False)
    remarks: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return not self.failures


def draw_parameters(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Return one value for each parameter of *scenario*, by *seed*."""
    drawn: dict[str, Any] = {}
    for name, values in scenario.parameters.items():
        number = int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:8])
        drawn[name] = values[number % len(values)]
    return drawn


def unasked(name: str) -> str:
    """Say that a property was not asked."""
    return f"{name} was not asked: things were still scheduled when the world was cut off"


def raise_if_ending(error: BaseException) -> None:
    """Raise what ends the process, if it is *error* or a part of it."""
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    parts: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    for part in parts:
        raise_if_ending(part)


async def run_job(kernel: Kernel, job: Job) -> RunResult:
    """Run *job* in the trio run that *kernel* is the clock of.

    Raises:
        KeyboardInterrupt: it came in the world, which has ended.
    """
    scenario = job.scenario
    if job.parameters is None:
        parameters = draw_parameters(scenario, job.seed)
    else:
        parameters = dict(job.parameters)
    plan = scenario.faults
    choices = Choices(job.source, [fault.at_most for fault in plan], log=job.log)
    world = World(kernel, choices, plan, seed=job.seed, keep=job.keep)
    watch = Watch(scenario.properties, world)
    began = perf_counter()
    kernel.attach(world)
    try:
        story = partial(scenario, world, **parameters)
        await world.live(story, watch.settle, scenario.settle_s, scenario.ends_s)
    except BaseException as error:
        world.failed(error)
    finally:
        kernel.detach()
    if world.error is not None:
        raise_if_ending(world.error)
        world.failures.append(Failure("world", describe(world.error)))
    return RunResult(
        scenario=scenario,
        seed=job.seed,
        parameters=parameters,
        failures=tuple(world.failures),
        deviations=tuple(choices.deviations),
        unknown=tuple(choices.unknown),
        digest=world.trace.digest(),
        events=world.trace.length,
        virtual_seconds=world.now_s,
        wall_seconds=perf_counter() - began,
        faults=tuple(choices.struck),
        sometimes=dict(watch.reached),
        log=tuple(choices.log or ()),
        rows=world.trace.rows,
        remarks=(*world.origins.remarks, *map(unasked, watch.unasked)),
        unasked=tuple(watch.unasked),
    )


def run_jobs(following: Callable[[RunResult | None], Job | None]) -> None:
    """Run jobs one after another in one trio run: *following* gets each result, gives the next."""
    kernel = Kernel()
    generators = Generators()

    async def main() -> None:
        with generators.hooked():
            job = following(None)
            while job is not None:
                result = await run_job(kernel, job)
                generators.clear()
                collect()
                job = following(result)

    with fence(), collected_by_hand() as collect, deterministic_order(kernel):
        trio.run(main, clock=kernel)


def run_once(job: Job) -> RunResult:
    """Run one job."""
    results: list[RunResult] = []

    def following(result: RunResult | None) -> Job | None:
        if result is None:
            return job
        results.append(result)
        return None

    run_jobs(following)
    return results[0]

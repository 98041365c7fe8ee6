"""Exploration: many runs, the first failure in few facts, and what was tried.

The first failure reported is that of the lowest run, whatever the number of processes. Each one is
run twice before it is shown, and once in a new process whose texts have other hashes: if one of
these is another run, what is reported is `determinism`.
"""

import sys
from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import attrs
import trio

from .batch import Batch, Failed, Runner, Tally, parameters_of
from .choices import Deviation
from .mutants import Mutant
from .replay import ReplayFile, replay_file
from .run import RunResult
from .scenario import Scenario
from .second_process import run_elsewhere
from .shrink import kind_of
from .strategies import DEFAULT_STRATEGY, STRATEGIES, UnknownStrategy
from .systems import find_mutant, reference
from .trace import Row
from .workers import run_part, workers
from .world import Failure

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Exploration", "Found", "Progress", "explore"]

PART_S = 0.25
"""Real seconds after which a part of a batch reports: what progress and Ctrl-C wait for."""

PART_RUNS_FIRST = 4
PART_RUNS_MAX = 2000
"""Runs of a part in another process: the first ones, and the most."""

ELSEWHERE = (
    "the second was in a new process, and a replay diverges as well: look for the order of a set, "
    "hash(), id(), or what only this process has set"
)
"""What is said of a run that differs only there."""


@attrs.frozen(kw_only=True)
class Progress:
    """How far an exploration is.

    Attributes:
        runs: finished.
        runs_max: to be done at most; None if only time ends it.
        found: how many kinds of failures.
        seconds: since it began, real.
        shrinking: whether it is looking for fewer deviations now.
    """

    runs: int
    runs_max: int | None
    found: int
    seconds: float
    shrinking: bool = False


@attrs.frozen(kw_only=True)
class Found:
    """A failure that was found.

    Attributes:
        property: which does not hold; "determinism" if the same run came out otherwise.
        message: what was seen.
        seed: of the run.
        deviations: that are left, in order.
        replay: the file that runs it again.
        shrunk_from: how many deviations the run had that found it.
        failures: everything that did not hold in the run that is shown.
        result: of that run.
        times: how many runs of the batch failed in this way.
    """

    property: str
    message: str
    seed: int
    deviations: tuple[Deviation, ...]
    replay: ReplayFile
    shrunk_from: int
    failures: tuple[Failure, ...]
    result: RunResult
    times: int


@attrs.frozen(kw_only=True)
class Exploration:
    """What a batch of runs showed.

    Attributes:
        scenario: which was explored.
        runs: how many were finished; with a failure, up to that one.
        distinct: how many of them differed.
        found: the failures, by the lowest run; without `keep_going` at most one.
        faults: how often each fault of the plan struck.
        sometimes: whether each `sometimes` was reached.
        seconds: real.
        interrupted: whether Ctrl-C ended it early.
    """

    scenario: Scenario
    runs: int
    distinct: int
    found: tuple[Found, ...]
    faults: Mapping[str, int]
    sometimes: Mapping[str, bool]
    seconds: float
    interrupted: bool

    @property
    def unreached(self) -> tuple[Failure, ...]:
        """Every `sometimes` that no run reached, if the batch was not cut short."""
        if self.interrupted or self.found:
            return ()
        return tuple(
            Failure(name, f"no run of {self.runs} reached it")
            for name, reached in self.sometimes.items()
            if not reached
        )

    @property
    def ok(self) -> bool:
        """Whether everything held, and every `sometimes` was reached."""
        return not self.found and not self.unreached


def explore(
    scenario: Scenario,
    *,
    runs: int | None = 1000,
    seed: int = 0,
    strategy: str = DEFAULT_STRATEGY,
    jobs: int = 1,
    time_s: float | None = None,
    keep_going: bool = False,
    mutant: Mutant | str | None = None,
    parameters: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], None] | None = None,
    shrink: bool = True,
) -> Exploration:
    """Run *scenario* many times, and tell the failure of the lowest run in few deviations.

    Args:
        scenario: what to run.
        runs: how many; None if *time_s* alone ends it.
        seed: run i has seed + i.
        strategy: one of `STRATEGIES`.
        jobs: processes to run in; the answer does not depend on it.
        time_s: real seconds after which no run begins.
        keep_going: go on after a failure: the first of each kind is told.
        mutant: to apply in every run, or its name in a registered system.
        parameters: those to fix; the others are drawn by the seed.
        progress: told a few times a second how far it is.
        shrink: look for fewer deviations.

    Raises:
        UnknownStrategy, UnknownParameter, UnknownMutant, ValueError: nothing ran.
        RuntimeError: called inside a running trio, or with *jobs* for what no other process can
            find. Nothing ran.
    """
    if strategy not in STRATEGIES:
        raise UnknownStrategy(strategy)
    if jobs < 1 or (runs is None and time_s is None) or (runs is not None and runs < 1):
        raise ValueError("an exploration takes 1 job or more, and 1 run or more, or a time")
    if trio.lowlevel.in_trio_run():
        raise RuntimeError("explore() runs trio itself: call it from outside of any trio.run")
    parameters_of(scenario, seed, parameters or {})
    batch = Batch(
        scenario=scenario,
        seed=seed,
        strategy=strategy,
        parameters=parameters or {},
        mutant=find_mutant(mutant) if isinstance(mutant, str) else mutant,
        keep_going=keep_going,
    )
    with batch.patched():
        pass
    return Explorer(batch, runs, time_s, progress).explored(jobs, shrink=shrink)


class Explorer:
    """One exploration on its way."""

    def __init__(
        self,
        batch: Batch,
        runs: int | None,
        time_s: float | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._batch = batch
        self._runs_max = sys.maxsize if runs is None else runs
        self._progress = progress
        self._began = monotonic()
        self._end = None if time_s is None else self._began + time_s
        self._tally = Tally()
        self._runner = Runner(batch)
        self._interrupted = False

    def explored(self, jobs: int, *, shrink: bool) -> Exploration:
        """Run everything and tell what it showed."""
        jobs = min(jobs, self._runs_max)  # a process without a run is one too many
        try:
            if jobs == 1:
                self._alone()
            else:
                self._together(jobs)
        except BaseException as error:
            self._interrupt(error)
        found = [self._told(failed, shrink=shrink) for failed in self._tally.failed]
        batch, tally = self._batch, self._tally
        return Exploration(
            scenario=batch.scenario,
            runs=tally.runs,
            distinct=len(tally.digests),
            found=tuple(found),
            faults=struck(batch.scenario, tally),
            sometimes=tally.reached,
            seconds=monotonic() - self._began,
            interrupted=self._interrupted,
        )

    def _interrupt(self, error: BaseException) -> None:
        """Keep what was found if *error* is Ctrl-C; raise it if not."""
        if not is_interrupt(error):
            raise error
        self._interrupted = True

    # ---- running

    def _alone(self) -> None:
        while self._goes_on():
            first = self._tally.runs
            self._runner.into(self._tally, first, self._runs_max - first, time_s=self._part_s())
            self._report()

    def _together(self, jobs: int) -> None:
        with workers(self._batch, jobs) as pool:
            waiting: deque[Future[Tally]] = deque()
            following, size = 0, PART_RUNS_FIRST
            while self._goes_on():
                while len(waiting) < 2 * jobs and following < self._runs_max:
                    count = min(size, self._runs_max - following)
                    waiting.append(pool.submit(run_part, following, count))
                    following += count
                if not waiting:
                    break
                self._tally.join(waiting.popleft().result())
                self._report()
                size = self._size(jobs)
            # When time is over, parts that have begun still count, as far as none is missing.
            for each in waiting:
                if each.cancel() or self._is_settled():
                    break
                self._tally.join(each.result())

    def _size(self, jobs: int) -> int:
        """Return how many runs take one process about `PART_S`."""
        rate = self._tally.runs / (monotonic() - self._began) / jobs
        return max(1, min(PART_RUNS_MAX, int(rate * PART_S)))

    def _goes_on(self) -> bool:
        if self._is_settled():
            return False
        if self._end is not None and monotonic() >= self._end:
            return False
        return self._tally.runs < self._runs_max

    def _is_settled(self) -> bool:
        return bool(self._tally.failed) and not self._batch.keep_going

    def _part_s(self) -> float:
        return PART_S if self._end is None else min(PART_S, self._end - monotonic())

    def _report(self, *, shrinking: bool = False) -> None:
        if self._progress is not None:
            self._progress(
                Progress(
                    runs=self._tally.runs,
                    runs_max=None if self._runs_max == sys.maxsize else self._runs_max,
                    found=len(self._tally.failed),
                    seconds=monotonic() - self._began,
                    shrinking=shrinking,
                )
            )

    # ---- telling

    def _told(self, failed: Failed, *, shrink: bool) -> Found:
        result = self._runner.again(failed)
        difference = differs(failed, result)
        if difference is not None:
            failure = Failure("determinism", difference)
            return self._found(failed, result, failure)
        if shrink and failed.deviations and not self._interrupted:
            result = self._shrunk(result)
        elsewhere = None if self._interrupted else run_elsewhere(self._batch, result)
        if elsewhere is not None:
            difference = differs(result, elsewhere)
            if difference is not None:
                failure = Failure("determinism", f"{difference}; {ELSEWHERE}")
                return self._found(failed, result, failure)
        kind = kind_of(failed.failures[0])
        failure = next(each for each in result.failures if kind_of(each) == kind)
        return self._found(failed, result, failure)

    def _shrunk(self, result: RunResult) -> RunResult:
        self._report(shrinking=True)
        reached = [result]
        try:
            return self._runner.shrunk(result, best=reached.append)
        except BaseException as error:
            self._interrupt(error)
        return reached[-1]

    def _found(self, failed: Failed, result: RunResult, failure: Failure) -> Found:
        batch = self._batch
        file = replay_file(
            batch.scenario,
            result,
            name=reference(batch.scenario),
            strategy=batch.strategy,
            mutant=None if batch.mutant is None else batch.mutant.name,
            found=failure.property,
        )
        return Found(
            property=failure.property,
            message=failure.message,
            seed=failed.seed,
            deviations=result.deviations,
            replay=file,
            shrunk_from=len(failed.deviations),
            failures=(failure, *(each for each in result.failures if each != failure)),
            result=result,
            times=self._tally.kinds[kind_of(failed.failures[0])],
        )


def struck(scenario: Scenario, tally: Tally) -> dict[str, int]:
    """Return how often each fault struck, by what it is called; equal ones together."""
    counts: dict[str, int] = {}
    for fault, count in zip(
        scenario.faults, tally.struck or [0] * len(scenario.faults), strict=True
    ):
        counts[str(fault)] = counts.get(str(fault), 0) + count
    return counts


def differs(failed: Failed | RunResult, result: RunResult | Failed) -> str | None:
    """Say where *result*, the second run of what *failed*, is another one; None if it is not."""
    kinds = [kind_of(each) for each in failed.failures]
    if failed.digest == result.digest and kinds == [kind_of(each) for each in result.failures]:
        return None
    again = "the same seed and deviations gave another run"
    for one, two in zip(failed.rows, result.rows, strict=False):
        if one != two:
            return f"{again}: row {one.number} was {shown(one)}, then {shown(two)}"
    if len(failed.rows) != len(result.rows):
        return f"{again}: {len(failed.rows)} rows, then {len(result.rows)}"
    return f"{again}: {shown_kinds(failed)}, then {shown_kinds(result)}"


def shown(row: Row) -> str:
    """Return a row as it is told, without its number."""
    return f"[{row.time_us / 1e6:g} s {row.kind} {row.actor} {row.detail}]"


def shown_kinds(run: Failed | RunResult) -> str:
    """Return what failed in *run*."""
    return ", ".join(" ".join(kind_of(each)).strip() for each in run.failures) or "nothing failed"


def is_interrupt(error: BaseException) -> bool:
    """Whether *error* is Ctrl-C, alone or in groups."""
    if isinstance(error, BaseExceptionGroup):
        group = cast(BaseExceptionGroup[BaseException], error)
        return any(is_interrupt(each) for each in group.exceptions)
    return isinstance(error, KeyboardInterrupt)

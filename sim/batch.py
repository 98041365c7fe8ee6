"""Many runs one after another: run i of a batch has seed N+i, whatever process runs it.

Everything that a run depends on is a function of its seed, so that the runs can be dealt to
processes in any order and the answer stays the same.
"""

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import Any

import attrs

from .choices import Deviation, Ordinary, Recorded, Source
from .mutants import Mutant
from .ordinary import OrdinaryLog
from .run import Job, RunResult, draw_parameters, run_jobs
from .scenario import Scenario
from .shrink import Shrinker, kind_of
from .strategies import make_source
from .trace import Row
from .world import Failure

__all__ = ["Batch", "Failed", "Runner", "Tally", "UnknownParameter", "parameters_of", "play"]

Jobs = Generator[Job, RunResult, None]


class UnknownParameter(ValueError):
    """A scenario has no parameter of that name. Nothing ran; the text is one line."""


@attrs.frozen(kw_only=True)
class Batch:
    """What all runs of a batch have in common.

    Attributes:
        scenario: which.
        seed: of run 0.
        strategy: where choices come from.
        parameters: those that are fixed; the others are drawn by the seed of each run.
        mutant: replaces a function in every run.
        keep_going: whether a failure does not end the batch.
    """

    scenario: Scenario
    seed: int
    strategy: str
    parameters: Mapping[str, Any]
    mutant: Mutant | None
    keep_going: bool

    def patched(self) -> AbstractContextManager[None]:
        """Return the context in which the runs go."""
        return nullcontext() if self.mutant is None else self.mutant.applied()


@attrs.frozen(kw_only=True)
class Failed:
    """A run that failed, as it crosses from one process to another.

    Attributes:
        run: which, counted from 0.
        seed, parameters, failures, deviations, digest, rows: of its result.
    """

    run: int
    seed: int
    parameters: Mapping[str, Any]
    failures: tuple[Failure, ...]
    deviations: tuple[Deviation, ...]
    digest: str
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, run: int, result: RunResult) -> "Failed":
        """Make it of a result."""
        return cls(
            run=run,
            seed=result.seed,
            parameters=result.parameters,
            failures=result.failures,
            deviations=result.deviations,
            digest=result.digest,
            rows=tuple(result.rows),
        )


class Tally:
    """What some runs in a row showed: the failures, and what is counted."""

    __slots__ = ("digests", "failed", "kinds", "runs", "seen", "struck", "unasked")

    def __init__(self) -> None:
        self.runs = 0
        self.digests: set[bytes] = set()
        self.struck: list[int] = []
        self.seen: dict[str, bool] = {}
        self.unasked: dict[str, int] = {}
        self.kinds: dict[tuple[str, str], int] = {}
        self.failed: list[Failed] = []
        """The first failure of each kind."""

    @property
    def reached(self) -> dict[str, bool]:
        """Whether each `sometimes` was reached; and each `at_rest` that no run came to."""
        never = [name for name, count in self.unasked.items() if count == self.runs]
        return self.seen | {f"the rest of {name}": False for name in never}

    def add(self, run: int, result: RunResult) -> None:
        """Count one run."""
        self.runs += 1
        self.digests.add(bytes.fromhex(result.digest[:16]))
        self._count(result.faults, result.sometimes, dict.fromkeys(result.unasked, 1))
        if result.failures:
            kind = kind_of(result.failures[0])
            if kind not in self.kinds:
                self.failed.append(Failed.of(run, result))
            self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def join(self, later: "Tally") -> None:
        """Add what the runs after these showed."""
        self.runs += later.runs
        self.digests |= later.digests
        self._count(later.struck, later.seen, later.unasked)
        self.failed += [
            each for each in later.failed if kind_of(each.failures[0]) not in self.kinds
        ]
        for kind, count in later.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + count

    def _count(
        self,
        struck: "list[int] | tuple[int, ...]",
        seen: Mapping[str, bool],
        unasked: Mapping[str, int],
    ) -> None:
        self.struck = [a + b for a, b in zip(self.struck or [0] * len(struck), struck, strict=True)]
        for name, value in seen.items():
            self.seen[name] = self.seen.get(name, False) or value
        for name, count in unasked.items():
            self.unasked[name] = self.unasked.get(name, 0) + count


def parameters_of(scenario: Scenario, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run: those given, the others drawn by *seed*.

    Raises:
        UnknownParameter: *given* has one that the scenario does not take.
    """
    signature = inspect.signature(scenario.story).parameters.values()
    taken = [each.name for each in signature][1:]
    unknown = [name for name in given if name not in taken and name not in scenario.parameters]
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in signature):
        there = ", ".join(dict.fromkeys([*scenario.parameters, *taken])) or "none"
        raise UnknownParameter(f"{scenario.name} has no parameter {unknown[0]!r}; it has {there}")
    return {**draw_parameters(scenario, seed), **given}


class Runner:
    """Runs parts of a batch in this process, and remembers the ordinary runs that it needed."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self._logs: dict[str, OrdinaryLog | None] = {}

    def part(self, first: int, runs: int, *, time_s: float | None = None) -> Tally:
        """Run numbers *first* to *first* + *runs* - 1, fewer if *time_s* are over or one fails."""
        tally = Tally()
        self.into(tally, first, runs, time_s=time_s)
        return tally

    def into(self, tally: Tally, first: int, runs: int, *, time_s: float | None = None) -> None:
        """As `part`, adding to *tally* run by run."""
        with self.batch.patched():
            play(self._jobs(tally, first, runs, time_s))

    def _jobs(self, tally: Tally, first: int, runs: int, time_s: float | None) -> Jobs:
        batch = self.batch
        end = None if time_s is None else monotonic() + time_s
        for run in range(first, first + runs):
            if end is not None and run > first and monotonic() >= end:
                return
            seed = batch.seed + run
            parameters = parameters_of(batch.scenario, seed, batch.parameters)
            source = yield from self.source(seed, parameters)
            result = yield self.job(seed, parameters, source)
            tally.add(run, result)
            if result.failures and not batch.keep_going:
                return

    def job(self, seed: int, parameters: Mapping[str, Any], source: Source) -> Job:
        """Return the job of one run."""
        return Job(scenario=self.batch.scenario, seed=seed, source=source, parameters=parameters)

    def source(self, seed: int, parameters: Mapping[str, Any]) -> Generator[Job, RunResult, Source]:
        """Make the source of one run; yields the jobs of ordinary runs that it needs first."""
        batch = self.batch
        if batch.strategy == "ordinary":
            return Ordinary()
        log = yield from self._log(seed, parameters)
        return make_source(
            batch.strategy,
            scenario=batch.scenario,
            seed=seed,
            parameters=parameters,
            ordinary=log,
        )

    def _log(
        self, seed: int, parameters: Mapping[str, Any]
    ) -> Generator[Job, RunResult, OrdinaryLog]:
        """Return the ordinary run with *parameters*.

        Where its choices do not depend on entropy, which two seeds show, one log serves all seeds.
        """
        key = repr(sorted(parameters.items()))
        log = self._logs.get(key)
        if log is not None:
            return log
        if key not in self._logs:
            one = (yield self._logged(0, parameters)).log
            two = (yield self._logged(1, parameters)).log
            log = self._logs[key] = OrdinaryLog.of(one) if one == two else None
        return log or OrdinaryLog.of((yield self._logged(seed, parameters)).log)

    def _logged(self, seed: int, parameters: Mapping[str, Any]) -> Job:
        return attrs.evolve(self.job(seed, parameters, Ordinary()), log=True, keep=0)

    # ---- failures

    def again(self, failed: Failed) -> RunResult:
        """Run what failed once more, by its deviations."""
        results: list[RunResult] = []

        def jobs() -> Jobs:
            planned = Recorded((each.choice, each.option) for each in failed.deviations)
            results.append((yield self.job(failed.seed, failed.parameters, planned)))

        with self.batch.patched():
            play(jobs())
        return results[0]

    def shrunk(self, result: RunResult, *, best: Callable[[RunResult], None]) -> RunResult:
        """Return the failing *result* with the fewest deviations found; *best* gets each step."""
        kind = kind_of(result.failures[0])
        shrinker = Shrinker(
            result, kind, lambda source: self.job(result.seed, result.parameters, source)
        )

        with self.batch.patched():
            play(noting(shrinker, best))
        return shrinker.best


def noting(shrinker: Shrinker, best: Callable[[RunResult], None]) -> Jobs:
    """Yield the jobs of *shrinker*, telling *best* what it has reached."""
    steps = shrinker.steps()
    job = next(steps, None)
    while job is not None:
        result = yield job
        try:
            job = steps.send(result)
        except StopIteration:
            job = None
        best(shrinker.best)


def play(jobs: Jobs) -> None:
    """Run what *jobs* yields in one trio run, and send each result back to it."""

    def following(result: RunResult | None) -> Job | None:
        try:
            return next(jobs) if result is None else jobs.send(result)
        except StopIteration:
            return None

    run_jobs(following)

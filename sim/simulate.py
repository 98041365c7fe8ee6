"""One run as a test sees it: `simulate` runs a scenario once and reports."""

import json
import shlex
from collections.abc import Generator, Iterable, Mapping
from typing import Any

import attrs
import trio

from .batch import Batch, Runner, parameters_of, play
from .choices import Deviation, Recorded
from .mutants import Mutant
from .replay import ReplayFile, replay_file
from .run import Job, RunResult
from .scenario import Scenario
from .strategies import STRATEGIES, UnknownStrategy
from .systems import find_mutant, reference
from .trace import Row
from .world import Failure

__all__ = ["Report", "simulate"]


@attrs.frozen(kw_only=True)
class Report:
    """What one run showed.

    Attributes:
        result: of the run.
        reproduce: the command, or the call, that runs it again.
        replay: the file that runs it again.
        unused: names of deviations that were asked for and did not come about: the run then fails.
    """

    result: RunResult
    reproduce: str
    replay: ReplayFile
    unused: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return not self.failures

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What did not hold, in the order found; "replay" for each deviation of `unused`."""
        return (*self.result.failures, *map(self._left_out, self.unused))

    def _left_out(self, name: str) -> Failure:
        there = name in self.result.unknown
        what = "did not have that option" if there else "never came up"
        return Failure("replay", f"{name}: the choice {what}, so the run is not the one asked for")

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """Every choice that was not ordinary, in order."""
        return self.result.deviations

    @property
    def sentences(self) -> tuple[str, ...]:
        """The deviations as a person would say them."""
        return tuple(each.sentence for each in self.result.deviations)

    @property
    def digest(self) -> str:
        """The hash of the trace, 64 hex digits."""
        return self.result.digest

    @property
    def rows(self) -> tuple[Row, ...]:
        """The last rows of the trace, for charts."""
        return tuple(self.result.rows)


def simulate(
    scenario: Scenario,
    seed: int = 0,
    deviations: Iterable[Deviation | tuple[str, str]] | None = None,
    strategy: str = "ordinary",
    parameters: Mapping[str, Any] | None = None,
    mutant: Mutant | str | None = None,
) -> Report:
    """Run *scenario* once. Synchronous: it runs trio itself.

    Args:
        scenario: what to run.
        seed: of the entropy, of parameters that are not given, and of the strategy.
        deviations: exactly what deviates, as `Deviation` or (choice, option); then *strategy* is
            not asked.
        strategy: where choices come from otherwise, one of `STRATEGIES`.
        parameters: those to fix; the others are drawn by the seed.
        mutant: to apply, or its name in a registered system.

    Raises:
        UnknownStrategy, UnknownParameter, UnknownMutant: nothing ran.
        ValueError: a deviation is not the name of a choice. Nothing ran.
        RuntimeError: called inside a running trio. Nothing ran.
    """
    if trio.lowlevel.in_trio_run():
        raise RuntimeError(
            "simulate() runs trio itself: call it from a plain function, outside of any trio.run"
        )
    if strategy not in STRATEGIES:
        raise UnknownStrategy(strategy)
    batch = Batch(
        scenario=scenario,
        seed=seed,
        strategy=strategy,
        parameters=parameters or {},
        mutant=find_mutant(mutant) if isinstance(mutant, str) else mutant,
        keep_going=False,
    )
    planned = None if deviations is None else tuple(map(pair, deviations))
    result = run(batch, planned)
    taken = {each.choice for each in result.deviations}
    return Report(
        result=result,
        unused=tuple(name for name, _ in planned or () if name not in taken),
        reproduce=again(batch, planned),
        replay=replay_file(
            scenario,
            result,
            name=reference(scenario),
            strategy=strategy if planned is None else None,
            mutant=None if batch.mutant is None else batch.mutant.name,
            found=result.failures[0].property if result.failures else None,
        ),
    )


def pair(deviation: Deviation | tuple[str, str]) -> tuple[str, str]:
    """Return a deviation as the name of its choice and the option."""
    if isinstance(deviation, Deviation):
        return deviation.choice, deviation.option
    return deviation


def run(batch: Batch, planned: tuple[tuple[str, str], ...] | None) -> RunResult:
    """Run once, with what is planned, else by the strategy."""
    runner = Runner(batch)
    parameters = parameters_of(batch.scenario, batch.seed, batch.parameters)
    recorded = None if planned is None else Recorded(planned)
    results: list[RunResult] = []

    def jobs() -> Generator[Job, RunResult, None]:
        source = recorded or (yield from runner.source(batch.seed, parameters))
        results.append((yield runner.job(batch.seed, parameters, source)))

    with batch.patched():
        play(jobs())
    return results[0]


def again(batch: Batch, planned: tuple[tuple[str, str], ...] | None) -> str:
    """Return the command that runs this again; with deviations that were given, the call."""
    name = reference(batch.scenario) or batch.scenario.name
    mutant = None if batch.mutant is None else batch.mutant.name
    if planned is not None:
        call = [batch.scenario.name, f"seed={batch.seed}", f"deviations={list(planned)!r}"]
        if batch.parameters:
            call.append(f"parameters={dict(batch.parameters)!r}")
        if mutant is not None:
            call.append(f"mutant={mutant!r}")
        return f"simulate({', '.join(call)})"
    words = ["durasim", "run", name, "--seed", str(batch.seed), "--strategy", batch.strategy]
    for key, value in batch.parameters.items():
        words += ["--set", f"{key}={setting(value)}"]
    if mutant is not None:
        words += ["--mutant", mutant]
    return shlex.join(words)


def setting(value: object) -> str:
    """Write *value* so that `--set` reads it back: as JSON, or as text that is no JSON."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)

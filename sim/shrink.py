"""Shrinking: the fewest, simplest deviations with which the same property still fails.

It leaves deviations out (all, halves, single ones: Zeller and Hildebrandt, TSE 2002), puts two in
the place of one, moves numbers, and takes simpler options. A candidate counts only if the same
property fails, and what counts is what it really deviated by: what a run never used is gone.
Nothing here is drawn: the same failure always shrinks to the same facts.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import combinations
from math import comb

import attrs

from .choices import Recorded, Site, Source, split_name
from .network import DELAYS_US
from .ordinary import BEHIND
from .run import Job, RunResult
from .world import Failure

__all__ = ["SHRINK_RUNS_MAX", "Shrinker", "fails_like", "kind_of"]

SHRINK_RUNS_MAX = 1500
"""Runs that shrinking one failure may take."""

PARTS_MAX = 250
"""Parts of one size that are tried at most."""

PLACES_MAX = 200
"""Choices of the ordinary run at which one deviation alone is tried."""

SPAN = 3
"""How far a number is moved."""

MOVES = (BEHIND, *DELAYS_US)
"""The options of order and time, simplest first."""

Plan = tuple[tuple[str, str], ...]
"""Choices and their options."""

Cost = tuple[int, int, int]


def kind_of(failure: Failure) -> tuple[str, str]:
    """Return what makes two failures the same: the property; for errors, also their class."""
    if failure.property in ("scenario", "world"):
        return failure.property, failure.message.partition(":")[0].partition(" ")[0]
    return failure.property, ""


def fails_like(result: RunResult, kind: tuple[str, str]) -> bool:
    """Whether *result* fails in that way."""
    return any(kind_of(failure) == kind for failure in result.failures)


def plan_of(result: RunResult) -> Plan:
    """Return what *result* deviated by."""
    return tuple((each.choice, each.option) for each in result.deviations)


def rank(option: str) -> int:
    """Return how far an option is from simple, among those that could stand for each other."""
    return MOVES.index(option) if option in MOVES else 0


def cost(plan: Plan) -> Cost:
    """Return what shrinking makes smaller: facts, then delays, then numbers."""
    ranks = sum(rank(option) for _, option in plan)
    return len(plan), ranks, sum(split_name(name)[1] for name, _ in plan)


class Shrinker:
    """One failure on its way to fewer facts. `best` is what is reached so far."""

    def __init__(
        self,
        found: RunResult,
        kind: tuple[str, str],
        job: Callable[[Source], Job],
        *,
        runs_max: int = SHRINK_RUNS_MAX,
    ) -> None:
        """Begin.

        Args:
            found: the failing run.
            kind: in which way it fails, of `kind_of`.
            job: makes the job of a candidate.
            runs_max: how many candidates are tried at most.
        """
        self.best = found
        self.runs = 0
        self._kind = kind
        self._job = job
        self._left = runs_max
        self._places: tuple[tuple[str, tuple[str, ...]], ...] = ()
        self._tried: set[frozenset[tuple[str, str]]] = {frozenset(plan_of(found))}

    @property
    def plan(self) -> Plan:
        """What the best run deviated by."""
        return plan_of(self.best)

    def steps(self) -> Generator[Job, RunResult, None]:
        """Yield each job that is to be run; takes its result."""
        ordinary = yield attrs.evolve(self._job(Recorded(())), log=True)
        self._places = ordinary.log
        if fails_like(ordinary, self._kind):
            self.best = ordinary
            return
        yield from self._leave_out()
        better = True
        while better and self._left > 0:
            better = yield from self._first(self._simpler())
            better = (yield from self._first(self._merged())) or better
            better = better or (yield from self._first(self._few()))
            better = better or (yield from self._first(self._single()))
            if better:
                yield from self._leave_out()
        while self._left > 0 and (yield from self._first(self._earlier())):
            yield from self._leave_out()

    def _try(self, plan: Plan) -> Generator[Job, RunResult, bool]:
        """Run a candidate; keep it if it fails in the same way and costs less."""
        names = frozenset(plan)
        if names in self._tried or self._left <= 0 or len({name for name, _ in plan}) < len(plan):
            return False
        self._tried.add(names)
        self._left -= 1
        self.runs += 1
        result = yield self._job(Recorded(plan))
        if not fails_like(result, self._kind) or cost(plan_of(result)) >= cost(self.plan):
            return False
        self.best = result
        self._tried.add(frozenset(self.plan))
        return True

    def _first(self, candidates: Iterator[Plan]) -> Generator[Job, RunResult, bool]:
        """Try *candidates* until one is better."""
        for plan in candidates:
            if (yield from self._try(plan)):
                return True
            if self._left <= 0:
                break
        return False

    def _leave_out(self) -> Generator[Job, RunResult, None]:
        size = max(1, len(self.plan) // 2)
        while size:
            start = 0
            while start < len(self.plan):
                plan = self.plan
                if not (yield from self._try(plan[:start] + plan[start + size :])):
                    start += size
            size = size // 2 if size > 1 else 0

    # ---- candidates

    def _simpler(self) -> Iterator[Plan]:
        """Every move simpler at once, then each alone."""
        plan = self.plan
        for option in MOVES:
            yield tuple((name, option if rank(old) > rank(option) else old) for name, old in plan)
        for place, (name, old) in enumerate(plan):
            for option in MOVES[: rank(old)]:
                yield (*plan[:place], (name, option), *plan[place + 1 :])

    def _merged(self) -> Iterator[Plan]:
        """Two without replacement, then one in the place of two, near either of them."""
        plan = self.plan
        pairs = [(i, j) for j in range(len(plan)) for i in range(j)]
        for i, j in pairs:
            yield without(plan, i, j)
        for i, j in pairs:
            rest = without(plan, i, j)
            for name, option in (plan[i], plan[j]):
                for moved in nearby(name):
                    yield (*rest, (moved, option))
        for i in range(len(plan)):
            rest = without(plan, i)
            for j in range(len(rest)):
                for moved in nearby(rest[j][0]):
                    yield (*without(rest, j), (moved, rest[j][1]))

    def _few(self) -> Iterator[Plan]:
        """Every small part, with each move at its simplest: what no single step leads to."""
        simplest = tuple(
            (name, BEHIND if option in MOVES else option) for name, option in self.plan
        )
        for size in range(1, len(simplest)):
            if comb(len(simplest), size) > PARTS_MAX:
                break
            yield from combinations(simplest, size)

    def _single(self) -> Iterator[Plan]:
        """One of the same options alone, anywhere in the ordinary run."""
        if len(self.plan) < 2:
            return
        wanted = {BEHIND if option in MOVES else option for _, option in self.plan}
        for name, options in self._places[:PLACES_MAX]:
            for option in options:
                if option in wanted:
                    yield ((name, option),)

    def _earlier(self) -> Iterator[Plan]:
        """One number smaller: the first one, then half, then one less."""
        plan = self.plan
        for place, (name, option) in enumerate(plan):
            kind, number, subject = split_name(name)
            for smaller in sorted({1, number // 2, number - 1}):
                if 0 < smaller < number:
                    moved = Site(kind, subject, ()).name(smaller)
                    yield (*plan[:place], (moved, option), *plan[place + 1 :])


def without(plan: Plan, *places: int) -> Plan:
    """Return *plan* without what stands at *places*."""
    return tuple(each for place, each in enumerate(plan) if place not in places)


def nearby(name: str) -> Iterable[str]:
    """Yield the choices at the same site with numbers around that of *name*."""
    kind, number, subject = split_name(name)
    for distance in range(1, SPAN + 1):
        for moved in (number - distance, number + distance):
            if moved > 0:
                yield Site(kind, subject, ()).name(moved)

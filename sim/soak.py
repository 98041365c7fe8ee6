"""Soaking: every story of a system many times, and whether that was enough to say that it holds.

A soak is only as good as what it reached. So it counts, and misses a bar where a story was told too
rarely, a kind of fault hardly struck, runs were the same again and again, or a `sometimes` was
never reached. Where designs are compared, those that must fail have to, on the same seeds.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import attrs

from .comparison import Comparison
from .explore import Exploration, Found, explore
from .scenario import Scenario

__all__ = ["RUNS", "STRATEGY", "Bars", "Compared", "Soak", "Soaked", "soak"]

RUNS = 20_000
"""Runs of a whole soak. The bars are those of so many; with fewer runs they are lower."""

STRATEGY = "swarm"
"""Where choices come from unless somebody says otherwise: many faults in a run, at random rates."""

EACH_MIN = 200
STRUCK_MIN = 100
FAILED_MIN = 20
DISTINCT_MIN = 0.9
"""What a whole soak has to reach: runs of each story, strikes of each kind of fault, runs in which
a design fails that must fail, and the share of runs that are like no other of their story."""

PATIENCE = 50
"""Runs of a story in which each `sometimes` of it has to be reached; fewer say nothing."""

Explore = Callable[..., Exploration]


@attrs.frozen
class Bars:
    """What has to be reached.

    Attributes:
        each: runs of each story.
        struck: strikes of each kind of fault.
        failed: runs that fail, of a design that must.
        distinct: of all runs, the share of those that differ.
        patience: runs of a story in which each of its `sometimes` is reached.
    """

    each: int
    struck: int
    failed: int
    distinct: float = DISTINCT_MIN
    patience: int = PATIENCE

    @classmethod
    def of(cls, runs: int, compared: int, stories: int = 1) -> "Bars":
        """Return the bars of *runs* of so many *stories*, and of *compared* runs of each design.

        Of the runs a quarter is always left for the stories in which most may go wrong.
        """
        share = min(1.0, runs / RUNS)
        return cls(
            each=min(int(EACH_MIN * share), runs * 3 // 4 // stories),
            struck=int(STRUCK_MIN * share),
            failed=max(1, int(FAILED_MIN * min(1.0, compared / RUNS))),
        )


@attrs.frozen(kw_only=True)
class Soaked:
    """What one story came to.

    Attributes:
        name: by which it was asked for.
        exploration: its runs.
    """

    name: str
    exploration: Exploration

    @property
    def struck(self) -> int:
        """How often any fault struck."""
        return sum(self.exploration.faults.values())

    @property
    def failed(self) -> int:
        """How many runs failed."""
        return sum(found.times for found in self.exploration.found)


@attrs.frozen(kw_only=True)
class Compared:
    """What one story came to with one value of the parameter that is compared.

    Attributes:
        comparison: of which it is a part.
        value: of the parameter.
        exploration: its runs.
    """

    comparison: Comparison
    value: object
    exploration: Exploration

    @property
    def must_fail(self) -> bool:
        """Whether it is a value that does not stand the plan."""
        return self.value in self.comparison.fails

    @property
    def failed(self) -> int:
        """How many runs failed."""
        return sum(found.times for found in self.exploration.found)

    @property
    def told(self) -> str:
        """What it is called."""
        return f"{self.comparison.scenario.name} with {self.comparison.parameter}={self.value}"

    @property
    def unexpected(self) -> tuple[Found, ...]:
        """The failures that may not be: any, or those by a property that is not expected."""
        expected = self.comparison.expected if self.must_fail else ()
        return tuple(each for each in self.exploration.found if each.property not in expected)


@attrs.frozen(kw_only=True)
class Soak:
    """What a soak showed.

    Attributes:
        seed: of the first run of each story.
        bars: what had to be reached.
        stories: what each came to, in order.
        compared: what each value of each comparison came to.
    """

    seed: int
    bars: Bars
    stories: tuple[Soaked, ...]
    compared: tuple[Compared, ...]

    @property
    def explorations(self) -> tuple[Exploration, ...]:
        """All of them: of the stories, then of the comparisons."""
        stories = tuple(each.exploration for each in self.stories)
        return (*stories, *(each.exploration for each in self.compared))

    @property
    def runs(self) -> int:
        """How many runs the stories had."""
        return sum(each.exploration.runs for each in self.stories)

    @property
    def distinct(self) -> int:
        """How many of them were like no other of their story."""
        return sum(each.exploration.distinct for each in self.stories)

    @property
    def seconds(self) -> float:
        """Real."""
        return sum(each.seconds for each in self.explorations)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it early."""
        return any(each.interrupted for each in self.explorations)

    @property
    def kinds(self) -> Mapping[str, int]:
        """How often each kind of fault struck that is in a plan of the stories, by its title."""
        counts: Counter[str] = Counter()
        for each in self.stories:
            titles = {str(fault): fault.title for fault in each.exploration.scenario.faults}
            for name, title in titles.items():
                counts[title] += each.exploration.faults.get(name, 0)
        return dict(sorted(counts.items()))

    @property
    def violations(self) -> tuple[Found, ...]:
        """Every failure that may not be, the first of each kind in each story."""
        stories = chain.from_iterable(each.exploration.found for each in self.stories)
        compared = chain.from_iterable(each.unexpected for each in self.compared)
        return (*stories, *compared)

    @property
    def missed(self) -> tuple[str, ...]:
        """Each bar that was missed, in a sentence."""
        return tuple(self._missed())

    @property
    def ok(self) -> bool:
        """Whether nothing failed that may not, and no bar was missed."""
        return not self.violations and not self.missed and not self.interrupted

    def _missed(self) -> Iterator[str]:
        bars = self.bars
        for each in self.stories:
            runs = each.exploration.runs
            if runs < bars.each:
                yield f"{each.name} was told {runs} times, not {bars.each}"
            for name, reached in each.exploration.sometimes.items():
                if not reached and runs >= bars.patience:
                    yield f"{each.name}: no run of {runs} reached {name!r}"
        for title, count in self.kinds.items():
            if count < bars.struck:
                yield f"{title} struck {count} times, not {bars.struck}"
        if self.distinct < bars.distinct * self.runs:
            yield f"of {self.runs} runs {self.distinct} differ, not {bars.distinct:.0%}"
        for compared in self.compared:
            if compared.must_fail and compared.failed < bars.failed:
                yield f"{compared.told} failed {compared.failed} times, not {bars.failed}"


def shares(total: int, weights: Sequence[int], least: int = 0) -> list[int]:
    """Deal *total*: to each *least*, or as much as there is; what is left by weight."""
    count = len(weights)
    least = min(least, total // count)
    left = total - least * count
    dealt = [least + left * weight // sum(weights) for weight in weights]
    # What whole numbers leave over goes to the first ones.
    over = total - sum(dealt)
    return [part + (number < over) for number, part in enumerate(dealt)]


def soak(
    stories: Sequence[tuple[str, Scenario]],
    comparisons: Sequence[Comparison] = (),
    *,
    runs: int = RUNS,
    compared: int = 0,
    seed: int = 0,
    strategy: str = STRATEGY,
    jobs: int = 1,
    explored: Explore = explore,
) -> Soak:
    """Tell every story many times, then compare.

    Args:
        stories: each with the name by which it was asked for.
        comparisons: what is compared.
        runs: of all stories together; each begins at *seed* and gets at least its bar, and of
            what is left the more the more faults its plan has.
        compared: runs of each value that is compared, over all comparisons; 0 compares nothing.
        seed: of the first run of each story.
        strategy: one of `STRATEGIES`.
        jobs: processes to run in; the answer does not depend on it.
        explored: explores one story; the one that the command line gives shows how far it is.

    Raises:
        ValueError: there is a story that would get no run. Nothing ran.
        UnknownStrategy: nothing ran.
        RuntimeError: as `explore`.
    """
    if runs < len(stories) or 0 < compared < len(comparisons):
        raise ValueError(f"{runs} runs are too few for {len(stories)} stories")
    bars = Bars.of(runs, compared, len(stories))
    told: list[Soaked] = []
    rows: list[Compared] = []
    dealt = shares(runs, [1 + len(scenario.faults) for _, scenario in stories], bars.each)
    for (name, scenario), count in zip(stories, dealt, strict=True):
        exploration = explored(
            scenario, runs=count, seed=seed, strategy=strategy, jobs=jobs, keep_going=True
        )
        told.append(Soaked(name=name, exploration=exploration))
        if exploration.interrupted:
            comparisons = ()
            break
    comparisons = comparisons if compared else ()
    parts = shares(compared, [1] * len(comparisons)) if comparisons else []
    for comparison, count in zip(comparisons, parts, strict=True):
        rows += compare(comparison, count, seed, strategy, jobs, explored)
        if rows[-1].exploration.interrupted:
            break
    return Soak(seed=seed, bars=bars, stories=tuple(told), compared=tuple(rows))


def compare(
    comparison: Comparison, runs: int, seed: int, strategy: str, jobs: int, explored: Explore
) -> list[Compared]:
    """Tell the story of *comparison* with each of its values, from the same seeds."""
    rows: list[Compared] = []
    for value in (*comparison.fails, *comparison.holds):
        exploration = explored(
            comparison.scenario,
            runs=runs,
            seed=seed,
            strategy=strategy,
            jobs=jobs,
            keep_going=True,
            shrink=value in comparison.holds,
            parameters={comparison.parameter: value},
        )
        rows.append(Compared(comparison=comparison, value=value, exploration=exploration))
        if exploration.interrupted:
            break
    return rows

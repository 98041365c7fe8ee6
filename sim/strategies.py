"""Strategies: sources of choices for exploration. Each is a function of a seed, nothing more.

This is the one file of `sim` that draws from `random`. Only `Random.random` is used, whose stream
is the same on every Python.

`rotation` takes them in turn, because none is best: one preemption held for long is what `pct`
finds, many small ones `uniform`, several faults at once `swarm`, and one lost reply or one crash
`singles`, which leaves none of them out.
"""

from collections.abc import Callable, Mapping
from math import inf, log
from random import Random
from typing import Any, Protocol

import attrs

from .choices import Option, Ordinary, Recorded, Site, Source
from .network import DELAYS_US
from .ordinary import BEHIND, OrdinaryLog, scattered
from .scenario import Scenario

__all__ = ["DEFAULT_STRATEGY", "STRATEGIES", "UnknownStrategy", "hypothesis_source", "make_source"]

DEFAULT_STRATEGY = "rotation"

CYCLE = ("singles", "pct", "uniform", "pct", "swarm", "pct")
"""What `rotation` takes in turn."""

PREEMPTIONS_MAX = 4
MOVES_WITHOUT_LOG = 40
FAULTS_WITHOUT_LOG = 40
"""How many choices of a kind a run is taken to have while its ordinary run is not known."""


class UnknownStrategy(ValueError):
    """There is no strategy of that name. Nothing ran."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no strategy is called {name!r}; there are {', '.join(STRATEGIES)}")
        self.name = name


@attrs.frozen
class Aim:
    """What a strategy knows when it makes the source of one run.

    Attributes:
        turn: counts the runs of this strategy: the seed, or its share of it in `rotation`.
        random: seeded for this run.
        scenario: with its fault plan.
        ordinary: the ordinary run, if it is known.
    """

    turn: int
    random: Random
    scenario: Scenario
    ordinary: OrdinaryLog | None

    def below(self, count: int) -> int:
        """Return a number from 0 to *count* - 1."""
        return int(self.random.random() * count)


Strategy = Callable[[Aim], Source]


def make_source(
    strategy: str,
    *,
    scenario: Scenario,
    seed: int,
    parameters: Mapping[str, Any],
    ordinary: OrdinaryLog | None,
) -> Source:
    """Return the source of choices of one run.

    Args:
        strategy: one of `STRATEGIES`.
        scenario: what will run.
        seed: of the run; the same seed gives the same choices.
        parameters: with which it will run; the same seed aims elsewhere with others.
        ordinary: its ordinary run with these parameters; without it nothing can be aimed.

    Raises:
        UnknownStrategy: there is none of that name.
    """
    make = STRATEGIES.get(strategy)
    if make is None:
        raise UnknownStrategy(strategy)
    drawn = sorted(parameters.items())
    return make(Aim(seed, Random(f"{seed}/{strategy}/{drawn!r}"), scenario, ordinary))


# ---- rates


class Rated(Ordinary):
    """Every choice deviates at a rate: one for moves, one for each fault of the plan."""

    def __init__(self, random: Random, move: float, faults: tuple[float, ...]) -> None:
        """Draw from *random*; the rates are of a choice where the move or fault is possible."""
        self._random = random
        self._move = move
        self._faults = faults

    def rate(self, site: Site) -> float:
        """Return the sum of what is possible there."""
        return min(0.9, sum(share for _, share in self._shares(site.options)))

    def gap(self) -> float:
        """Draw how much rate passes before the next deviation."""
        return -log(1.0 - self._random.random())

    def pick(self, site: Site, options: tuple[Option, ...]) -> Option | None:
        """Draw by rate; what may strike no more leaves its share to the ordinary."""
        del site
        shares = self._shares(options)
        point = self._random.random() * sum(share for _, share in shares)
        for option, share in shares:
            point -= share
            if point < 0:
                return option
        return None

    def _shares(self, options: tuple[Option, ...]) -> list[tuple[Option, float]]:
        """Return each option with its part of the rate."""
        groups: dict[int | None, float] = {}
        for option in options:
            groups[option.fault] = groups.get(option.fault, 0.0) + option.weight
        return [
            (option, self._of(option.fault) * option.weight / groups[option.fault])
            for option in options
        ]

    def _of(self, fault: int | None) -> float:
        return self._move if fault is None else self._faults[fault]


def counted(aim: Aim) -> tuple[int, int]:
    """Return how many choices could move and how many could be hit by a fault."""
    if aim.ordinary is None:
        return MOVES_WITHOUT_LOG, FAULTS_WITHOUT_LOG
    places = {name for name, _ in aim.ordinary.faults}
    return max(1, len(aim.ordinary.orders)), max(1, len(places))


def some(aim: Aim, values: tuple[float, ...]) -> float:
    """Draw one of *values*."""
    return values[aim.below(len(values))]


def ordinary(aim: Aim) -> Source:
    """Nothing deviates."""
    del aim
    return Ordinary()


def uniform(aim: Aim) -> Source:
    """Every choice is as likely to deviate as any other; how likely is drawn once a run."""
    moves, faults = counted(aim)
    move = some(aim, (0.3, 0.3, 0.15, 2 / moves))
    strike = some(aim, (0.0, 1.0, 2.0, 4.0)) / faults
    plan = aim.scenario.faults
    weights = sum(fault.weight for fault in plan) or 1.0
    return Rated(aim.random, move, tuple(strike * fault.weight / weights for fault in plan))


def swarm(aim: Aim) -> Source:
    """A random part of the plan's faults, each at a rate of its own (Groce et al., ISSTA 2012)."""
    moves, faults = counted(aim)
    move = some(aim, (0.0, 1 / moves, 3 / moves, 0.1, 0.3))
    rates = tuple(
        some(aim, (1.0, 2.0, 5.0)) * fault.weight / faults if aim.random.random() < 0.5 else 0.0
        for fault in aim.scenario.faults
    )
    return Rated(aim.random, move, rates)


# ---- aimed


def singles(aim: Aim) -> Source:
    """One fault of the ordinary run a run, each in its turn: lost replies and crashes first.

    The first turn is the ordinary run itself. A scenario without faults has its events put behind,
    one a run.
    """
    log = aim.ordinary
    if log is None:
        return swarm(aim)
    places = log.faults or tuple((name, BEHIND) for name in log.orders)
    item = aim.turn % (len(places) + 1)
    return Recorded(places[item - 1 : item] if item else ())


def pct(aim: Aim) -> Source:
    """A few ordered preemptions of the ordinary run, one to four in turn, and at times a fault.

    After Burckhardt et al. (ASPLOS 2010), turned around: here the order without deviations is run
    to completion, and a preemption is an event that goes behind. Single ones are tried once each,
    then their turns go to three. Three turns of four take a chain of actors, without repeating one.
    """
    log = aim.ordinary
    if log is None or not log.orders:
        return swarm(aim)
    count, turn = 1 + aim.turn % PREEMPTIONS_MAX, aim.turn // PREEMPTIONS_MAX
    if count == 1 and turn < len(log.orders):
        return Recorded([(log.orders[scattered(turn, len(log.orders))], BEHIND)])
    if turn % 4 and len(log.steps) >= max(2, count):
        # Numbers 2n are the chains of three's own turns, 2n+1 those of the turns left by singles.
        number = turn - turn // 4 - 1
        number = 2 * number + (count == 1) if count in (1, 3) else number
        return Recorded((name, BEHIND) for name in log.chain(3 if count == 1 else count, number))
    return Recorded(anywhere(aim, log, count).items())


def anywhere(aim: Aim, log: OrdinaryLog, count: int) -> dict[str, str]:
    """Draw *count* order choices, one turn in four a fault, one in four how long each is held."""
    held = aim.random.random() < 0.25
    left = list(log.orders)
    planned: dict[str, str] = {}
    for _ in range(min(count, len(left))):
        moves = (BEHIND, *DELAYS_US) if held else (BEHIND,)
        planned[left.pop(aim.below(len(left)))] = moves[aim.below(len(moves))]
    if log.faults and aim.random.random() < 0.25:
        name, option = log.faults[aim.below(len(log.faults))]
        planned[name] = option
    return planned


def rotation(aim: Aim) -> Source:
    """Each of the others in turn; when `singles` has tried all, its turns go to `pct`."""
    cycle, place = divmod(aim.turn, len(CYCLE))
    name = CYCLE[place]
    turn = cycle * CYCLE.count(name) + CYCLE[:place].count(name)
    items = inf if aim.ordinary is None else 1 + len(aim.ordinary.faults)
    if name == "pct" or (name == "singles" and cycle >= items):
        # `singles` has the first place of a cycle.
        given = max(0, cycle + (place > 0) - items)
        turn = cycle * CYCLE.count("pct") + CYCLE[:place].count("pct") + int(given)
        name = "pct"
    return STRATEGIES[name](attrs.evolve(aim, turn=turn))


STRATEGIES: dict[str, Strategy] = {
    "ordinary": ordinary,
    "uniform": uniform,
    "pct": pct,
    "swarm": swarm,
    "singles": singles,
    "rotation": rotation,
}
"""Every strategy by its name."""


# ---- Hypothesis


class Draws(Protocol):
    """What Hypothesis's `data()` gives to a test."""

    def draw(self, strategy: Any, label: Any = None) -> Any:
        """Draw an example of *strategy*."""
        ...


class Drawn(Ordinary):
    """Hypothesis decides: how many choices to pass, then which option; all zero is ordinary."""

    PASSED_MAX = 63

    def __init__(self, data: Draws) -> None:
        """Draw from *data*."""
        # Hypothesis is a tool of tests: whoever has no such tests need not install it.
        from hypothesis import strategies

        self._data = data
        self._passed = strategies.integers(0, self.PASSED_MAX)
        self._strategies = strategies

    def rate(self, site: Site) -> float:
        """Every choice with an option counts one."""
        del site
        return 1.0

    def gap(self) -> float:
        """Draw how many choices pass; 0 means all that are left."""
        passed: int = self._data.draw(self._passed, label="choices passed before a deviation")
        return passed - 0.5 if passed else inf

    def pick(self, site: Site, options: tuple[Option, ...]) -> Option | None:
        """Draw one of them."""
        option: Option = self._data.draw(
            self._strategies.sampled_from(options), label=f"option at {site.kind} of {site.subject}"
        )
        return option


def hypothesis_source(data: Draws) -> Source:
    """Return a source of choices that draws from *data*, of Hypothesis's `data()`."""
    return Drawn(data)

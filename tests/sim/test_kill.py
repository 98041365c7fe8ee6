"""A kill is the first run in which an expected property breaks; others are passed over."""

from collections.abc import Callable
from itertools import count

import trio

from durasim.sim import Mutant, World, always, scenario
from durasim.sim.batch import parameters_of
from durasim.sim.kill import PASSED_OVER, Kill, first_kill

HERE = "tests.sim.test_kill"


def said(number: int) -> int:
    """Return what a run says."""
    return 0 * number


def wrongly_said(number: int) -> int:
    """Say the number."""
    return number


def heard(world: World) -> int:
    """Return what was said."""
    return sum(int(str(entry.value)) for entry in world.ledger.entries)


@always
def nothing_is_said(world: World) -> None:
    """No run says anything."""
    assert not heard(world)


@always
def no_more_than_two(world: World) -> None:
    """No run says more than two."""
    assert heard(world) <= 2


@scenario(properties=(nothing_is_said, no_more_than_two), parameters={"number": (1, 2, 3)})
async def saying(world: World, number: int) -> None:
    """Something is said."""
    await trio.sleep(1)
    world.ledger.note("said", said(number))
    await trio.sleep(1)


def mutant(*expected: str, replacement: Callable[[int], int] = wrongly_said) -> Mutant:
    """Return one that expects these properties to break."""
    return Mutant("m", f"{HERE}:said", replacement, saying, expected, needs_fault=False)


def first_that_says(numbers: set[int]) -> int:
    """Return which run says one of them, counted from 1."""
    drawn = (parameters_of(saying, seed, {})["number"] for seed in count())
    return next(run for run, number in enumerate(drawn, 1) if number in numbers)


def test_a_run_that_breaks_other_properties_alone_is_passed_over() -> None:
    """Two is too much for another property alone, three for both."""
    loud = first_that_says({3})
    assert loud > first_that_says({1, 2})
    kill = first_kill(mutant("no_more_than_two"), saying, runs=9, seed=0)
    assert kill == Kill("no_more_than_two", True, loud)


def test_a_kill_is_the_first_run_that_breaks_what_is_expected() -> None:
    """The property that broke is told, also where several are expected."""
    expecting = mutant("no_more_than_two", "nothing_is_said")
    assert first_kill(expecting, saying, runs=9, seed=0) == Kill("nothing_is_said", True, 1)


def test_runs_that_are_passed_over_count() -> None:
    """They are no more than what was given, and what broke in their place is told."""
    kill = first_kill(mutant("no_more_than_two"), saying, runs=first_that_says({3}) - 1, seed=0)
    assert kill == Kill("nothing_is_said", False, first_that_says({3}) - 1)


def test_not_many_runs_are_passed_over() -> None:
    """A mutant that only ever breaks other properties is given up soon."""
    kill = first_kill(mutant("another"), saying, runs=500, seed=0)
    assert kill == Kill("nothing_is_said", False, PASSED_OVER + 1)


def test_a_mutant_that_breaks_nothing_takes_all_runs() -> None:
    """None is told."""
    harmless = mutant("no_more_than_two", replacement=said)
    assert first_kill(harmless, saying, runs=5, seed=0) == Kill(None, False, 5)

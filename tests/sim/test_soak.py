"""A soak: what it counts, and which bars can be missed."""

from typing import Literal

import attrs
import pytest
import trio

from durasim.actors import DurableObject, OutcomeUnknown
from durasim.sim import Comparison, Crash, LoseReply, World, at_rest, scenario, sometimes
from durasim.sim.soak import RUNS, Bars, shares, soak


class Till(DurableObject):
    """Counts."""

    async def add(self) -> None:
        """Add one."""
        await self.storage.put("total", await self.storage.get("total", 0) + 1)


@at_rest
def one_is_in(world: World) -> None:
    """Who pays once has paid once."""
    assert world.stored(Till, "t").get("total") == 1


@sometimes
def two_are_in(world: World) -> bool:
    """Somebody pays twice."""
    return bool(world.stored(Till, "t").get("total") == 2)


Way = Literal["once", "again"]


@scenario(
    faults=(LoseReply(Till, at_most=1),), properties=(one_is_in,), parameters={"way": ("once",)}
)
async def paid(world: World, way: Way = "once") -> None:
    """Who is not answered pays again, or not."""
    for _ in range(3):
        try:
            await world.client("ann").get(Till, "t").add()
            return
        except OutcomeUnknown:
            if way == "once":
                return


@scenario()
async def still(world: World) -> None:
    """Nothing happens."""
    del world
    await trio.sleep(1)


WAYS = Comparison(paid, "way", ("again",), ("once",), (one_is_in,))


def test_runs_are_dealt_by_weight_and_each_gets_the_least() -> None:
    """The first ones get what is over, and none is lost."""
    assert shares(11, [1, 1, 1, 1]) == [3, 3, 3, 2]
    assert shares(20, [1, 3], least=6) == [8, 12]
    assert shares(7, [1, 5], least=6) == [4, 3]
    assert sum(shares(20_000, list(range(1, 38)), least=200)) == 20_000


def test_bars_are_those_of_a_whole_soak_and_lower_with_fewer_runs() -> None:
    """More runs than a whole soak has do not raise them."""
    assert Bars.of(RUNS, RUNS) == Bars(200, 100, 20)
    assert Bars.of(10 * RUNS, RUNS) == Bars(200, 100, 20)
    assert Bars.of(500, 500) == Bars(5, 2, 1)
    assert Bars.of(RUNS, RUNS, stories=150) == Bars(100, 100, 20)


def test_a_soak_counts_runs_strikes_and_what_differs() -> None:
    """Stories, kinds of faults, and each design that is compared."""
    found = soak([("paid", paid)], (WAYS,), runs=60, compared=60)

    (story,) = found.stories
    again, once = found.compared
    assert (story.exploration.runs, story.failed, found.runs) == (60, 0, 60)
    assert found.kinds == {"reply lost": story.struck}
    assert story.struck > 0
    assert (again.value, again.must_fail, once.value, once.must_fail) == ("again", 1, "once", 0)
    assert again.failed > 0
    assert once.failed == 0
    assert found.violations == ()


def test_the_same_seed_gives_the_same_counts_whatever_the_jobs() -> None:
    """All but the time."""

    def counts(jobs: int) -> list[object]:
        found = soak([("paid", paid)], (WAYS,), runs=40, compared=40, seed=7, jobs=jobs)
        return [
            (each.runs, each.distinct, each.faults, each.sometimes) for each in found.explorations
        ]

    assert counts(1) == counts(2)


def test_what_may_not_fail_is_a_violation() -> None:
    """In a story, and with a value that must hold."""
    failing = attrs.evolve(paid, parameters={"way": ("again",)})
    swapped = Comparison(paid, "way", ("once",), ("again",), (one_is_in,))
    found = soak([("paid", failing)], (swapped,), runs=60, compared=60)

    assert [each.property for each in found.violations] == ["one_is_in", "one_is_in"]
    assert found.missed[-1] == "paid with way=once failed 0 times, not 1"
    assert not found.ok


def test_a_design_that_fails_by_another_property_is_a_violation() -> None:
    """It fails, but not in the way that is known."""
    found = soak([("paid", paid)], (attrs.evolve(WAYS, expected=("other",)),), runs=40, compared=40)

    assert [each.property for each in found.violations] == ["one_is_in"]


def test_each_bar_can_be_missed() -> None:
    """Too few strikes, too much alike, and what was never reached, each in a sentence."""
    never = attrs.evolve(paid, properties=(two_are_in,), faults=(Crash("Nobody"),))
    found = soak([("never", never), ("still", still)], runs=400)

    assert found.missed == (
        "never: no run of 266 reached 'two_are_in'",
        "crash struck 0 times, not 2",
        f"of 400 runs {found.distinct} differ, not 90%",
    )
    bars = attrs.evolve(found.bars, each=300, struck=0, distinct=0.0)
    few = attrs.evolve(found, bars=bars).missed
    assert few[0] == "never was told 266 times, not 300"
    assert few[-1] == "still was told 134 times, not 300"


def test_a_story_without_a_run_is_refused() -> None:
    """So is a comparison."""
    with pytest.raises(ValueError, match="too few"):
        soak([("paid", paid), ("still", still)], runs=1)

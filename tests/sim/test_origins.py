"""A verdict says where in the code of an object an error rose."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
import trio

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import Job, Ordinary, RunResult, World, run_once, scenario
from durasim.sim.origins import KEPT_MAX, Origins
from durasim.sim.report import tell, told_of


class Own(Exception):
    """No built-in error."""


class Till(DurableObject):
    """Raises in many ways."""

    async def price(self) -> int:
        """Look up what is not there."""
        return self.looked_up({})

    def looked_up(self, prices: dict[str, int]) -> int:
        """The line that a reader looks for."""
        return prices["tea"]  # lookup

    async def fail(self) -> None:
        """Raise an error of its own class."""
        raise Own("empty")  # own

    async def ring(self) -> None:
        """Ask for an alarm that fails."""
        await self.storage.set_alarm(timedelta(seconds=1))

    async def alarm(self, info: AlarmInfo) -> None:
        """Fail each time, in other words."""
        raise ValueError(f"try {info.retry_count}")  # alarm


class Desk(DurableObject):
    """Asks the till."""

    async def ask(self) -> None:
        """Let the till's error through."""
        await self.objects.get(Till, "t").fail()


class Broken(DurableObject):
    """Cannot be made."""

    def __init__(self) -> None:
        raise Own("unmade")  # constructor

    async def use(self) -> None:
        """Never runs."""


async def lookup(world: World) -> None:
    """A built-in error."""
    await world.client("ann").get(Till, "t").price()


async def own(world: World) -> None:
    """An error of its own class, through another object."""
    await world.client("ann").get(Desk, "d").ask()


async def constructor(world: World) -> None:
    """An error of the constructor."""
    await world.client("ann").get(Broken, "b").use()


def ran(story: Callable[[World], Awaitable[None]]) -> RunResult:
    """Run *story* once."""
    return run_once(Job(scenario=scenario()(story), seed=1, source=Ordinary()))


def line_of(mark: str) -> int:
    """Return the line of this file that ends with a comment."""
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"  # {mark}"))


@pytest.mark.parametrize(
    ("story", "owner"),
    [(lookup, "Till/t.price"), (own, "Till/t.fail"), (constructor, "Broken/b")],
)
def test_an_error_of_an_object_tells_its_line(
    story: Callable[[World], Awaitable[None]], owner: str
) -> None:
    """Where it rose, after the line of the call; not where others let it through."""
    (failure,) = ran(story).failures

    place = f"test_origins.py:{line_of(story.__name__)}"
    assert failure.message.endswith(f"; raised in {owner}, {place}")


def test_the_first_error_of_an_alarm_is_told() -> None:
    """Under the verdict, once, though it is tried again and again."""

    async def story(world: World) -> None:
        await world.client("ann").get(Till, "t").ring()
        await trio.sleep(20)
        assert world.stored(Till, "t"), "nothing is stored"

    result = ran(story)

    remark = f"the alarm of Till/t failed: ValueError: try 0 (test_origins.py:{line_of('alarm')})"
    assert result.remarks == (remark,)
    assert f"  {remark}" in [line.plain for line in tell(told_of(result, result.failures[0]))]


def test_only_the_last_errors_are_kept() -> None:
    """A long run does not grow; an error that nobody handles, or that is local, has no origin."""
    origins = Origins()
    origins.note("nobody", "m")
    for number in range(KEPT_MAX + 1):
        try:
            raise KeyError(number)
        except KeyError:
            origins.note("Till/t", "price")

    def remote(number: int) -> KeyError:
        error = KeyError(number)
        error.remote = True  # type: ignore[attr-defined]
        return error

    assert origins.of(KeyError(1)) is None
    assert origins.of(remote(0)) is None
    assert str(origins.of(remote(1))).startswith("raised in Till/t.price, test_origins.py:")

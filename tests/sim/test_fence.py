"""Whatever is different in every run is out of reach in a world, and only there."""

import datetime
import random
import threading
import time
import uuid

import pytest
import trio

from durasim.sim import (
    Failure,
    Job,
    NotDeterministic,
    Ordinary,
    RunResult,
    Scenario,
    World,
    run_once,
    scenario,
)
from durasim.sim.fence import fence

from .leaks import HARMLESS, LEAKS, Leaky


def run(story: Scenario) -> RunResult:
    """Run *story* once, ordinarily."""
    return run_once(Job(scenario=story, seed=1, source=Ordinary()))


def state() -> tuple[object, ...]:
    """Return some of what the fence replaces, as it is now."""
    return (
        time.time,
        time.localtime,
        random.random,
        random.Random.__dict__["seed"],
        uuid.uuid4,
        threading.Thread.__dict__["start"],
        datetime.datetime.__dict__["now"],
        datetime.date.__dict__["today"],
    )


@pytest.mark.parametrize("name", LEAKS)
def test_each_leak_is_refused_by_name_and_place(name: str) -> None:
    """The error says what was used and where, and the run fails for it."""

    @scenario()
    async def reach(world: World) -> None:
        with pytest.raises(Exception, match="different in every run"):
            await world.client("alice").get(Leaky, "x").leak(name)

    result = run(reach)

    (failure,) = result.failures
    assert failure.property == "determinism"
    assert failure.message.startswith(f"{name.strip()} in leaks.py:")
    assert "so a world has none; use " in failure.message


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_the_same_in_every_run_is_allowed(name: str) -> None:
    """Arguments make the difference, and a log may have times."""

    @scenario()
    async def reach(world: World) -> None:
        assert await world.client("alice").get(Leaky, "x").leak(name) == "it came back"

    assert run(reach).failures == ()


def test_a_scenario_is_inside_as_well() -> None:
    """Its own code has no wall clock either, and learns the line."""
    errors: list[NotDeterministic] = []

    @scenario()
    async def reach(world: World) -> None:
        del world
        with pytest.raises(NotDeterministic) as caught:
            time.time()
        errors.append(caught.value)

    assert run(reach).failures[0].property == "determinism"
    (error,) = errors
    assert error.what == "time.time()"
    assert error.place.startswith("test_fence.py:")
    assert "reach" in error.place
    assert "world.now_s" in error.instead


def test_swallowing_the_error_does_not_hide_it() -> None:
    """The run fails though the object went on."""

    @scenario()
    async def reach(world: World) -> None:
        await world.client("alice").get(Leaky, "x").swallow("time.time()")

    assert [failure.property for failure in run(reach).failures] == ["determinism"]


def test_the_dead_are_refused_without_a_word() -> None:
    """What they reach for is no failure of the run."""
    refused: list[str] = []

    class Loud(Leaky):
        async def wait(self) -> None:
            try:
                await trio.sleep(5)
            finally:
                try:
                    time.time()
                except NotDeterministic as error:
                    refused.append(error.what)

    @scenario()
    async def reach(world: World) -> None:
        _ = world.client("alice").get(Loud, "x").wait()
        await trio.sleep(1)
        world.default().crash("of a test")

    assert run(reach).failures == ()
    assert refused == ["time.time()"]


def test_whoever_runs_worlds_is_outside() -> None:
    """The time that a run took is known, and other threads do not notice."""
    seen: list[float] = []
    thread = threading.Thread(target=lambda: seen.extend(time.time() for _ in range(3)))

    with fence():
        thread.start()
        thread.join()
        outside = time.time()

    assert len(seen) == 3
    assert outside >= seen[0]


def test_everything_is_put_back() -> None:
    """After a run, and after one that ended by an error of the runner's own."""
    before = state()

    @scenario()
    async def nothing(world: World) -> None:
        assert state() != before
        assert world.now_s == 0

    assert run(nothing).failures == ()
    assert state() == before

    with pytest.raises(KeyboardInterrupt), fence():
        raise KeyboardInterrupt
    assert state() == before


def test_fences_nest() -> None:
    """The last to leave takes it down."""
    before = state()
    with fence():
        up = state()
        with fence():
            assert state() == up
        assert state() == up
    assert state() == before


def test_types_stay_what_they_are() -> None:
    """The fence is in the methods: values and subclasses are those of before."""

    class Mine(datetime.datetime):
        pass

    with fence():
        assert type(datetime.datetime.now(datetime.UTC)) is datetime.datetime
        assert type(Mine.now()) is Mine
        assert type(datetime.date.today()) is datetime.date
        assert isinstance(random.Random(), random.Random)


def test_a_failure_reads_well() -> None:
    """It is one sentence with what, where, why and what else."""
    error = NotDeterministic("time.time()", "cart.py:7 (Cart.buy)", "self.now()")

    assert str(error) == (
        "time.time() in cart.py:7 (Cart.buy): it is different in every run, so a world has none; "
        "use self.now()"
    )
    assert Failure("determinism", str(error)).property == "determinism"

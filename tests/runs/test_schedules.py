"""Schedules and fires: values, and rows that are changed by compare-and-set."""

import pytest

from durasim.actors.runs.reservations import Owner
from durasim.actors.runs.schedules import Fire, Schedule, Schedules

from .local import START_MS, Clock, LocalDatabase

ANN = Owner("human", "ann")
MINUTE = 60_000


@pytest.fixture
def schedules(database: LocalDatabase, clock: Clock) -> Schedules:
    """Return no schedules yet."""
    return Schedules(database, clock)


@pytest.mark.parametrize(
    ("now", "following"), [(0, 110), (50, 110), (100, 110), (109, 110), (110, 120), (999, 1000)]
)
def test_the_next_fire_is_on_the_grid_and_later_than_now(now: int, following: int) -> None:
    """What was missed is not made up for."""
    schedule = Schedule("s", Owner("human", "a"), "w", None, 10, 100, "active", 0, 0)

    assert schedule.after(now) == following


async def test_reading_makes_no_table(schedules: Schedules, database: LocalDatabase) -> None:
    """A deployment without schedules owes nothing (case 54)."""
    assert await schedules.due(10) == []
    assert await schedules.unsettled(10) == []
    assert await schedules.get("s") is None
    assert not await schedules.pause("s")
    assert database.tables() == []


async def test_a_fire_is_claimed_once_and_moves_the_schedule(
    schedules: Schedules, clock: Clock
) -> None:
    """Both or neither: whoever comes second has none, and a paused schedule has none to give."""
    made = await schedules.create("s", ANN, "order", {"n": 1}, MINUTE, START_MS)
    assert await schedules.due(10) == [made]

    claimed = await schedules.claim(made, "run-1")
    assert claimed == Fire("s", START_MS, "run-1", ANN, "order", {"n": 1}, "claimed")
    assert await schedules.claim(made, "run-2") is None
    assert await schedules.due(10) == []
    assert await schedules.unsettled(10) == [claimed]

    clock.now += MINUTE
    (again,) = await schedules.due(10)
    assert again.next_fire_at == START_MS + MINUTE
    assert await schedules.pause("s")
    assert await schedules.claim(again, "run-3") is None


async def test_what_became_of_a_fire_is_said_once(schedules: Schedules) -> None:
    """A deferred one may still start; one that has started stays so."""
    made = await schedules.create("s", ANN, "order", None, MINUTE, START_MS)
    claimed = await schedules.claim(made, "run-1")
    assert claimed is not None
    await schedules.mark(claimed, "failed", "too early")
    assert await schedules.send(claimed)
    assert not await schedules.send(claimed)
    await schedules.mark(claimed, "deferred", "nobody answers")
    (deferred,) = await schedules.unsettled(10)
    assert (deferred.state, deferred.reason) == ("deferred", "nobody answers")
    await schedules.mark(claimed, "started")
    await schedules.mark(claimed, "failed", "too late")
    assert await schedules.unsettled(10) == []


async def test_a_fire_outlives_its_schedule(schedules: Schedules) -> None:
    """It carries everything that its run needs."""
    made = await schedules.create("s", ANN, "order", "given", MINUTE, START_MS)
    claimed = await schedules.claim(made, "run-1")
    assert await schedules.delete("s")
    assert not await schedules.delete("s")
    assert await schedules.unsettled(10) == [claimed]


async def test_a_resumed_schedule_does_not_make_up_for_its_pause(
    schedules: Schedules, clock: Clock
) -> None:
    """It fires one interval from now."""
    await schedules.create("s", ANN, "order", None, MINUTE, START_MS)
    await schedules.pause("s")
    clock.now += 100 * MINUTE
    assert await schedules.resume("s")
    assert not await schedules.resume("s")
    assert await schedules.due(10) == []
    found = await schedules.get("s")
    assert found is not None
    assert found.next_fire_at == clock.now + MINUTE

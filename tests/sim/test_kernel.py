"""The kernel: virtual time, whose turn it is, and worlds that lead nowhere."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import attrs
import pytest
import trio
import trio.testing

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import Job, Ordinary, RunResult, World, agenda, kernel, run_once, scenario
from durasim.sim.kernel import Kernel

Story = Callable[[World], Awaitable[None]]


def run(story: Story, *, settle_s: float = 3600, ends_s: float = 86_400) -> RunResult:
    """Run *story* once, ordinarily."""
    told = scenario(name="story", settle_s=settle_s, ends_s=ends_s)(story)
    return run_once(Job(scenario=told, seed=1, source=Ordinary(), keep=100))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose patience a bit earlier than usual."""
    monkeypatch.setattr(kernel, "LOOK_EVENTS", 10_000)
    monkeypatch.setattr(agenda, "STILL_EVENTS", 50_000)


class Box(DurableObject):
    """Keeps a flag, and rings."""

    period = timedelta(seconds=1)

    async def is_open(self) -> bool:
        """Say whether it was opened."""
        return bool(await self.storage.get("open", False))

    async def open(self) -> None:
        """Open it."""
        await self.storage.put("open", True)

    async def start_ringing(self) -> None:
        """Set an alarm that sets itself again."""
        await self.storage.set_alarm(self.period)

    async def alarm(self, info: AlarmInfo) -> None:
        """Ring, and set it again."""
        del info
        count = int(await self.storage.get("rung", 0)) + 1
        await self.storage.put("rung", count)
        await self.storage.set_alarm(self.period)


class Hasty(Box):
    """Rings at once, again and again."""

    period = timedelta(0)
    first = timedelta(0)

    async def start_ringing(self) -> None:
        """Begin after a while."""
        await self.storage.set_alarm(self.first)


def test_virtual_time_is_exact_and_free() -> None:
    """A year passes at once, in the microseconds asked for."""
    seen: list[float] = []

    async def story(world: World) -> None:
        for seconds in (0.000001, 0.1, 0.2, 3600 * 24 * 365):
            await trio.sleep(seconds)
            seen.append(world.now_s)

    result = run(story)

    assert result.failures == ()
    assert seen == pytest.approx([0.000001, 0.100001, 0.300001, 31_536_000.300001], abs=1e-6)
    assert result.wall_seconds < 1


def test_a_kernel_without_a_world_is_a_clock_that_jumps_nowhere() -> None:
    """Outside of worlds its time stands, and what is due is due."""
    idle = Kernel()

    assert idle.current_time() == 0
    assert idle.deadline_to_sleep_time(0) == 0
    assert idle.deadline_to_sleep_time(5) == float("inf")
    assert idle.random() == 0
    batch = [3, 1]
    idle.shuffle(batch)
    assert batch == [3, 1]


def test_polling_lets_others_go_on() -> None:
    """A loop that calls at zero latency does not keep the one it waits for from coming."""

    async def story(world: World) -> None:
        box = world.client("polls").get(Box, "box")

        async def poll() -> None:
            while not await box.is_open():
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(poll)
            await world.client("opens").get(Box, "box").open()

    assert run(story).failures == ()


def test_yielding_lets_others_go_on() -> None:
    """A loop that only yields does not keep the one it waits for from coming."""

    async def story(world: World) -> None:
        box = world.client("opens").get(Box, "box")
        opened: list[bool] = []

        async def open_box() -> None:
            for _ in range(3):
                await box.open()
            opened.append(True)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_box)
            while not opened:
                await trio.lowlevel.checkpoint()

    assert run(story).failures == ()


async def yield_for_ever(world: World) -> None:
    """Spin."""
    del world
    while True:
        await trio.lowlevel.checkpoint()


async def poll_for_ever(world: World) -> None:
    """Ask what will never be."""
    box = world.client("polls").get(Box, "box")
    while not await box.is_open():
        pass


@pytest.mark.parametrize("story", [yield_for_ever, poll_for_ever])
def test_time_that_stands_still_is_reported(story: Story) -> None:
    """Spinning and polling for ever end as a failure, not as a hang."""
    (failure,) = run(story).failures

    assert failure.property == "world"
    assert "virtual time stands still" in failure.message


def test_a_story_that_waits_for_ever_step_by_step_is_reported() -> None:
    """It looks again each second for what never comes: a failure, not a run without an end."""

    async def story(world: World) -> None:
        while not await world.client("alice").get(Box, "box").is_open():  # noqa: ASYNC110
            await trio.sleep(1)

    (failure,) = run(story, ends_s=600).failures

    assert failure.property == "no livelock"
    assert "600 s allowed" in failure.message


def test_a_long_story_may_be_allowed_more_time() -> None:
    """The same steps, with an end, within what is allowed."""

    async def story(world: World) -> None:
        for _ in range(4000):
            await world.client("alice").get(Box, "box").is_open()
            await trio.sleep(1)

    assert run(story, ends_s=600).failures[0].property == "no livelock"
    assert run(story, ends_s=5000).failures == ()


def test_an_alarm_that_sets_itself_again_is_left_after_the_horizon() -> None:
    """The world ends, without a failure, when all had time enough to settle."""

    async def story(world: World) -> None:
        await world.client("alice").get(Box, "box").start_ringing()

    result = run(story, settle_s=60)

    assert result.failures == ()
    assert result.virtual_seconds == pytest.approx(60, abs=1)


@pytest.mark.parametrize("later_s", [0, 5])
def test_an_alarm_that_rings_at_once_again_is_a_livelock(later_s: int) -> None:
    """No virtual time would ever pass. Where nothing has to settle it is left after many events."""

    async def story(world: World) -> None:
        Hasty.first = timedelta(seconds=later_s)
        await world.client("alice").get(Hasty, "box").start_ringing()

    result = run(story)

    (failure,) = result.failures
    assert failure.property == "no livelock"
    assert f"at {later_s} s something goes on" in failure.message
    if not later_s:
        result = run(story, settle_s=0)
        assert result.failures == ()
        assert result.virtual_seconds < 1


@pytest.mark.parametrize("cls", [Box, Hasty])
def test_a_deadlock_is_seen_behind_timers_that_go_on(cls: type[Box]) -> None:
    """The scenario waits for ever while an alarm rings and rings."""

    async def story(world: World) -> None:
        await world.client("alice").get(cls, "box").start_ringing()
        await trio.sleep_forever()

    (failure,) = run(story).failures

    assert failure.property == "no deadlock"
    assert "timers go on, and help nobody" in failure.message


def test_a_scenario_that_is_busy_for_long_is_no_deadlock() -> None:
    """Many events are no failure as long as somebody outside goes on."""

    async def story(world: World) -> None:
        await world.client("alice").get(Box, "box").start_ringing()
        for _ in range(20):
            await trio.sleep(500)

    assert run(story, settle_s=1).failures == ()


def test_an_error_in_the_kernel_ends_the_world_and_is_told() -> None:
    """It does not become an internal error of trio, and the next world is a new one."""

    @attrs.frozen
    class Bomb:
        def fire(self) -> None:
            raise ZeroDivisionError("in an event")

    async def story(world: World) -> None:
        world.kernel.agenda.fresh.append(Bomb())
        try:
            await trio.sleep(5)
        finally:
            world.ledger.note("too late")

    result = run(story)

    (failure,) = result.failures
    assert failure.property == "world"
    assert failure.message.startswith("ZeroDivisionError: in an event")
    assert "effect" not in {row.kind for row in result.rows}


def test_waiting_for_all_tasks_blocked_works_in_a_world() -> None:
    """trio's own helper for tests does not hang."""

    async def story(world: World) -> None:
        order: list[str] = []

        async def other() -> None:
            order.append("runs")
            await trio.sleep(1)
            order.append("wakes")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await trio.testing.wait_all_tasks_blocked()
            order.append("blocked")
        assert order == ["runs", "blocked", "wakes"]
        assert world.now_s == 1

    assert run(story).failures == ()

"""When alarms ring, and again."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
import trio

from durasim.actors import Address, AlarmEnd, AlarmInfo
from durasim.hosts import Alarms, Host
from durasim.sim import ClockJump, StaleIncarnation, Swap, World

from ..actors.stage import kinds, tell
from .objects import Bell, Counter
from .stage import START_US, HandClock, Stage, Zeros, settled

BELL = Address("Bell", "b")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_us(seconds: float) -> int:
    """Return the time *seconds* after the begin."""
    return START_US + round(seconds * 1_000_000)


class Ringing:
    """A host that keeps whom it was to ring; `refuses` makes it fail to do so."""

    name = "here"

    def __init__(self) -> None:
        self.rung: list[tuple[int, datetime]] = []
        self.ends: list[Callable[[AlarmEnd], None]] = []
        self.forgotten: list[Address] = []
        self.refuses = False

    def ring(self, address: Address, info: AlarmInfo, end: Callable[[AlarmEnd], None]) -> None:
        """Keep it."""
        assert address == BELL
        self.rung.append((info.retry_count, info.scheduled_time))
        if self.refuses:
            raise LookupError("its class is unknown")
        self.ends.append(end)

    def activate(self, address: Address) -> "Ringing":
        """The incarnation is this one."""
        if self.refuses:
            raise LookupError("its class is unknown")
        self.forgotten.append(address)
        return self

    def forget_alarm(self) -> None:
        """Noted by `activate`."""


def schedule(byte: int = 0) -> tuple[Alarms, Ringing, HandClock]:
    """Return an open schedule without alarms."""
    host, clock = Ringing(), HandClock()
    alarms = Alarms(cast(Host, host), clock, Zeros(byte))
    alarms.start([])
    return alarms, host, clock


def test_stored_alarms_ring_at_their_time() -> None:
    """Told when they were to run; what has passed already rings at once, never during `start`."""
    host, clock = Ringing(), HandClock()
    alarms = Alarms(cast(Host, host), clock, Zeros())
    alarms.start([(BELL, in_us(5))])
    assert alarms.pending() == {BELL: in_us(5)}
    clock.advance(4.9)
    assert host.rung == []
    clock.advance(0.1)
    assert host.rung == [(0, EPOCH + timedelta(microseconds=in_us(5)))]
    host.ends[0]("done")
    assert (alarms.pending(), alarms.fired, alarms.retried, alarms.dropped) == ({}, 1, 0, 0)

    alarms.start([(BELL, in_us(-60))])
    assert len(host.rung) == 1
    assert clock.due("alarm of Bell/b") == [0]


def test_nothing_is_armed_before_the_start_nor_after_the_end() -> None:
    """The stored alarms stay; the next start finds them."""
    host, clock = Ringing(), HandClock()
    alarms = Alarms(cast(Host, host), clock, Zeros())
    alarms.changed(BELL, in_us(1))
    assert alarms.pending() == {}
    alarms.start([(BELL, in_us(1))])
    action = clock.timers[0].action
    assert action is not None
    alarms.stop()
    assert (alarms.pending(), clock.due()) == ({}, [])
    action()
    assert host.rung == []


def test_a_run_that_ends_after_the_schedule_changes_nothing() -> None:
    """The host is closed: what is stored decides."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    alarms.stop()
    host.ends[0]("failed")
    assert (alarms.pending(), clock.due(), alarms.dropped) == ({}, [], 0)


def test_an_alarm_is_moved_and_taken_back() -> None:
    """The timer of before is taken back."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(10))
    alarms.changed(BELL, in_us(3))
    assert clock.due() == [3]
    alarms.changed(BELL, None)
    assert (clock.due(), alarms.pending()) == ([], {})
    alarms.changed(BELL, None)
    clock.advance(60)
    assert host.rung == []


def test_a_wall_clock_that_was_set_back_lets_an_alarm_wait_longer() -> None:
    """It is due by the wall clock, not by the time that has passed."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(5))
    clock.advance(5, wall_s=-55)
    assert host.rung == []
    assert clock.due() == [60]
    clock.advance(60)
    assert len(host.rung) == 1


@pytest.mark.parametrize(("byte", "factor"), [(0, 1.0), (255, 1.25)])
@pytest.mark.parametrize("how", ["failed", "reset"])
def test_a_failure_is_tried_six_times_more_and_then_dropped(
    byte: int, factor: float, how: AlarmEnd
) -> None:
    """2, 4, 8, … seconds later and up to a quarter of that; the time asked for stays (AL-7)."""
    alarms, host, clock = schedule(byte)
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    for retry in range(6):
        host.ends[-1](how)
        (wait,) = clock.due()
        assert wait == pytest.approx(2 * 2**retry * factor, abs=1e-5)
        assert host.forgotten == []
        clock.advance(wait)
    asked = EPOCH + timedelta(microseconds=in_us(1))
    assert host.rung == [(retry, asked) for retry in range(7)]
    host.ends[-1](how)
    assert (clock.due(), alarms.pending(), host.forgotten) == ([], {}, [BELL])
    assert (alarms.fired, alarms.retried, alarms.dropped) == (7, 6, 1)


def test_a_reset_that_asks_for_no_retry_drops_the_alarm_at_once() -> None:
    """AL-10."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    host.ends[0]("dropped")
    assert (alarms.dropped, host.forgotten, alarms.pending()) == (1, [BELL], {})


def test_a_run_that_never_was_does_not_count() -> None:
    """The incarnation died, or the object cannot be started: it is tried again for ever."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    host.ends[0]("gone")
    host.refuses = True
    for _ in range(10):
        assert clock.due() == [2]
        clock.advance(2)
    assert {retry for retry, _ in host.rung} == {0}
    assert (alarms.dropped, alarms.retried) == (0, 0)


def test_an_alarm_that_cannot_be_forgotten_stays_stored() -> None:
    """Its object cannot be started; the schedule is rid of it until the next start."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    host.refuses = True
    host.ends[0]("dropped")
    assert (alarms.dropped, alarms.pending(), host.forgotten) == (1, {}, [])


@pytest.mark.parametrize("how", ["done", "failed", "reset", "dropped", "gone"])
def test_an_alarm_set_while_it_runs_takes_its_place(how: AlarmEnd) -> None:
    """However the run ends; the count begins anew (AL-9)."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    host.ends[0]("failed")
    clock.advance(2)
    alarms.changed(BELL, in_us(20))
    assert clock.due() == []
    host.ends[1](how)
    assert alarms.pending() == {BELL: in_us(20)}
    clock.advance(17)
    assert host.rung[-1] == (0, EPOCH + timedelta(microseconds=in_us(20)))


@pytest.mark.parametrize("how", ["done", "failed", "reset"])
def test_an_alarm_deleted_while_it_runs_is_not_tried_again(how: AlarmEnd) -> None:
    """There is none any more."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    clock.advance(1)
    alarms.changed(BELL, in_us(9))
    alarms.changed(BELL, None)
    host.ends[0](how)
    assert (alarms.pending(), clock.due(), alarms.dropped) == ({}, [], 0)


def test_an_alarm_that_rings_twice_is_run_twice_and_counted_once() -> None:
    """Delivery is at least once: how the second run ends is nobody's business."""
    alarms, host, clock = schedule()
    alarms.changed(BELL, in_us(1))
    action = clock.timers[0].action
    assert action is not None
    clock.advance(1)
    action()
    assert len(host.ends) == 2
    host.ends[1]("failed")
    assert clock.due() == []
    host.ends[0]("done")
    assert alarms.pending() == {}
    action()
    assert len(host.ends) == 3
    assert clock.due() == []


async def test_an_alarm_of_an_unknown_class_waits_for_it() -> None:
    """It is tried every two seconds, and rings when the class is known."""
    stage = Stage()
    stage.store.open(BELL).time = in_us(1)
    async with stage.open():
        stage.clock.advance(1)
        assert (await stage.ask("Bell/b", "rung")).error is not None
        stage.host.learn(Bell)
        stage.clock.advance(2)
        await settled()
        assert (await stage.ask("Bell/b", "rung")).value == [0]
        assert stage.store.objects[BELL].time is None


async def test_an_alarm_that_failed_for_good_is_gone_from_storage() -> None:
    """And the handler ran seven times."""
    stage = Stage(Bell)
    async with stage.open():
        assert (await stage.ask("Bell/b", "set", 1.0, 100)).value is None
        assert stage.store.objects[BELL].time == in_us(1)
        stage.clock.advance(1)
        await settled()
        for wait in (2, 4, 8, 16, 32, 64):
            assert stage.store.objects[BELL].time == in_us(1)
            stage.clock.advance(wait)
            await settled()
        assert (await stage.ask("Bell/b", "rung")).value == list(range(7))
        assert stage.store.objects[BELL].time is None
        assert stage.host.alarms.dropped == 1


def test_in_a_world_a_clock_that_jumps_back_makes_an_alarm_late() -> None:
    """By as much as it jumped."""

    async def story(world: World) -> None:
        bell = world.client("c").get(Bell, "b")
        await bell.set(10)
        assert await bell.rung() == []
        await trio.sleep(69)
        assert world.stored(Bell, "b").get("rung") is None
        await trio.sleep(2)
        assert world.stored(Bell, "b")["rung"] == [0]

    jump = ("request 1 of Bell/b.rung by c", "clock -60 s")
    tell(story, jump, faults=[ClockJump(Bell)])


def test_in_a_world_an_alarm_waits_for_the_code_that_knows_its_class() -> None:
    """A version without the class leaves it stored; the next one rings it."""

    async def story(world: World) -> None:
        world.machine("m", (Bell, Counter), (Counter,))
        client = world.client("c")
        await client.get(Bell, "b").set(10)
        await client.get(Counter, "a").increment()
        await trio.sleep(100)
        assert world.stored(Bell, "b").get("rung") is None
        await client.get(Counter, "a").increment()
        await trio.sleep(1)
        assert world.stored(Bell, "b")["rung"] == [0]

    swaps = [(f"request {number} of Counter/a.increment by c", "swapped") for number in (1, 2)]
    tell(story, *swaps, faults=[Swap(Counter)])


def test_in_a_world_the_alarm_of_a_replaced_object_rings_once() -> None:
    """The new incarnation has it; the old one is refused at storage."""

    async def story(world: World) -> None:
        client = world.client("c")
        await client.get(Bell, "b").set(10)
        assert await client.get(Bell, "b").rung() == []
        await trio.sleep(60)
        assert world.stored(Bell, "b")["rung"] == [0]

    replaced = ("request 1 of Bell/b.rung by c", "replaced")
    result = tell(story, replaced, faults=[StaleIncarnation(Bell)])
    assert kinds(result, "start") == ["start", "start"]

"""What every `Clock` promises."""

from functools import partial

import trio

from durasim.actors import Clock

from ..hosts.waiting import until
from .arms import Arm


def test_a_wakeup_comes_at_its_time_and_not_before(clocks: Arm[Clock]) -> None:
    """By `time()`, which is the clock that trio sleeps by."""

    async def body(clock: Clock) -> None:
        before = clock.time()
        woken: list[float] = []
        clock.call_at(before + 0.05, lambda: woken.append(clock.time()), "test")
        await trio.sleep(0.01)
        await until(lambda: len(woken) == 1)
        assert woken[0] >= before + 0.05

    clocks.run(body)


def test_wakeups_come_in_order_of_time_then_of_asking(clocks: Arm[Clock]) -> None:
    """Equal times: first asked, first woken."""

    async def body(clock: Clock) -> None:
        at = clock.time() + 0.01
        woken: list[str] = []
        for label, time in (
            ("c", at + 0.01),
            ("a1", at),
            ("a2", at),
            ("b", at + 0.005),
            ("a3", at),
        ):
            clock.call_at(time, partial(woken.append, label), label)
        await until(lambda: len(woken) == 5)
        assert woken == ["a1", "a2", "a3", "b", "c"]

    clocks.run(body)


def test_a_time_that_has_passed_means_soon_but_not_now(clocks: Arm[Clock]) -> None:
    """Never during the call that asks."""

    async def body(clock: Clock) -> None:
        woken: list[str] = []
        clock.call_at(clock.time() - 5, lambda: woken.append("past"), "past")
        assert woken == []
        await until(lambda: woken == ["past"])
        assert woken == ["past"]

    clocks.run(body)


def test_a_wakeup_taken_back_does_not_come(clocks: Arm[Clock]) -> None:
    """Others of the same time do; taking back twice, or too late, has no effect."""

    async def body(clock: Clock) -> None:
        woken: list[int] = []
        at = clock.time() + 0.01
        timers = [clock.call_at(at, partial(woken.append, number), "n") for number in range(300)]
        for number, timer in enumerate(timers):
            if number % 100:
                timer.cancel()
                timer.cancel()
        await until(lambda: len(woken) == 3)
        assert woken == [0, 100, 200]
        timers[0].cancel()
        clock.call_at(clock.time(), lambda: woken.append(-1), "later")
        await until(lambda: len(woken) == 4)
        assert woken == [0, 100, 200, -1]

    clocks.run(body)


def test_an_action_may_ask_for_and_take_back_wakeups(clocks: Arm[Clock]) -> None:
    """Also one of its own instant."""

    async def body(clock: Clock) -> None:
        woken: list[str] = []
        at = clock.time() + 0.01

        def first() -> None:
            woken.append("first")
            second.cancel()
            clock.call_at(at, lambda: woken.append("third"), "third")

        clock.call_at(at, first, "first")
        second = clock.call_at(at, lambda: woken.append("second"), "second")
        await until(lambda: len(woken) == 2)
        await trio.sleep(0.01)
        assert woken == ["first", "third"]

    clocks.run(body)


def test_both_readings_go_on_while_one_sleeps(clocks: Arm[Clock]) -> None:
    """Wall time is microseconds after 2020; it moves about as trio's does."""

    async def body(clock: Clock) -> None:
        time, wall = clock.time(), clock.wall()
        assert wall > 1_577_836_800_000_000
        await trio.sleep(0.02)
        assert clock.time() - time >= 0.02
        assert 10_000 <= clock.wall() - wall < 5_000_000

    clocks.run(body)

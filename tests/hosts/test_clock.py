"""The real clock, beyond what every clock promises."""

import pytest
import trio

from durasim.hosts import RealClock

from .waiting import until


async def test_timers_taken_back_do_not_fill_the_heap(nursery: trio.Nursery) -> None:
    """Each call sets a deadline of 30 s and takes it back: a million calls must not keep them."""
    clock = RealClock()
    nursery.start_soon(clock.run)
    kept = clock.call_at(clock.time() + 30, lambda: None, "kept")
    for _ in range(10_000):
        clock.call_at(clock.time() + 30, lambda: None, "deadline").cancel()

    assert clock.pending == 1
    assert len(clock._heap) < 200  # pyright: ignore[reportPrivateUsage]
    kept.cancel()
    assert clock.pending == 0


async def test_an_earlier_timer_wakes_the_clock_earlier(nursery: trio.Nursery) -> None:
    """Also while it sleeps for a later one."""
    clock = RealClock()
    nursery.start_soon(clock.run)
    clock.call_at(clock.time() + 60, lambda: None, "late")
    await trio.sleep(0.01)
    woken = trio.Event()
    clock.call_at(clock.time() + 0.01, woken.set, "early")

    with trio.fail_after(2):
        await woken.wait()
    assert clock.pending == 1


async def test_a_chain_of_past_timers_lets_other_tasks_run(nursery: trio.Nursery) -> None:
    """Each round of the clock ends, whatever its actions ask for."""
    clock = RealClock()
    nursery.start_soon(clock.run)
    rounds = 0

    def again() -> None:
        nonlocal rounds
        rounds += 1
        timer[0] = clock.call_at(clock.time() - 1, again, "again")

    timer = [clock.call_at(clock.time(), again, "again")]
    await until(lambda: rounds >= 10)
    assert clock.pending == 1
    timer[0].cancel()


async def test_an_action_that_raises_ends_the_clock() -> None:
    """Loudly: the host that runs it must stop."""
    clock = RealClock()

    def broken() -> None:
        raise ValueError("a bug")

    clock.call_at(clock.time(), broken, "broken")
    with trio.fail_after(2), pytest.raises(ValueError, match="a bug"):
        await clock.run()


async def test_a_timer_shows_what_it_is_for() -> None:
    """Label and place in the order, for people."""
    clock = RealClock()
    timer = clock.call_at(5.0, lambda: None, "deadline of client")

    assert repr(timer) == "<timer 1 at 5.0: deadline of client>"

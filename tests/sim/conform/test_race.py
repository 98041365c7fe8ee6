"""Waiting for whichever of several outcomes comes first."""

import trio

from durasim.actors import Pending
from durasim.sim.conform.race import Race

from ...actors.stage import Someone, begin


async def test_a_race_ends_with_the_first_outcome() -> None:
    """The task that waits is woken once, and leaves the others."""
    runners = [Pending(Someone()) for _ in range(3)]

    async with trio.open_nursery() as nursery:

        async def run() -> None:
            await Race(runners)
            assert [runner.done for runner in runners] == [False, True, False]

        await begin(run, nursery)
        runners[1].settle("won", None)
    assert not any(runner.is_awaited() for runner in runners)
    runners[0].settle("late", None)
    assert await runners[0] == "late"


async def test_a_race_that_is_won_already_does_not_wait() -> None:
    """Also if it is stopped before anybody waits."""
    done, open_ = Pending(Someone()), Pending(Someone())
    done.settle(1, None)
    race = Race([open_, done])
    race.stop()

    await race

    assert not open_.is_awaited()


async def test_a_race_can_be_stopped() -> None:
    """Without any outcome; also one without runners."""
    pending = Pending(Someone())
    for runners in ([pending], list[Pending]()):
        race = Race(runners)
        async with trio.open_nursery() as nursery:

            async def run(race: Race = race) -> None:
                await race

            await begin(run, nursery)
            race.stop()
        assert not pending.done
        assert not pending.is_awaited()


async def test_a_cancelled_race_leaves_no_waiter_behind() -> None:
    """A later outcome wakes nobody."""
    pending = Pending(Someone())
    with trio.move_on_after(0) as scope:
        await Race([pending])

    assert scope.cancelled_caught
    assert not pending.is_awaited()
    pending.settle(1, None)
    assert await pending == 1

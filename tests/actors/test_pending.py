"""Outcomes to come: awaiting one, several tasks at one."""

import pytest
import trio

from durasim.actors import DurableObject, Pending
from durasim.sim import World

from .stage import Someone, begin, tell


async def test_several_tasks_may_await_one_outcome() -> None:
    """All of them get it; whoever comes later does not wait."""
    pending, got = Pending(Someone()), list[object]()

    async def wait() -> None:
        got.append(await pending)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await begin(wait, nursery)
        assert pending.is_awaited()
        assert not pending.done
        pending.settle("value", None)
    assert pending.done
    assert not pending.is_awaited()
    assert [*got, await pending] == ["value", "value", "value"]


async def test_an_error_is_raised_to_every_waiter() -> None:
    """Each time with a traceback of its own."""
    pending = Pending(Someone())
    pending.settle(None, ValueError("no"))

    for _ in range(2):
        with pytest.raises(ValueError, match="no") as caught:
            await pending
        assert len(caught.traceback) < 5


async def test_a_waiter_that_is_cancelled_takes_nothing_back() -> None:
    """The outcome comes all the same."""
    pending = Pending(Someone())
    with trio.move_on_after(0) as scope:
        await pending
    assert scope.cancelled_caught

    pending.settle(1, None)
    assert await pending == 1


async def test_whoever_is_to_be_called_is_called() -> None:
    """A waiter need not be a task; one that leaves is not called."""
    pending, called = Pending(Someone()), list[str]()

    def stays() -> None:
        called.append("stays")

    def leaves() -> None:
        called.append("leaves")

    pending.join(stays)
    pending.join(leaves)
    pending.leave(leaves)
    assert pending.waiting_tasks() == []
    pending.settle(None, None)

    assert called == ["stays"]


class Sleeper(DurableObject):
    """Gives up a sleep."""

    async def impatient(self) -> None:
        """Give up a sleep."""
        with trio.move_on_after(1):
            await self.sleep(3600)


def test_a_sleep_that_is_given_up_does_not_move_the_time() -> None:
    """Its timer is taken back."""

    async def story(world: World) -> None:
        await world.client("a").get(Sleeper, "r").impatient()

    assert tell(story).virtual_seconds < 3600

"""Calls and stubs: what is sent, what is awaited, and how it ends."""

from typing import Any

import pytest
import trio
import trio.lowlevel

from durasim.actors import DurableObject, ObjectReset, OutcomeUnknown
from durasim.sim import LoseReply, LoseRequest, World
from durasim.wire import UnsendableValue

from .stage import tell


class Echo(DurableObject):
    """Answers, late if asked to."""

    async def say(self, value: Any, after: float = 0) -> Any:
        """Note and return *value*."""
        if after:
            await self.sleep(after)
        heard: list[Any] = await self.storage.get("heard", [])
        await self.storage.put("heard", [*heard, value])
        return value

    async def leave(self) -> None:
        """Reset."""
        self.abort("left")

    async def fail(self) -> None:
        """Raise what is nobody's class elsewhere."""
        raise trio.BrokenResourceError("on purpose")

    def not_callable(self) -> None:
        """No coroutine method."""

    async def _private(self) -> None:
        """Not for others."""


def test_a_call_is_sent_when_it_is_made_and_may_be_dropped() -> None:
    """Fire and forget."""

    async def story(world: World) -> None:
        echo = world.client("a").get(Echo, "e")
        for number in range(3):
            _ = echo.say(number)
        await trio.sleep(1)
        assert world.stored(Echo, "e") == {"heard": [0, 1, 2]}

    assert tell(story).ok


def test_cancelling_the_waiter_takes_nothing_back() -> None:
    """The object runs on."""

    async def story(world: World) -> None:
        echo = world.client("a").get(Echo, "e")
        with trio.move_on_after(1) as scope:
            await echo.say("late", after=2)
        assert scope.cancelled_caught
        await trio.sleep(2)
        assert world.stored(Echo, "e") == {"heard": ["late"]}

    assert tell(story).ok


def test_one_call_may_be_awaited_by_many_and_again() -> None:
    """All get the same outcome."""

    async def story(world: World) -> None:
        call: Any = world.client("a").get(Echo, "e").say(7, after=1)
        assert not call.done
        assert str(call.address) == "Echo/e"
        seen: list[int] = []

        async def wait() -> None:
            seen.append(await call)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            nursery.start_soon(wait)
        assert [*seen, await call] == [7, 7, 7]
        assert call.done

    assert tell(story).ok


@pytest.mark.parametrize("deadline_s", [5.0, 30.0, 50.0])
def test_a_lost_reply_ends_at_the_deadline_as_unknown(deadline_s: float) -> None:
    """The object ran; the caller cannot tell."""

    async def story(world: World) -> None:
        client = world.client("a")
        slow: Any = client.get(Echo, "other", deadline_s=100).say("slow", after=90)
        with pytest.raises(OutcomeUnknown, match=f"no reply within {deadline_s:g} s"):
            await client.get(Echo, "e", deadline_s=deadline_s).say(1)
        assert world.now_s == deadline_s
        assert world.stored(Echo, "e") == {"heard": [1]}
        assert await slow == "slow"

    assert tell(story, ("reply 1 of Echo/e.say to a", "lost"), faults=[LoseReply(Echo.say)]).ok


def test_a_lost_request_ends_as_unknown_too() -> None:
    """Nothing ran; the caller cannot tell that either."""

    async def story(world: World) -> None:
        with pytest.raises(OutcomeUnknown):
            await world.client("a").get(Echo, "e").say(1)
        assert world.stored(Echo, "e") == {}

    assert tell(story, ("request 1 of Echo/e.say by a", "lost"), faults=[LoseRequest(Echo)]).ok


def test_only_public_coroutine_methods_can_be_called() -> None:
    """RPC-6: the stub knows them, and so does the object."""

    async def story(world: World) -> None:
        echo: Any = world.client("a").get(Echo, "e")
        for name in ("not_callable", "_private", "storage", "alarm", "nothing", "sleep"):
            with pytest.raises(AttributeError, match="no method"):
                getattr(echo, name)
        assert repr(echo) == "<stub of Echo/e>"
        await trio.lowlevel.checkpoint()

    assert tell(story).ok


def test_what_cannot_be_sent_is_refused_before_anything_leaves() -> None:
    """With the path of the bad value."""

    async def story(world: World) -> None:
        echo = world.client("a").get(Echo, "e")
        with pytest.raises(UnsendableValue, match=r"\$\.args\[0\]"):
            _ = echo.say(object())
        assert await echo.say(1) == 1
        assert world.stored(Echo, "e") == {"heard": [1]}

    assert tell(story).ok


def test_a_stub_in_use_stays_broken_after_a_reset() -> None:
    """RPC-11: the object is not even asked."""

    async def story(world: World) -> None:
        client = world.client("a")
        used, unused = client.get(Echo, "e"), client.get(Echo, "e")
        await used.say(1)
        with pytest.raises(ObjectReset, match="left"):
            await used.leave()
        with pytest.raises(ObjectReset, match="left"):
            await used.say(2)
        assert await unused.say(3) == 3
        assert world.stored(Echo, "e") == {"heard": [1, 3]}

    assert tell(story).ok


def test_an_idle_stub_in_use_is_broken_by_a_reset_it_did_not_see() -> None:
    """It is bound to the incarnation that answered it last."""

    async def story(world: World) -> None:
        client = world.client("a")
        idle = client.get(Echo, "e")
        await idle.say(1)
        with pytest.raises(ObjectReset):
            await client.get(Echo, "e").leave()
        with pytest.raises(ObjectReset, match="left"):
            await idle.say(2)
        assert world.stored(Echo, "e") == {"heard": [1]}

    assert tell(story).ok


def test_a_stub_stays_bound_after_an_error_that_is_no_reset() -> None:
    """RPC-10."""

    async def story(world: World) -> None:
        echo = world.client("a").get(Echo, "e")
        with pytest.raises(Exception, match="on purpose"):
            await echo.fail()
        assert await echo.say(1) == 1

    assert tell(story).ok

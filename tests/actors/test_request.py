"""What an incarnation is asked to do: methods that may be called, and runs of the alarm handler."""

from datetime import timedelta
from typing import Any

import pytest
import trio

from durasim.actors import Address, AlarmInfo, DurableObject, MethodNotFound
from durasim.sim import Crash, World

from ..hosts.stage import START_US, Stage, settled
from .stage import kinds, tell


class Ringing(DurableObject):
    """Has an alarm that fails as often as it is told."""

    async def set(self, seconds: float, failures: int, how: str = "raise") -> None:
        """Set the alarm."""
        await self.storage.put("failures", failures)
        await self.storage.put("how", how)
        self.storage.set_alarm(timedelta(seconds=seconds))

    async def alarm(self, info: AlarmInfo) -> None:
        """Note the try; fail while there are failures left."""
        seen: list[Any] = await self.storage.get("seen", [])
        alarm = await self.storage.get_alarm()
        seen.append([info.retry_count, info.is_retry, alarm is None])
        await self.storage.put("seen", seen)
        failures = await self.storage.get("failures")
        if failures:
            await self.storage.put("failures", failures - 1)
            await self.storage.sync()
            if await self.storage.get("how") == "raise":
                raise ValueError("on purpose")
            self.abort(retry_alarm=await self.storage.get("how") == "abort")


class SerialRinging(Ringing):
    """The same, serial."""

    delivery = "serial"


@pytest.mark.parametrize("cls", [Ringing, SerialRinging])
def test_an_alarm_is_tried_again_until_it_succeeds(cls: type[Ringing]) -> None:
    """AL-5, AL-7: the count grows, and while the handler runs the alarm reads as none."""

    async def story(world: World) -> None:
        await world.client("a").get(cls, "r").set(1, failures=2)
        await trio.sleep(60)
        seen = world.stored(cls, "r")["seen"]
        assert seen == [[0, False, True], [1, True, True], [2, True, True]]

    assert tell(story).ok


def test_an_alarm_that_always_fails_is_dropped_after_six_retries() -> None:
    """AL-7."""

    async def story(world: World) -> None:
        await world.client("a").get(Ringing, "r").set(1, failures=100)
        await trio.sleep(600)
        assert [row[0] for row in world.stored(Ringing, "r")["seen"]] == list(range(7))
        assert world.disk.objects[("Ringing", "r")].alarm is None  # type: ignore[index]

    assert tell(story).ok


@pytest.mark.parametrize(("how", "tries"), [("abort", 2), ("no retry", 1)])
def test_an_abort_in_the_handler_is_retried_unless_it_says_otherwise(how: str, tries: int) -> None:
    """AL-10."""

    async def story(world: World) -> None:
        await world.client("a").get(Ringing, "r").set(1, failures=1, how=how)
        await trio.sleep(60)
        assert len(world.stored(Ringing, "r")["seen"]) == tries

    assert tell(story).ok


class Plain(DurableObject):
    """Methods of every kind."""

    async def unsendable(self) -> object:
        """Store, and return what no wire carries."""
        await self.storage.put("k", 1)
        return object()

    async def _private(self) -> str:
        """Not for others."""
        return "private"

    def ordinary(self) -> str:
        """No coroutine method."""
        return "ordinary"


@pytest.mark.parametrize("method", ["_private", "ordinary", "storage", "alarm", "nowhere"])
async def test_only_what_may_be_called_is_called(method: str) -> None:
    """Whatever an envelope asks for: the callee decides, not the caller's stub."""
    stage = Stage(Plain)
    async with stage.open():
        answer = await stage.ask("Plain/p", method)
        assert isinstance(answer.error, MethodNotFound)


def test_a_result_that_cannot_be_sent_is_told_and_the_writes_stand() -> None:
    """The handler ran to its end."""

    async def story(world: World) -> None:
        with pytest.raises(Exception, match="object"):
            await world.client("a").get(Plain, "p").unsendable()
        assert world.stored(Plain, "p") == {"k": 1}

    assert tell(story).ok


class Busy(Ringing):
    """One request after the other, and slow ones."""

    delivery = "serial"

    async def break_down(self) -> None:
        """Reset after a second."""
        await self.sleep(1)
        self.abort()


async def test_an_alarm_that_waits_when_its_object_is_reset_has_not_failed() -> None:
    """Its handler had not begun: it rings again with the same count (AL-10)."""
    stage = Stage(Busy)
    stage.store.open(Address("Busy", "b")).time = START_US + 500_000
    async with stage.open():
        await stage.ask("Busy/b", "break_down")
        stage.clock.advance(0.5)
        await settled()
        stage.clock.advance(0.5)
        await settled()
        assert stage.clock.due("alarm") == [2]
        stage.clock.advance(2)
        await settled()
        assert stage.host.alarms.retried == 0
        assert stage.store.objects[Address("Busy", "b")].time is None


def test_an_alarm_whose_host_dies_rings_again() -> None:
    """The stored alarm is still there, and the try does not count."""

    async def story(world: World) -> None:
        await world.client("a").get(Ringing, "r").set(1, failures=0)
        await trio.sleep(60)
        assert world.stored(Ringing, "r")["seen"] == [[0, False, True]]

    crash = ("commit 1 of Ringing/r in alarm", "crash before")
    result = tell(story, crash, faults=[Crash(Ringing, at_most=1)])
    assert kinds(result, "begin").count("begin") == 3

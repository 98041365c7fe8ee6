"""One incarnation: turns, delivery, critical sections, resets, left-over work, its end."""

from datetime import timedelta
from typing import Any

import pytest
import trio
from durasim.actors import (
    AlarmInfo,
    Deadlock,
    DurableObject,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
)
from durasim.sim import Crash, FailWrite, SlowDisk, World

from .stage import kinds, tell


class Slow(DurableObject):
    """Waits in the middle of what it does."""

    async def work(self, name: str, seconds: float = 1.0) -> list[str]:
        """Note the beginning and the end."""
        log: list[str] = await self.storage.get("log", [])
        await self.storage.put("log", [*log, f"{name} begins"])
        await self.sleep(seconds)
        log = await self.storage.get("log", [])
        await self.storage.put("log", [*log, f"{name} ends"])
        return await self.storage.get("log", [])

    async def blocked(self, name: str) -> list[str]:
        """The same inside a critical section."""
        return await self.block_concurrency_while(lambda: self.work(name))

    async def fails_blocked(self) -> None:
        """A critical section that raises."""

        async def fail() -> None:
            raise ValueError("on purpose")

        with pytest.raises(ValueError):
            await self.block_concurrency_while(fail)

    async def blocks_for_ever(self) -> None:
        """A critical section that never ends."""
        await self.block_concurrency_while(trio.sleep_forever)

    async def log(self) -> list[str]:
        """What happened."""
        return await self.storage.get("log", [])


class Serial(Slow):
    """The same, one request after the other."""

    delivery = "serial"
    mailbox_requests_max = 3

    async def ask(self, other: str) -> str:
        """Ask another one of this class to ask back; return the cycle that this would close."""
        try:
            return await self.objects.get(Serial, other).ask(self.address.name)
        except Deadlock as deadlock:
            return " -> ".join(deadlock.cycle)

    async def context_leaks(self, value: str) -> str:
        """Return what an earlier request left in a context variable."""
        before = LEAK.get()
        LEAK.set(value)
        return before


from contextvars import ContextVar  # noqa: E402

LEAK = ContextVar("leak", default="nothing")


async def together(*calls: Any) -> list[Any]:
    """Await all *calls*, which were made already; errors are results."""
    results: list[Any] = []
    for call in calls:
        try:
            results.append(await call)
        except Exception as error:
            results.append(error)
    return results


def test_a_gated_object_lets_the_next_request_in_while_it_waits() -> None:
    """IG-3."""

    async def story(world: World) -> None:
        slow = world.client("a").get(Slow, "s")
        await together(slow.work("one"), slow.work("two"))
        assert await slow.log() == ["one begins", "two begins", "one ends", "two ends"]

    assert tell(story).virtual_seconds >= 1


def test_a_serial_object_takes_one_request_after_the_other() -> None:
    """Whatever it waits for."""

    async def story(world: World) -> None:
        serial = world.client("a").get(Serial, "s")
        await together(serial.work("one"), serial.work("two"))
        assert await serial.log() == ["one begins", "one ends", "two begins", "two ends"]

    assert tell(story).ok


def test_a_critical_section_keeps_other_requests_out() -> None:
    """IG-6."""

    async def story(world: World) -> None:
        slow = world.client("a").get(Slow, "s")
        await together(slow.blocked("one"), slow.work("two"))
        assert await slow.log() == ["one begins", "one ends", "two begins", "two ends"]

    assert tell(story).ok


def test_a_full_mailbox_refuses_and_nothing_ran() -> None:
    """`Overloaded`: it was not delivered."""

    async def story(world: World) -> None:
        serial = world.client("a").get(Serial, "s")
        results = await together(*(serial.work(str(number)) for number in range(5)))
        refused = [result for result in results if isinstance(result, Overloaded)]
        assert len(refused) == 2
        assert refused[0].requests_max == 3
        assert len(await serial.log()) == 6

    assert tell(story).ok


def test_one_request_leaves_nothing_in_the_context_of_the_next() -> None:
    """The resident task of a serial object starts each request afresh."""

    async def story(world: World) -> None:
        serial = world.client("a").get(Serial, "s")
        assert [await serial.context_leaks(value) for value in "xyz"] == ["nothing"] * 3

    assert tell(story).ok


def test_serial_objects_that_wait_for_each_other_are_told_so() -> None:
    """The request that would close the cycle is refused, with the cycle."""

    async def story(world: World) -> None:
        said = await world.client("a").get(Serial, "one").ask("two")
        assert said == "Serial/two -> Serial/one -> Serial/two"

    assert tell(story).ok


def test_a_section_that_raises_resets_the_object_and_cannot_be_caught_inside() -> None:
    """IG-7: everybody in flight gets it; a stub that was in use stays broken, a new one works."""

    async def story(world: World) -> None:
        client = world.client("a")
        slow = client.get(Slow, "s")
        waiting, failing = slow.work("one"), slow.fails_blocked()
        results = await together(waiting, failing, slow.log())
        assert [type(result) for result in results] == [ObjectReset] * 3
        assert isinstance(results[0].error, ValueError)
        with pytest.raises(ObjectReset, match="on purpose"):
            await slow.log()
        assert await client.get(Slow, "s").log() == ["one begins"]

    assert kinds(tell(story), "reset") == ["reset"]


def test_a_section_may_take_thirty_seconds() -> None:
    """IG-9."""

    async def story(world: World) -> None:
        slow = world.client("a").get(Slow, "s", deadline_s=100)
        with pytest.raises(ObjectReset, match="waited for too long"):
            await slow.blocks_for_ever()
        assert world.now_s == 30

    assert tell(story).ok


class Leftover(DurableObject):
    """Leaves work behind."""

    async def start(self, *, fail: bool = False) -> str:
        """Reply at once; the work goes on."""

        async def work() -> None:
            await self.sleep(2)
            if fail:
                raise ValueError("nobody hears this")
            await self.storage.put("done", self.now().isoformat())

        self.wait_until(work)
        return "started"

    async def chance(self) -> list[Any]:
        """What it is given of chance and time."""
        return [self.uuid().version, 0 <= self.random() < 1, len(self.token_bytes(40))]


def test_left_over_work_goes_on_after_the_reply_and_may_fail() -> None:
    """RS-6; an object with left-over work is not idle (LC-8)."""

    async def story(world: World) -> None:
        left = world.client("a").get(Leftover, "l")
        assert await left.start() == "started"
        assert await left.start(fail=True) == "started"
        assert world.stored(Leftover, "l") == {}
        await trio.sleep(3)
        assert list(world.stored(Leftover, "l")) == ["done"]

    assert kinds(tell(story), "left-over failed") == ["left-over failed"]


def test_chance_is_drawn_from_the_host() -> None:
    """UUIDs, numbers and bytes."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Leftover, "l").chance() == [4, True, 40]

    assert tell(story).ok


class Failing(DurableObject):
    """Its constructor fails as often as it is told."""

    left = 0

    def __init__(self) -> None:
        if type(self).left:
            type(self).left -= 1
            self.storage.put("lost", 1)
            raise LookupError("not today")
        self.storage.put("made", 1)

    async def ping(self) -> str:
        """Answer."""
        return "pong"


def test_a_constructor_that_fails_takes_its_writes_and_its_callers_with_it() -> None:
    """LC-3, LC-4; the next request, on a new stub, constructs anew."""
    Failing.left = 1

    async def story(world: World) -> None:
        client = world.client("a")
        stub = client.get(Failing, "f")
        results = await together(stub.ping(), stub.ping())
        assert [type(result.error) for result in results] == [LookupError, LookupError]
        assert world.stored(Failing, "f") == {}
        assert await client.get(Failing, "f").ping() == "pong"
        assert world.stored(Failing, "f") == {"made": 1}

    assert tell(story).ok


def test_an_abort_in_the_constructor_ends_the_incarnation() -> None:
    """As any other reset."""

    class Aborting(DurableObject):
        def __init__(self) -> None:
            self.abort()

        async def ping(self) -> None:
            """Never reached."""

    async def story(world: World) -> None:
        with pytest.raises(ObjectReset, match="Application called abort"):
            await world.client("a").get(Aborting, "x").ping()

    assert tell(story).ok


def test_a_failed_commit_breaks_the_output_gate() -> None:
    """OG-4: the reply is replaced, the turn is lost, what was sent before stands."""

    async def story(world: World) -> None:
        client = world.client("a")
        slow = client.get(Slow, "s")
        with pytest.raises(ObjectReset, match="nothing of it is stored"):
            await slow.work("one")
        assert world.stored(Slow, "s") == {}
        assert await client.get(Slow, "s").log() == []

    tell(story, ("commit 1 of Slow/s in work", "fails"), faults=[FailWrite(Slow, at_most=1)])
    assert True


class Sender(DurableObject):
    """Writes and then calls another object."""

    async def write_and_call(self) -> bool:
        """The call leaves when the write is durable (OG-1)."""
        await self.storage.put("k", 1)
        return await self.objects.get(Receiver, "r").knows()

    async def write_and_sync(self) -> float:
        """How long the disk took."""
        self.storage.put("k", 1)
        before = self.now()
        await self.storage.sync()
        return (self.now() - before).total_seconds()

    async def unconfirmed(self) -> str:
        """Reply without waiting for the disk (OG-7)."""
        await self.storage.put("k", 1, allow_unconfirmed=True)
        return "early"


class Receiver(DurableObject):
    """Looks whether the sender's write is durable."""

    async def knows(self) -> bool:
        """Ask the ledger of the test."""
        return bool(self.env["stored"]())  # type: ignore[operator]


def test_a_call_leaves_when_the_write_before_it_is_durable() -> None:
    """Even if the disk takes a second."""

    async def story(world: World) -> None:
        world.env["stored"] = lambda: world.stored(Sender, "s") == {"k": 1}
        assert await world.client("a").get(Sender, "s").write_and_call() is True
        assert world.now_s >= 1

    slow = ("commit 1 of Sender/s in write_and_call", "1 s")
    assert tell(story, slow, faults=[SlowDisk(Sender)]).ok


def test_sync_waits_for_the_disk() -> None:
    """OG-8."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Sender, "s").write_and_sync() == 1

    slow = ("commit 1 of Sender/s in write_and_sync", "1 s")
    assert tell(story, slow, faults=[SlowDisk(Sender)]).ok


def test_an_unconfirmed_write_holds_nothing() -> None:
    """The reply is there before the disk."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Sender, "s").unconfirmed() == "early"
        assert world.now_s == 0
        assert world.stored(Sender, "s") == {}

    slow = ("commit 1 of Sender/s in unconfirmed", "1 s")
    assert tell(story, slow, faults=[SlowDisk(Sender)]).ok


def test_a_crash_owes_its_callers_an_unknown_outcome() -> None:
    """The write is there or not; nobody who called can tell."""

    async def story(world: World) -> None:
        slow = world.client("a").get(Slow, "s")
        with pytest.raises(OutcomeUnknown):
            await slow.work("one")
        assert len(world.stored(Slow, "s")["log"]) == 1
        assert await slow.work("two") == ["one begins", "two begins", "two ends"]

    crash = ("commit 1 of Slow/s in work", "crash after")
    assert tell(story, crash, faults=[Crash(Slow, at_most=1)]).ok


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


def test_an_idle_object_is_evicted_after_ten_seconds_and_comes_back() -> None:
    """LC-7: memory is lost, storage stays, the stub keeps working."""

    class Memory(DurableObject):
        def __init__(self) -> None:
            self.count = 0

        async def count_up(self) -> int:
            self.count += 1
            return self.count

    async def story(world: World) -> None:
        memory = world.client("a").get(Memory, "m")
        assert [await memory.count_up(), await memory.count_up()] == [1, 2]
        await trio.sleep(11)
        assert await memory.count_up() == 1

    assert kinds(tell(story), "evict")[0] == "evict"

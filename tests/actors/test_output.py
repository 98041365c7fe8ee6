"""Nothing leaves before what was written before it is durable."""

import pytest

from durasim.actors import DurableObject, ObjectReset, OutcomeUnknown
from durasim.sim import Crash, FailWrite, SlowDisk, World

from .slow import Slow
from .stage import kinds, tell


def test_a_failed_commit_breaks_the_output_gate() -> None:
    """OG-4: the reply is replaced, the turn is lost, what was sent before stands."""

    async def story(world: World) -> None:
        client = world.client("a")
        slow = client.get(Slow, "s")
        with pytest.raises(ObjectReset, match="nothing of it is stored"):
            await slow.work("one")
        assert world.stored(Slow, "s") == {}
        assert await client.get(Slow, "s").log() == []

    fails = ("commit 1 of Slow/s in work", "fails")
    assert kinds(tell(story, fails, faults=[FailWrite(Slow, at_most=1)]), "reset") == ["reset"]


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

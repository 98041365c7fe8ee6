"""What a thread keeps of its attempts: taken back whole, or found again."""

from typing import Any

from durasim.actors import DurableObject, StorageFailed
from durasim.actors.runs import Owner
from durasim.actors.runs.thread_journal import ThreadJournal
from durasim.sim import FailRead, Job, Ordinary, Recorded, Scenario, World, run_once
from durasim.sim.ordinary import OrdinaryLog
from durasim.wire import RemoteError


class Pages(DurableObject):
    """A thread that begins a start, and takes it back."""

    async def arm(self) -> None:
        """Begin."""
        ThreadJournal(self.storage).arm("helper", "r", "token", Owner("human", "ann"))

    async def undo(self) -> bool:
        """Take it back; returns whether that went through."""
        journal = ThreadJournal(self.storage)
        try:
            attempt = journal.attempt("helper:r")
            assert attempt is not None
            journal.undo(attempt)
        except StorageFailed:
            return False
        return True

    async def alarm(self, info: Any) -> None:
        """Nothing is due."""


async def undone(world: World) -> None:
    """A thread takes an attempt back, and a read may fail meanwhile."""
    pages = world.client("ann").get(Pages, "thread-1")
    try:
        await pages.arm()
    except RemoteError:
        await pages.arm()
    assert len(world.stored(Pages, "thread-1")) == 3
    await pages.undo()
    left = len(world.stored(Pages, "thread-1"))
    assert left in (0, 3), f"{left} of 3 records are left"


def test_an_attempt_is_taken_back_whole() -> None:
    """Whichever read fails: what is left of half an attempt nobody would find again."""
    story = Scenario("undone", undone, (FailRead(Pages, at_most=1),))
    calm = run_once(Job(scenario=story, seed=0, source=Ordinary(), log=True))
    places = OrdinaryLog.of(calm.log).others

    struck = [run_once(Job(scenario=story, seed=0, source=Recorded([place]))) for place in places]

    assert len(places) > 4
    assert calm.failures == ()
    assert [result.failures for result in struck] == [()] * len(places)


class Twice(DurableObject):
    """A thread that takes a start back twice."""

    async def undo(self) -> int:
        """Begin, take it back, begin another, and take the first back again; what is left."""
        journal = ThreadJournal(self.storage)
        owner = Owner("human", "ann")
        attempt = journal.arm("helper", "r1", "token", owner)
        journal.undo(attempt)
        journal.arm("helper", "r2", "another", owner)
        journal.undo(attempt)
        return len(self.storage.kv.list())

    async def alarm(self, info: Any) -> None:
        """Nothing is due."""


async def twice(world: World) -> None:
    """What was taken back already takes nothing from others."""
    assert await world.client("ann").get(Twice, "thread-1").undo() == 3


def test_what_was_taken_back_takes_nothing_away() -> None:
    """The thread is bound by the attempt under way."""
    assert run_once(Job(scenario=Scenario("twice", twice), seed=0, source=Ordinary())).ok

"""Programs: external processes that can die at any line."""

import pytest
import trio

from durasim.actors import DurableObject, IncarnationGone, Program
from durasim.sim import KillProgram, World

from .stage import tell


class Counter(DurableObject):
    """Counts."""

    async def add(self) -> int:
        """Add one."""
        total: int = await self.storage.get("total", 0) + 1
        await self.storage.put("total", total)
        return total


class Clicker(Program):
    """Clicks and sleeps."""

    def __init__(self, clicks: int) -> None:
        self.clicks = clicks
        self.seen: list[int] = []

    async def run(self) -> None:
        """Click so often; a negative number is an error."""
        if self.clicks < 0:
            raise ValueError("negative")
        counter = self.objects.get(Counter, "c")
        try:
            for _ in range(self.clicks):
                self.seen.append(await counter.add())
                await self.sleep(1)
        finally:
            if self.clicks == 3:
                _ = counter.add()


def test_a_program_runs_to_its_end() -> None:
    """It calls objects as everybody does."""

    async def story(world: World) -> None:
        clicker = Clicker(2)
        run = world.start(clicker, "clicker")
        assert run.end == "running"
        assert await run.ended() == "done"
        assert clicker.seen == [1, 2]
        assert not run.awaited()

    assert tell(story).ok


def test_a_program_that_raises_has_failed() -> None:
    """The error is kept for whoever looks."""

    async def story(world: World) -> None:
        run = world.start(Clicker(-1), "clicker")
        assert await run.ended() == "failed"
        assert isinstance(run.error, ValueError)

    assert tell(story).ok


def test_a_killed_program_does_nothing_on_its_way_out() -> None:
    """Its `finally` makes a call that nobody sees."""

    async def story(world: World) -> None:
        run = world.start(Clicker(3), "clicker")
        await trio.sleep(1.5)
        run.kill()
        run.kill()
        assert await run.ended() == "killed"
        with pytest.raises(IncarnationGone):
            run.check()
        await trio.sleep(60)
        assert world.stored(Counter, "c") == {"total": 2}

    assert tell(story).ok


def test_a_fault_kills_a_program_at_an_await() -> None:
    """At the line that the choice says."""

    async def story(world: World) -> None:
        run = world.start(Clicker(2), "clicker")
        assert await run.ended() == "killed"
        assert world.stored(Counter, "c") == {}

    assert tell(story, ("program 1 of clicker", "killed"), faults=[KillProgram("clicker")]).ok


def test_a_program_has_something_to_do() -> None:
    """The base class has not."""

    async def story(world: World) -> None:
        run = world.start(Program(), "nothing")
        assert await run.ended() == "failed"
        assert isinstance(run.error, NotImplementedError)

    assert tell(story).ok


def test_the_end_of_somebody_else_is_an_error_of_the_program() -> None:
    """A stub of a dead actor refuses; the program that used it has failed."""

    class Borrower(Program):
        def __init__(self, stub: Counter) -> None:
            self.stub = stub

        async def run(self) -> None:
            await self.stub.add()

    class Lender(Program):
        stub: Counter

        async def run(self) -> None:
            self.stub = self.objects.get(Counter, "c")

    async def story(world: World) -> None:
        lender = Lender()
        await world.start(lender, "lender").ended()
        run = world.start(Borrower(lender.stub), "borrower")
        assert await run.ended() == "failed"
        assert isinstance(run.error, RuntimeError)

    assert tell(story).ok

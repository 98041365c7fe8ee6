"""Critical sections and transactions of an object, as its code sees them."""

import pytest
import trio

from durasim.actors import DurableObject, ObjectReset, OutcomeUnknown
from durasim.sim import World

from .slow import Slow, together
from .stage import kinds, tell


class Sectioned(DurableObject):
    """Runs sections; `log` is what happened, in memory."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def note(self, text: str) -> None:
        """A request that comes meanwhile."""
        self.log.append(text)

    async def noted(self) -> list[str]:
        """What happened."""
        return self.log

    async def block(self, name: str, seconds: float) -> str:
        """A section that waits, and its value."""

        async def work() -> str:
            self.log.append(f"{name} begins")
            await self.sleep(seconds)
            self.log.append(f"{name} ends")
            return name

        value = await self.block_concurrency_while(work)
        self.log.append(f"{name} told")
        return value

    async def outlived(self) -> None:
        """An outer section that does not await the one begun in it."""

        async def inner() -> None:
            self.log.append("inner begins")
            await self.sleep(2)
            self.log.append("inner ends")

        async def outer() -> None:
            self.block_concurrency_while(inner)
            # A plain wait passes no gate: what the object itself waits for would wait for inner.
            await trio.sleep(1)
            self.log.append("outer ends")

        await self.block_concurrency_while(outer)
        self.log.append("outer told")

    async def deep(self, depth: int) -> int:
        """Sections in each other, *depth* of them."""

        async def work() -> int:
            return 1 + (await self.deep(depth - 1) if depth > 1 else 0)

        return await self.block_concurrency_while(work)

    async def abort_in_transaction(self) -> None:
        """Nothing of it is stored."""

        async def work(transaction: object) -> None:
            del transaction
            await self.storage.put("k", 1)
            self.abort("stop")

        await self.storage.transaction(work)

    async def swallow_and_go_on(self) -> None:
        """A transaction whose code goes on although the object was reset."""

        async def work(transaction: object) -> None:
            del transaction
            try:
                self.abort("stop")
            except BaseException:
                self.log.append("swallowed")

        await self.storage.transaction(work)

    async def swallow_in_block(self) -> None:
        """The same in a section."""

        async def work() -> None:
            try:
                self.abort("stop")
            except BaseException:
                self.log.append("swallowed")

        await self.block_concurrency_while(work)

    async def empty_transaction(self) -> str:
        """One in which nothing is written."""

        async def work(transaction: object) -> str:
            del transaction
            return "empty"

        return await self.storage.transaction(work)

    async def empty_synchronous(self) -> str:
        """The same, in one that cannot wait."""
        return self.storage.transaction_sync(lambda: "empty")

    async def read(self) -> object:
        """What is stored."""
        return await self.storage.get("k")


def test_whoever_awaits_a_section_is_told_before_anybody_else_enters() -> None:
    """IG-11: the end of a section hands the gate to its own waiter, then to those that queue."""

    async def story(world: World) -> None:
        stub = world.client("a").get(Sectioned, "s")
        section = stub.block("one", 1)
        later = stub.note("request")
        assert await section == "one"
        await later
        assert await stub.noted() == ["one begins", "one ends", "one told", "request"]

    tell(story)


def test_a_section_that_outlives_the_one_around_it_keeps_the_gate() -> None:
    """Others enter only when both are over."""

    async def story(world: World) -> None:
        stub = world.client("a").get(Sectioned, "s")
        section = stub.outlived()
        later = stub.note("request")
        await section
        await later
        assert await stub.noted() == [
            "inner begins",
            "outer ends",
            "inner ends",
            "outer told",
            "request",
        ]

    tell(story)


def test_sections_nest_sixty_four_deep() -> None:
    """IG-10: one more raises; the section in which it was asked for is reset by that."""

    async def story(world: World) -> None:
        stub = world.client("a").get(Sectioned, "s")
        assert await stub.deep(64) == 64
        with pytest.raises(ObjectReset, match="nested too deeply"):
            await stub.deep(65)

    tell(story)


def test_an_abort_in_a_transaction_stores_nothing() -> None:
    """TX-7."""

    async def story(world: World) -> None:
        client = world.client("a")
        with pytest.raises(ObjectReset, match="stop"):
            await client.get(Sectioned, "s").abort_in_transaction()
        assert await client.get(Sectioned, "s").read() is None

    tell(story)


def test_a_dead_section_that_goes_on_has_no_effect() -> None:
    """Its end is nobody's end any more."""

    async def story(world: World) -> None:
        client = world.client("a")
        with pytest.raises(ObjectReset, match="stop"):
            await client.get(Sectioned, "s").swallow_and_go_on()
        with pytest.raises(ObjectReset, match="stop"):
            await client.get(Sectioned, "s").swallow_in_block()
        assert await client.get(Sectioned, "s").noted() == []

    tell(story)


def test_a_transaction_without_writes_holds_no_reply() -> None:
    """There is no commit that the output gate could wait for."""

    async def story(world: World) -> None:
        stub = world.client("a").get(Sectioned, "s", deadline_s=5)
        try:
            assert await stub.empty_transaction() == "empty"
            assert await stub.empty_synchronous() == "empty"
        except OutcomeUnknown as lost:
            raise AssertionError("the reply was held for ever") from lost

    tell(story)


def test_a_critical_section_keeps_other_requests_out() -> None:
    """IG-6."""

    async def story(world: World) -> None:
        slow = world.client("a").get(Slow, "s")
        await together(slow.blocked("one"), slow.work("two"))
        assert await slow.log() == ["one begins", "one ends", "two begins", "two ends"]

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

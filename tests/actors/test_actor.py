"""The dead have no effects, and whoever meets them goes on."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
import trio

from durasim.actors import (
    AlarmInfo,
    DurableObject,
    IncarnationGone,
    ObjectReset,
    Program,
    Route,
    WebRequest,
    Worker,
    is_unwinding,
)
from durasim.actors.actor import outlived
from durasim.sim import World

from ..hosts.stage import Stage, settled
from .stage import kinds, tell


class Ghost(DurableObject):
    """Goes on after its end, and tries everything."""

    async def nothing(self) -> None:
        """Never called by the dead."""

    async def alarm(self, info: AlarmInfo) -> None:
        """Never set by the dead."""

    async def haunt(self) -> None:
        """Reset, then try; `env` gets what was refused, by name."""
        known, fresh = self.objects.get(Ghost, "known"), self.objects.get(Ghost, "fresh")
        send = known.nothing
        refused = cast("dict[str, bool]", self.env["refused"])
        attempts = self._attempts() | {
            "send": send,
            "name a method": lambda: fresh.nothing,
            "stub": lambda: self.objects.get(Ghost, "x"),
            "stub of a worker": lambda: self.objects.worker(Hall),
        }
        try:
            self.abort("on purpose")
        except BaseException:
            for name, attempt in attempts.items():
                try:
                    attempt()
                except IncarnationGone:
                    refused[name] = True
                else:
                    refused[name] = False

    def _attempts(self) -> dict[str, Callable[[], Any]]:
        storage = self.storage
        return {
            "get": lambda: storage.get("k"),
            "get many": lambda: storage.get_many(["k"]),
            "list": storage.list,
            "put": lambda: storage.put("k", 1),
            "put many": lambda: storage.put_many({"k": 1}),
            "delete": lambda: storage.delete("k"),
            "delete many": lambda: storage.delete_many(["k"]),
            "delete all": storage.delete_all,
            "sync": storage.sync,
            "transaction": lambda: storage.transaction(never),
            "synchronous transaction": lambda: storage.transaction_sync(lambda: 1),
            "get alarm": storage.get_alarm,
            "set alarm": lambda: storage.set_alarm(timedelta(seconds=1)),
            "delete alarm": storage.delete_alarm,
            "clock": self.now,
            "sleep": lambda: self.sleep(1),
            "bytes": self.token_bytes,
            "uuid": self.uuid,
            "random": self.random,
            "section": lambda: self.block_concurrency_while(self.nothing),
            "left-over work": lambda: self.wait_until(self.nothing),
            "abort": self.abort,
        }

    async def abort_in_transaction(self) -> None:
        """End in the middle of a transaction that cannot wait."""

        def work() -> None:
            self.storage.put("k", 1)
            self.abort("on purpose")

        self.storage.transaction_sync(work)

    async def leave_abort(self) -> None:
        """End in left-over work."""

        async def work() -> None:
            await self.sleep(1)
            self.abort("on purpose")

        self.wait_until(work)


async def never(transaction: object) -> None:
    """Never run."""
    raise AssertionError(transaction)


def test_the_dead_have_no_effects() -> None:
    """Every port of a dead incarnation refuses it; nothing is sent or stored."""
    refused: dict[str, bool] = {}

    async def story(world: World) -> None:
        world.env["refused"] = refused
        with pytest.raises(ObjectReset, match="on purpose"):
            await world.client("a").get(Ghost, "g").haunt()
        assert world.stored(Ghost, "g") == {}

    result = tell(story)
    assert len(refused) == 26
    assert [name for name, is_refused in refused.items() if not is_refused] == []
    assert len(kinds(result, "request")) == 1


def test_an_object_may_end_in_a_transaction_or_in_left_over_work() -> None:
    """Nothing of the transaction is stored; nobody is told of work that nobody waits for."""

    async def story(world: World) -> None:
        with pytest.raises(ObjectReset, match="on purpose"):
            await world.client("a").get(Ghost, "g").abort_in_transaction()
        assert world.stored(Ghost, "g") == {}
        await world.client("a").get(Ghost, "g").leave_abort()
        await trio.sleep(2)

    assert kinds(tell(story), "reset", "left-over failed") == ["reset", "reset"]


class Ender(DurableObject):
    """Gives its storage away, to whoever shares its process."""

    async def give(self) -> None:
        """Give it."""
        cast("dict[str, Any]", self.env)["dead"] = self.storage


class Meeting(DurableObject):
    """Uses the storage that somebody dead gave away."""

    in_constructor = False

    def __init__(self) -> None:
        if self.in_constructor:
            self.read()

    def read(self) -> Any:
        """Read the storage of the dead."""
        return cast(Any, self.env["dead"]).get("k")

    async def handler(self) -> None:
        """In a handler."""
        self.read()

    async def child(self) -> None:
        """In a child task."""

        async def work() -> None:
            self.read()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)

    async def transaction(self) -> None:
        """In a transaction."""

        async def work(transaction: object) -> None:
            del transaction
            self.read()

        await self.storage.transaction(work)

    async def section(self) -> None:
        """In a critical section."""
        await self.block_concurrency_while(self.handler)

    async def left_over(self) -> str:
        """In left-over work."""
        self.wait_until(self.handler)
        return "left"

    async def fine(self) -> str:
        """Answer."""
        return "fine"


class MeetingAtOnce(Meeting):
    """The same, in the constructor."""

    in_constructor = True


class Hall(Worker):
    """The same, as a worker."""

    routes = (Route("GET", "/", "read"),)

    async def read(self, request: WebRequest) -> None:
        """Read the storage of the dead."""
        del request
        cast(Any, self.env["dead"]).get("k")


async def with_dead(world: World) -> None:
    """Let there be somebody dead whose storage is known."""
    await world.client("a").get(Ender, "e").give()
    await trio.sleep(11)
    assert "dead" in world.env


@pytest.mark.parametrize("where", ["handler", "child", "transaction", "section", "left_over"])
def test_whoever_meets_the_dead_fails_as_by_any_error(where: str) -> None:
    """The object goes on, or is reset by what resets it; its host knows nothing of it."""

    async def story(world: World) -> None:
        await with_dead(world)
        stub = world.client("a").get(Meeting, "m")
        if where == "left_over":
            assert await stub.left_over() == "left"
        else:
            said = "nursery" if where == "child" else "Ender/e"
            with pytest.raises(Exception, match=said) as caught:
                await getattr(stub, where)()
            assert isinstance(caught.value, ObjectReset) == (where == "section")
        assert await world.client("a").get(Meeting, "m").fine() == "fine"

    result = tell(story)
    assert kinds(result, "reset", "left-over failed") == {
        "section": ["reset"],
        "left_over": ["left-over failed"],
    }.get(where, [])


def test_a_constructor_or_a_worker_that_meets_the_dead_fails() -> None:
    """As by any error."""

    async def story(world: World) -> None:
        await with_dead(world)
        with pytest.raises(ObjectReset, match="Ender/e"):
            await world.client("a").get(MeetingAtOnce, "m").fine()
        with pytest.raises(RuntimeError, match="Ender/e"):
            await world.client("a").worker(Hall).fetch(WebRequest("GET", "/"))

    assert tell(story).ok


async def test_what_comes_for_the_dead_is_dropped() -> None:
    """A timer, an answer, the end of a turn; and dying again changes nothing."""
    stage = Stage(Sleepy)
    async with stage.open():
        answer = await stage.ask("Sleepy/a", "rest")
        (incarnation,) = stage.host.incarnations.values()
        incarnation.reset(RuntimeError("first"))
        incarnation.reset(RuntimeError("second"))
        incarnation.crash("third")
        stage.clock.advance(60)
        await settled()
        assert str(answer.error) == "first"
        assert [kind for kind, _, _ in stage.probe.seen] == ["start", "begin", "reset"]
        with pytest.raises(IncarnationGone):
            incarnation.emit(print, "the dead speak")


class Sleepy(DurableObject):
    """Waits for its clock."""

    async def rest(self) -> None:
        """Wait a minute."""
        await self.sleep(60)


class Sleeping(Program):
    """A program that waits for its clock."""

    async def run(self) -> None:
        """Wait a minute."""
        await self.sleep(60)


def test_a_program_that_was_killed_hears_nothing() -> None:
    """Its sleep ends without it."""

    async def story(world: World) -> None:
        run = world.start(Sleeping(), "p")
        await trio.sleep(1)
        run.kill()
        entered: list[str] = []

        def enter() -> bool:
            entered.append("entered")
            return False

        run.enter(None, enter)
        run.touch()
        await trio.sleep(100)
        assert (await run.ended(), entered) == ("killed", [])

    assert tell(story).ok


@pytest.mark.parametrize(
    ("error", "unwinds"),
    [
        (ValueError(), True),
        (IncarnationGone("x"), True),
        (KeyboardInterrupt(), False),
        (BaseExceptionGroup("both", [IncarnationGone("x"), ValueError()]), True),
        (BaseExceptionGroup("both", [ValueError(), SystemExit()]), False),
    ],
)
def test_only_what_ends_the_process_outlives_the_dead(error: BaseException, unwinds: bool) -> None:
    """Also inside of groups."""
    assert is_unwinding(error) is unwinds


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        GeneratorExit(),
        BaseExceptionGroup("both", [IncarnationGone("x"), KeyboardInterrupt()]),
    ],
)
def test_what_is_no_failure_goes_on_as_it_is(error: BaseException) -> None:
    """Whole, whatever is in it."""
    with pytest.raises(type(error)) as caught:
        outlived(error)
    assert caught.value is error


def test_a_failure_of_many_keeps_its_parts() -> None:
    """The death of somebody else among them is an ordinary error."""
    mixed = BaseExceptionGroup("both", [ValueError("one"), IncarnationGone("x")])
    failure = outlived(mixed)
    assert isinstance(failure, ExceptionGroup)
    parts = cast("ExceptionGroup[Exception]", failure).exceptions
    assert [type(part) for part in parts] == [ValueError, RuntimeError]

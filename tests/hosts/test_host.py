"""From an envelope to the incarnation that answers it."""

from pathlib import Path

import pytest

from durasim.actors import (
    Address,
    DurableObject,
    Route,
    StorageFailed,
    WebRequest,
    WebResponse,
    Worker,
)
from durasim.hosts import EmbeddedHost, Host
from durasim.wire import (
    Envelope,
    HostClosed,
    MalformedRequest,
    ObjectReset,
    UnknownClass,
    encode_envelope,
)

from .objects import Counter, Door, Front, Sleeper
from .stage import START_US, Answer, Stage, settled

COUNTER = Address("Counter", "a")


class Waiting(DurableObject):
    """Waits for its own clock."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    async def wait(self, seconds: float) -> str:
        """Wait."""
        await self.sleep(seconds)
        return "over"

    async def abort_now(self) -> None:
        """Reset."""
        self.abort("as asked")


class Idle(Worker):
    """Waits for the clock."""

    routes = (Route("GET", "/", "wait"),)

    async def wait(self, request: WebRequest) -> WebResponse:
        """Wait a second."""
        del request
        await self.sleep(1)
        return WebResponse(200)


async def test_a_request_starts_its_object_once() -> None:
    """Each object has one incarnation, numbered in the order of their starts."""
    stage = Stage(Counter)
    async with stage.open():
        assert (await stage.ask("Counter/a", "increment")).value == 1
        assert (await stage.ask("Counter/a", "increment", 4)).value == 5
        assert (await stage.ask("Counter/b", "increment")).value == 1
        starts = [(actor, number) for kind, actor, number in stage.probe.seen if kind == "start"]
        assert starts == [("Counter/a", 1), ("Counter/b", 2)]


async def test_what_cannot_be_read_is_refused_without_a_number() -> None:
    """As a reply to call 0: nobody can tell which call it was."""
    stage = Stage(Counter)
    async with stage.open():
        answer = Answer()
        stage.host.receive(b"\xc1", answer)
        assert isinstance(answer.error, MalformedRequest)
        assert answer.reply is not None
        assert answer.reply.id == 0


async def test_an_unknown_class_is_refused() -> None:
    """Until it is known."""
    stage = Stage()
    async with stage.open():
        assert isinstance((await stage.ask("Counter/a", "increment")).error, UnknownClass)
        stage.host.learn(Counter)
        assert (await stage.ask("Counter/a", "increment")).value == 1


async def test_a_storage_that_cannot_be_opened_is_told() -> None:
    """Nothing ran; the next request tries anew."""
    stage = Stage(Counter)
    stage.store.refused.add(COUNTER)
    async with stage.open():
        error = (await stage.ask("Counter/a", "increment")).error
        assert str(StorageFailed(COUNTER, "as told")) in str(error)
        assert stage.host.incarnations == {}
        stage.store.refused.clear()
        assert (await stage.ask("Counter/a", "increment")).value == 1


async def test_a_host_that_does_not_run_refuses() -> None:
    """Before, after, and while it closes; an object that runs already goes on."""
    stage = Stage(Counter)
    assert isinstance(stage.send("Counter/a", "increment").error, HostClosed)
    async with stage.open():
        assert (await stage.ask("Counter/a", "increment")).value == 1
        stage.host.stop_accepting()
        assert isinstance((await stage.ask("Counter/b", "increment")).error, HostClosed)
        assert (await stage.ask("Counter/a", "increment")).value == 2
    assert stage.host.state == "closed"
    stage.host.stop_accepting()
    assert stage.host.state == "closed"
    assert isinstance(stage.send("Counter/a", "increment").error, HostClosed)


async def test_a_host_that_crashed_before_it_ran_does_not_run() -> None:
    """`run` returns."""
    stage = Stage(Counter)
    stage.host.crash("early")
    await stage.host.run()
    assert stage.host.state == "closed"


async def test_an_object_that_dies_before_its_first_step_is_never_constructed() -> None:
    """Its caller cannot know."""
    Waiting.made = 0
    stage = Stage(Waiting)
    async with stage.open():
        answer = stage.send("Waiting/a", "wait", 0.0)
        stage.host.crash("a power cut")
        await settled()
        assert (Waiting.made, answer.reason) == (0, "a power cut")
        assert stage.host.incarnations == {}


def test_two_classes_cannot_share_a_stored_name() -> None:
    """Object or worker; the same class may be told twice."""

    class Other(DurableObject, name="Counter"):
        """Stored as a counter."""

    class AsWorker(Worker, name="Counter"):
        """Called as a counter."""

    stage = Stage(Counter, Counter, Door)
    for cls in (Other, AsWorker):
        with pytest.raises(ValueError, match=r"'Counter' is the stored name of .*Counter"):
            stage.host.learn(cls)
    assert stage.host.classes == {"Counter": Counter}
    assert stage.host.workers == {"Door": Door}


async def test_a_class_is_met_through_an_object_that_asks_for_it() -> None:
    """One that is known by that name stays."""

    class Newer(Counter, name="Counter"):
        """The version that is deployed."""

        async def increment(self, by: int = 1) -> int:
            """Count tenfold."""
            return await super().increment(10 * by)

    stage = Stage(Front)
    async with stage.open():
        call = await stage.ask("Front/f", "through", "c")
        assert call.reply is None
        stage.clock.advance(0)
        await settled()
        assert call.value == 1
        assert stage.host.classes["Counter"] is Counter

    stage = Stage(Front, Newer)
    async with stage.open():
        call = await stage.ask("Front/f", "through", "c")
        stage.clock.advance(0)
        await settled()
        assert call.value == 10


async def test_a_reset_breaks_the_stubs_that_were_in_use() -> None:
    """RPC-11: by the incarnation that they are bound to, or by an unanswered first call."""
    stage = Stage(Waiting)
    async with stage.open():
        assert (await stage.ask("Waiting/a", "wait", -1.0, stub=1)).reply is None
        stage.clock.advance(0)
        await settled()
        first = await stage.ask("Waiting/a", "wait", 60.0, stub=2)
        reset = await stage.ask("Waiting/a", "abort_now", stub=3, incarnation=1)
        assert isinstance(reset.error, ObjectReset)
        assert isinstance(first.error, ObjectReset)
        assert stage.host.resets == 1
        for stub, incarnation in ((1, 1), (2, 0), (3, 1)):
            again = await stage.ask("Waiting/a", "wait", 0.0, stub=stub, incarnation=incarnation)
            assert isinstance(again.error, ObjectReset), stub
        assert stage.host.incarnations == {}
        assert (await stage.ask("Waiting/a", "wait", 1.0, stub=4)).reply is None
        assert (await stage.ask("Waiting/a", "wait", 1.0, stub=5, incarnation=2)).reply is None
        assert stage.host.incarnations[Address("Waiting", "a")].number == 2


async def test_the_last_resets_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stub bound before an older one reaches the object that runs now: memory is bounded."""
    monkeypatch.setattr("durasim.hosts.host.RESETS_MAX", 2)
    stage = Stage(Waiting)
    async with stage.open():
        for stub, name in enumerate("abac", 90):
            await stage.ask(f"Waiting/{name}", "abort_now", stub=stub)
        assert stage.host.resets == 4
        answers = {
            name: await stage.ask(f"Waiting/{name}", "wait", 1.0, stub=1, incarnation=1)
            for name in "abc"
        }
        assert isinstance(answers["a"].error, ObjectReset)
        assert isinstance(answers["c"].error, ObjectReset)
        assert answers["b"].reply is None
        assert list(stage.host.incarnations) == [Address("Waiting", "b")]


async def test_every_object_can_be_reset_at_once() -> None:
    """All callers are told."""
    stage = Stage(Waiting)
    async with stage.open():
        answers = [await stage.ask(f"Waiting/{name}", "wait", 60.0) for name in "ab"]
        stage.host.reset_all(RuntimeError("all of you"))
        await settled()
        assert [str(answer.error) for answer in answers] == ["all of you"] * 2
        assert stage.host.incarnations == {}


async def test_only_an_idle_object_is_evicted() -> None:
    """Not one that is busy, nor one that does not run."""
    stage = Stage(Waiting)
    address = Address("Waiting", "a")
    async with stage.open():
        assert not stage.host.evict(address)
        answer = await stage.ask("Waiting/a", "wait", 60.0)
        assert not stage.host.evict(address)
        assert not stage.host.is_idle()
        stage.clock.advance(60)
        await settled()
        assert answer.value == "over"
        assert stage.host.is_idle()
        assert stage.host.evict(address)
        assert (stage.host.evictions, stage.host.incarnations) == (1, {})


async def test_an_object_goes_when_it_was_idle_for_ten_seconds() -> None:
    """Counted from its last answer; one that is busy then is looked at again."""
    stage = Stage(Counter, Waiting)
    async with stage.open():
        await stage.ask("Counter/a", "increment")
        stage.clock.advance(6)
        await stage.ask("Counter/a", "increment")
        stage.clock.advance(4)
        assert stage.clock.due("eviction of Counter/a") == [6]
        assert COUNTER in stage.host.incarnations
        stage.clock.advance(6)
        assert stage.host.incarnations == {}

        busy = await stage.ask("Waiting/a", "wait", 11.0)
        stage.clock.advance(10)
        assert stage.clock.due("eviction of Waiting/a") == [10]
        stage.clock.advance(1)
        await settled()
        assert busy.value == "over"
        stage.clock.advance(9)
        stage.clock.advance(1)
        assert stage.host.incarnations == {}


async def test_an_object_that_was_replaced_runs_on_until_the_host_ends() -> None:
    """The next request starts another one; the old one is not looked at for eviction."""
    stage = Stage(Waiting)
    address = Address("Waiting", "a")
    async with stage.open():
        stage.host.replace(address)
        old = await stage.ask("Waiting/a", "wait", 30.0)
        stage.host.replace(address)
        new = await stage.ask("Waiting/a", "wait", 60.0, stub=2)
        assert stage.host.incarnations[address].number == 2
        stage.clock.advance(10)
        assert len(stage.clock.due("eviction")) == 1
        stage.clock.advance(20)
        await settled()
        assert old.value == "over"
        stage.host.crash("a power cut")
        assert new.reason == "a power cut"
        assert [seen for seen in stage.probe.seen if seen[0] == "crash"] == [
            ("crash", "Waiting/a", 2), ("crash", "Waiting/a", 1),
        ]  # fmt: skip


async def test_a_replaced_object_that_is_reset_is_forgotten() -> None:
    """The current one stays."""
    stage = Stage(Waiting)
    address = Address("Waiting", "a")
    async with stage.open():
        await stage.ask("Waiting/a", "wait", 30.0)
        old = stage.host.incarnations[address]
        stage.host.replace(address)
        await stage.ask("Waiting/a", "wait", 60.0, stub=2)
        old.reset(RuntimeError("a newer one has it"))
        await settled()
        assert stage.host.incarnations[address].number == 2
        stage.host.crash("a power cut")
        crashes = [seen for seen in stage.probe.seen if seen[0] == "crash"]
        assert crashes == [("crash", "Waiting/a", 2)]


async def test_a_worker_lives_for_one_request() -> None:
    """A host with one at work is not idle; a crash leaves its caller without an answer."""
    stage = Stage(Idle)
    async with stage.open():
        first = await stage.ask("Idle/", "fetch", WebRequest("GET", "/"))
        assert not stage.host.is_idle()
        stage.clock.advance(1)
        await settled()
        assert first.value == WebResponse(200)
        assert stage.host.is_idle()
        second = await stage.ask("Idle/", "fetch", WebRequest("GET", "/"))
        stage.host.crash("a power cut")
        await settled()
        assert second.reason == "a power cut"
        assert stage.host.is_idle()


async def test_an_alarm_of_a_class_without_a_handler_fails_as_any_other() -> None:
    """It was set by code that had one; code that has one again may come in time."""
    stage = Stage(Sleeper)
    stage.store.open(Address("Sleeper", "s")).time = START_US
    async with stage.open():
        stage.clock.advance(0)
        await settled()
        assert stage.clock.due("alarm") == [2]


async def test_a_host_is_told_its_numbers() -> None:
    """For each object, as whoever made it wants."""
    stage = Stage()
    asked: list[Address] = []

    def number(address: Address) -> int:
        asked.append(address)
        return 40 + len(asked)

    stage.host = Host("here", stage.ports(), [Counter], numbers=number)
    async with stage.open():
        answer = await stage.ask("Counter/a", "increment")
        assert answer.reply is not None
        assert answer.reply.incarnation == 41
        assert asked == [COUNTER]


async def test_incarnations_of_the_next_embedded_host_have_greater_numbers(tmp_path: Path) -> None:
    """The stub of a remote client that was in use with the host before is told from a new one."""

    async def bound_to(host: EmbeddedHost) -> int:
        answer = Answer()
        envelope = Envelope(
            1, "remote", 1, 1, 0, "Counter", "a", "increment", (), {}, START_US, ""
        )  # fmt: skip
        host.receive(encode_envelope(envelope), answer)
        await host.get(Counter, "a").increment()
        assert answer.reply is not None
        return answer.reply.incarnation

    numbers: list[int] = []
    for _ in range(3):
        async with EmbeddedHost(tmp_path / "objects.db", classes=[Counter]) as host:
            numbers.append(await bound_to(host))
    assert numbers == sorted(set(numbers))
    assert numbers[0] > START_US // 2

"""The embedded host as a program uses it."""

from pathlib import Path

import pytest
import trio

from durasim.actors import Incarnation, WebRequest
from durasim.hosts import (
    EmbeddedHost,
    HostCrashed,
    HostFileBusy,
    HostFileForeign,
    SqlUnavailable,
    inspect_file,
)
from durasim.hosts.writer import Job
from durasim.wire import (
    HostClosed,
    ObjectReset,
    OutcomeUnknown,
    RemoteError,
    decode_reply,
    error_from,
)

from .objects import Asking, Bell, Counter, Door, Front, SerialCounter, Sleeper, WithSql
from .small_disks import small_disk
from .waiting import until, until_told


async def test_what_an_object_keeps_is_there_after_a_restart(tmp_path: Path) -> None:
    """The example of the design."""
    path = tmp_path / "objects.db"
    async with EmbeddedHost(path) as host:
        assert await host.get(Counter, "cart-7").increment(by=2) == 2
        assert await host.get(Counter, "cart-7").increment() == 3
    async with EmbeddedHost(str(path)) as host:
        assert await host.get(Counter, "cart-7").total() == 3
        assert await host.get(Counter, "cart-8").total() == 0


@pytest.mark.parametrize("cls", [Counter, SerialCounter])
async def test_calls_at_once_share_commits(tmp_path: Path, cls: type[Counter]) -> None:
    """Each reply tells of a durable write; far fewer transactions than calls."""
    async with EmbeddedHost(tmp_path / "objects.db") as host:

        async def client(number: int) -> None:
            stub = host.get(cls, str(number))
            for expected in range(1, 21):
                assert await stub.increment() == expected

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(client, number)
        found = host.statistics()
    assert (found.requests_begun, found.store.commits) == (400, 400)
    assert found.store.groups < 200
    assert found.store.group_commits_max > 5


async def test_a_reply_never_precedes_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the writer cannot commit, no reply comes; then all come."""
    async with EmbeddedHost(tmp_path / "objects.db") as host:
        store = host._store  # pyright: ignore[reportPrivateUsage]
        assert store is not None
        held: list[Job] = []
        monkeypatch.setattr(store._writer, "submit", held.append)  # pyright: ignore[reportPrivateUsage]
        call = host.get(Counter, "a").increment()
        replies: list[int] = []

        async def wait() -> None:
            replies.append(await call)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(0.05)
            assert replies == []
            assert len(held) == 1
            monkeypatch.undo()
            store._writer.submit(held[0])  # pyright: ignore[reportPrivateUsage]
        assert replies == [1]


async def test_errors_and_resets_reach_the_caller(tmp_path: Path) -> None:
    """With what is true: the reset took the writes of its turn back."""
    async with EmbeddedHost(tmp_path / "objects.db") as host:
        stub = host.get(Counter, "a")
        await stub.increment()
        with pytest.raises(ValueError, match="as asked"):
            await stub.fail()
        with pytest.raises(ObjectReset, match="as asked"):
            await stub.break_down()
        with pytest.raises(ObjectReset):
            await stub.total()
        assert await host.get(Counter, "a").total() == 1
        found = host.statistics()
        assert (found.resets, found.requests_failed) == (1, 1)


async def test_objects_call_each_other_and_see_the_environment(tmp_path: Path) -> None:
    """Over the same bytes as a client's calls."""
    async with EmbeddedHost(
        tmp_path / "objects.db", classes=[Counter], env={"greeting": "hello"}
    ) as host:
        assert await host.get(Front, "f").through("c") == 1
        assert await host.get(Counter, "c").seen("greeting") == "hello"


async def test_an_alarm_survives_a_restart(tmp_path: Path) -> None:
    """It rings in the next host without anybody asking for its object."""
    path = tmp_path / "objects.db"
    async with EmbeddedHost(path) as host:
        await host.get(Bell, "b").set(0.2)
        assert host.statistics().alarms_pending == 1
    await trio.sleep(0.3)
    async with EmbeddedHost(path, classes=[Bell]) as host:
        await until(lambda: host.statistics().alarms_fired == 1)
        await until_told(lambda: rang(host.get(Bell, "b"), [0]))
    assert inspect_file(path).objects[0].alarm is None


async def reached(counter: Counter, total: int) -> bool:
    """Whether *counter* has come to *total*."""
    return await counter.total() == total


async def rang(bell: Bell, expected: list[int]) -> bool:
    """Whether *bell* has rung with these counts."""
    return await bell.rung() == expected


async def test_an_alarm_of_an_unknown_class_waits_for_it(tmp_path: Path) -> None:
    """It is shown, and rings once the class is known."""
    path = tmp_path / "objects.db"
    async with EmbeddedHost(path) as host:
        await host.get(Bell, "b").set(0.05)
    async with EmbeddedHost(path) as host:
        await trio.sleep(0.1)
        found = host.statistics()
        assert [str(address) for address in found.alarms_waiting] == ["Bell/b"]
        stub = host.get(Bell, "b")
        assert host.statistics().alarms_waiting == ()
        await until_told(lambda: rang(stub, [0]))


async def test_an_alarm_that_fails_is_tried_again(tmp_path: Path) -> None:
    """After two seconds and a bit, with its count."""
    async with EmbeddedHost(tmp_path / "objects.db") as host:
        stub = host.get(Bell, "b")
        await stub.set(0.0, failures=1)
        await until_told(lambda: rang(stub, [0, 1]), within_s=10)
        found = host.statistics()
    assert (found.alarms_fired, found.alarms_retried) == (2, 1)


async def test_closing_lets_requests_end(tmp_path: Path) -> None:
    """Also those that need objects not started yet; new calls are refused as not delivered."""
    path = tmp_path / "objects.db"
    async with EmbeddedHost(path, classes=[Counter]) as host:
        stub = host.get(Counter, "a")
        await stub.total()
        slow = stub.slowly(0.1)
        through = host.get(Front, "f").through("fresh", 0.1)
        dropped = host.get(Counter, "dropped").increment()
    assert await slow == 1
    assert await through == 1
    assert await dropped == 1
    with pytest.raises(HostClosed):
        await stub.increment()
    with pytest.raises(HostClosed):
        host.get(Counter, "a")
    stored = {str(one.address) for one in inspect_file(path).objects}
    assert stored == {"Counter/a", "Counter/fresh", "Counter/dropped"}
    assert host.statistics().incarnations == 0


async def test_a_request_that_does_not_end_in_time_is_cut_off(tmp_path: Path) -> None:
    """Its caller cannot know what ran; the file is closed and free."""
    path = tmp_path / "objects.db"
    async with EmbeddedHost(path, grace_s=0.05) as host:
        endless = host.get(Sleeper, "s").sleep_forever()
        await trio.sleep(0.01)
    with pytest.raises(OutcomeUnknown, match="closed"):
        await endless
    async with EmbeddedHost(path):
        pass


async def test_an_error_of_the_program_leaves_the_block_as_it_is(tmp_path: Path) -> None:
    """Not wrapped in a group, without waiting; what was committed is stored."""
    path = tmp_path / "objects.db"

    async def program() -> None:
        async with EmbeddedHost(path) as host:
            await host.get(Counter, "a").increment()
            endless = host.get(Sleeper, "s").sleep_forever()
            assert endless is not None
            raise ValueError("the program's own")

    with trio.fail_after(2), pytest.raises(ValueError, match="the program's own"):
        await program()
    async with EmbeddedHost(path) as host:
        assert await host.get(Counter, "a").total() == 1


async def test_a_cancelled_program_closes_its_host(tmp_path: Path) -> None:
    """At once, and nothing acknowledged is lost."""
    path = tmp_path / "objects.db"
    with trio.CancelScope() as scope:
        async with EmbeddedHost(path) as host:
            await host.get(Counter, "a").increment()
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    async with EmbeddedHost(path) as host:
        assert await host.get(Counter, "a").total() == 1


async def test_an_error_of_the_host_itself_is_loud(tmp_path: Path) -> None:
    """The program is cancelled and gets HostCrashed; the file is free and intact."""
    path = tmp_path / "objects.db"

    async def program() -> None:
        async with EmbeddedHost(path) as host:
            await host.get(Counter, "a").increment()
            clock = host._clock  # pyright: ignore[reportPrivateUsage]
            clock.call_at(clock.time(), broken, "broken")
            await trio.sleep_forever()

    with trio.fail_after(5), pytest.raises(HostCrashed, match="a bug") as caught:
        await program()
    assert "a bug" in repr(caught.value.__cause__)
    async with EmbeddedHost(path) as host:
        assert await host.get(Counter, "a").total() == 1


def broken(*_: object) -> None:
    """An action with a bug."""
    raise ValueError("a bug")


async def test_an_error_at_the_end_of_a_turn_is_loud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trio would drop the instrument and go on; the host must not."""
    monkeypatch.setattr(Incarnation, "end_turn", broken)
    with trio.fail_after(5), pytest.raises(HostCrashed, match="a bug") as caught:
        async with EmbeddedHost(tmp_path / "objects.db") as host:
            await host.get(Counter, "a").increment()
    assert isinstance(caught.value.__cause__, ValueError)


async def test_idle_objects_leave_memory(tmp_path: Path) -> None:
    """Their stubs keep working."""
    async with EmbeddedHost(tmp_path / "objects.db", eviction_s=0.05) as host:
        stub = host.get(Counter, "a")
        await stub.increment()
        await until(lambda: host.statistics().incarnations == 0)
        assert host.statistics().evictions == 1
        assert await stub.increment() == 2


async def test_a_deadline_ends_the_wait_only(tmp_path: Path) -> None:
    """The call goes on and counts."""
    async with EmbeddedHost(tmp_path / "objects.db") as host:
        with pytest.raises(OutcomeUnknown, match="no reply within"):
            await host.get(Counter, "a", deadline_s=0.02).slowly(0.1)
        counter = host.get(Counter, "a")
        await until_told(lambda: reached(counter, 1))
        assert host.statistics().requests_failed == 0


async def test_several_hosts_of_one_process_are_apart(tmp_path: Path) -> None:
    """Each with its file; the same file twice is busy."""
    async with (
        EmbeddedHost(tmp_path / "a.db") as first,
        EmbeddedHost(tmp_path / "b.db") as second,
    ):
        assert await first.get(Counter, "c").increment(by=5) == 5
        assert await second.get(Counter, "c").increment() == 1
        with pytest.raises(HostFileBusy):
            async with EmbeddedHost(tmp_path / "a.db"):
                raise AssertionError("unreachable")
        assert await first.get(Counter, "c").increment() == 6


async def test_a_file_that_cannot_be_used_is_told_plainly(tmp_path: Path) -> None:
    """Not in a group."""
    with pytest.raises(HostFileForeign):
        async with EmbeddedHost(tmp_path):
            raise AssertionError("unreachable")


async def test_a_host_is_entered_once_and_used_while_open(tmp_path: Path) -> None:
    """Before and after, `HostClosed`; statistics stay readable after."""
    host = EmbeddedHost(tmp_path / "objects.db")
    with pytest.raises(HostClosed):
        host.get(Counter, "a")
    with pytest.raises(HostClosed):
        host.statistics()
    async with host:
        await host.get(Counter, "a").increment()
    assert host.statistics().requests_begun == 1
    with pytest.raises(RuntimeError, match="entered once"):
        async with host:
            raise AssertionError("unreachable")


async def test_sql_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """By name, at the constructor and at `get`."""
    with pytest.raises(SqlUnavailable, match="WithSql has sql=True"):
        EmbeddedHost(tmp_path / "objects.db", classes=[WithSql])
    async with EmbeddedHost(tmp_path / "objects.db") as host:
        with pytest.raises(SqlUnavailable):
            host.get(WithSql, "a")
        with pytest.raises(RemoteError, match="WithSql has sql=True"):
            await host.get(Asking, "a").ask()


async def test_workers_answer_and_reach_objects(tmp_path: Path) -> None:
    """By their table of routes."""
    async with EmbeddedHost(tmp_path / "objects.db", classes=[Door]) as host:
        door = host.worker(Door)
        answer = await door.fetch(WebRequest("POST", "/carts/a"))
        assert (answer.status, answer.body) == (200, 1)
        assert (await door.fetch(WebRequest("GET", "/nowhere"))).status == 404
        assert await host.get(Counter, "a").total() == 1
    with pytest.raises(HostClosed):
        host.worker(Door)


class Bytes:
    """An origin that keeps what it is told."""

    def __init__(self) -> None:
        self.replies: list[bytes] = []

    def respond(self, data: bytes) -> None:
        """Keep a reply."""
        self.replies.append(data)

    def broken(self, reason: str) -> None:
        """Fail: nobody is to break."""
        raise AssertionError(reason)


async def test_requests_from_outside_are_refused_when_closed(tmp_path: Path) -> None:
    """Also bytes that mean nothing."""
    host = EmbeddedHost(tmp_path / "objects.db")
    origin = Bytes()
    host.receive(b"\xc1", origin)
    reply = decode_reply(origin.replies[0])
    assert reply.id == 0
    assert reply.error is not None
    assert isinstance(error_from(reply.error), HostClosed)


async def test_a_disk_that_fills_resets_objects_and_the_host_stays_up() -> None:
    """Callers are told that nothing is stored; with room, everything works again."""
    with small_disk() as disk:
        path = disk.folder / "objects.db"
        async with EmbeddedHost(path) as host:
            store = host._store  # pyright: ignore[reportPrivateUsage]
            assert store is not None
            stub = host.get(Counter, "a")
            assert await stub.increment() == 1
            disk.fill(store)
            with pytest.raises(ObjectReset, match="no room on its disk"):
                await stub.large(100_000)
            assert await host.get(Counter, "a").total() == 1
            disk.free(store)
            fresh = host.get(Counter, "a")
            await fresh.large(100_000)
            assert await fresh.increment() == 2
            assert host.statistics().store.commits_failed == 1
        async with EmbeddedHost(path) as host:
            assert await host.get(Counter, "a").total() == 2

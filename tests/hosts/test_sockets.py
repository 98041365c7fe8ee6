"""A host behind a socket."""

import contextlib
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from durasim.actors import DurableObject, Origin
from durasim.hosts import EmbeddedHost, connect, serve
from durasim.hosts.connection import Connection, introduction, reason_of
from durasim.hosts.sockets import SocketAddress
from durasim.wire import (
    Envelope,
    Frame,
    FrameKind,
    HostClosed,
    MalformedRequest,
    ObjectReset,
    OutcomeUnknown,
    decode,
    decode_reply,
    encode,
    encode_envelope,
    encode_frame,
    error_from,
)

from .objects import Counter, Sleeper
from .waiting import until


@asynccontextmanager
async def served(folder: Path, address: SocketAddress) -> AsyncGenerator[EmbeddedHost]:
    """A host that serves at *address* while the block runs."""
    async with (
        EmbeddedHost(folder / "objects.db", classes=[Counter, Sleeper], grace_s=0.0) as host,
        trio.open_nursery() as nursery,
    ):
        await nursery.start(serve, host, address)
        yield host
        nursery.cancel_scope.cancel()


async def test_objects_are_called_over_a_unix_socket(tmp_path: Path) -> None:
    """Values and errors come back as from the host itself; the socket file goes with the server."""
    path = tmp_path / "objects.sock"
    async with served(tmp_path, path) as host, connect(path) as remote:
        stub = remote.get(Counter, "a")
        assert [await stub.increment(), await stub.increment(by=4)] == [1, 5]
        assert await host.get(Counter, "a").total() == 5
        with pytest.raises(ValueError, match="as asked"):
            await stub.fail()
        with pytest.raises(ObjectReset):
            await stub.break_down()
        assert await remote.get(Counter, "a").total() == 5
        assert remote.peer == "host"
    assert sorted(os.listdir(tmp_path)) == ["objects.db", "objects.db.lock"]


async def test_objects_are_called_over_tcp(tmp_path: Path) -> None:
    """At a port that the system picks."""
    async with (
        EmbeddedHost(tmp_path / "objects.db", classes=[Counter]) as host,
        trio.open_nursery() as nursery,
    ):
        listeners: list[trio.SocketListener] = await nursery.start(serve, host, ("127.0.0.1", 0))
        port = listeners[0].socket.getsockname()[1]
        async with connect(("127.0.0.1", port), name="alice") as remote:
            assert await remote.get(Counter, "a").increment() == 1
        nursery.cancel_scope.cancel()


async def test_many_calls_of_many_clients_keep_their_order(tmp_path: Path) -> None:
    """Each stub sees its own calls in the order made, and large values come whole."""
    path = tmp_path / "objects.sock"

    async def client(number: int) -> None:
        async with connect(path, name=f"client-{number}") as remote:
            stub = remote.get(Counter, f"{number}")
            calls = [stub.increment() for _ in range(100)]
            assert [await call for call in calls] == list(range(1, 101))
            await stub.large(3_000_000)

    async with served(tmp_path, path) as host:
        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(client, number)
        assert host.statistics().requests_begun == 404


async def test_a_lost_connection_leaves_calls_in_flight_unknown(tmp_path: Path) -> None:
    """Later ones are refused as not delivered."""
    path = tmp_path / "objects.sock"
    scope = trio.CancelScope()

    async def serve_for_a_while(task_status: trio.TaskStatus[object]) -> None:
        with scope:
            await serve(host, path, task_status=task_status)

    async with (
        EmbeddedHost(tmp_path / "objects.db", classes=[Counter, Sleeper], grace_s=0.0) as host,
        trio.open_nursery() as nursery,
    ):
        await nursery.start(serve_for_a_while)
        async with connect(path) as remote:
            sleeping = remote.get(Sleeper, "s").sleep_forever()
            await until(lambda: host.statistics().requests_begun == 1)
            scope.cancel()
            with trio.fail_after(5), pytest.raises(OutcomeUnknown, match="the connection was"):
                await sleeping
            with pytest.raises(HostClosed, match="this call was not sent"):
                await remote.get(Counter, "a").increment()


async def test_leaving_the_block_gives_up_calls_in_flight(tmp_path: Path) -> None:
    """They may have run; an error of the block leaves it as it is."""
    path = tmp_path / "objects.sock"
    async with served(tmp_path, path):
        async with connect(path) as remote:
            sleeping = remote.get(Sleeper, "s").sleep_forever()
            await trio.sleep(0.02)
        with pytest.raises(OutcomeUnknown):
            await sleeping
        with pytest.raises(KeyError, match="the program's own"):
            async with connect(path):
                raise KeyError("the program's own")


async def test_a_call_that_was_never_handed_over_is_not_delivered() -> None:
    """It waited behind others when the connection was lost: that is certain."""

    async def deaf(stream: trio.SocketStream) -> None:
        connection = Connection(stream)
        connection.send(FrameKind.HELLO, introduction("deaf"))
        await connection.pump()

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(trio.serve_tcp, deaf, 0)
        port = listeners[0].socket.getsockname()[1]
        async with connect(("127.0.0.1", port)) as remote:
            half = remote.get(Echoing, "a").say(bytes(20_000_000))
            unsent = remote.get(Echoing, "a").say(b"")
            await trio.sleep(0.02)
        with pytest.raises(OutcomeUnknown):
            await half
        with pytest.raises(HostClosed, match="before this call was sent"):
            await unsent
        nursery.cancel_scope.cancel()


class Echoing(DurableObject):
    """Takes anything."""

    async def say(self, what: bytes) -> None:
        """Take it."""


async def test_nobody_there_is_told_at_once(tmp_path: Path) -> None:
    """No socket, or a server that is no host."""
    path = tmp_path / "objects.sock"
    with pytest.raises(FileNotFoundError):
        async with connect(path):
            raise AssertionError("unreachable")

    async def stranger(stream: trio.SocketStream) -> None:
        await stream.send_all(b"220 mail.example.org ESMTP")

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(trio.serve_tcp, stranger, 0)
        port = listeners[0].socket.getsockname()[1]
        with pytest.raises(OSError, match="no durasim host answers there"):
            async with connect(("127.0.0.1", port)):
                raise AssertionError("unreachable")
        nursery.cancel_scope.cancel()


async def test_a_socket_left_by_a_killed_server_is_replaced(tmp_path: Path) -> None:
    """One that is served, or that is no socket, is not."""
    path = tmp_path / "objects.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    async with served(tmp_path, path) as host:
        with pytest.raises(OSError, match="in use"):
            await serve(host, path)
        plain = tmp_path / "plain"
        plain.write_bytes(b"kept")
        with pytest.raises(OSError, match="in use"):
            await serve(host, plain)
        assert plain.read_bytes() == b"kept"
        async with connect(path) as remote:
            assert await remote.get(Counter, "a").increment() == 1


async def answers(path: Path, *pieces: bytes) -> list[Frame]:
    """Send *pieces* to the server and return the frames that come back until it ends."""
    stream = await trio.open_unix_socket(str(path))
    for piece in pieces:
        await stream.send_all(piece)
    connection = Connection(stream)
    found: list[Frame] = []
    with trio.fail_after(5):
        async for frame in connection.frames():
            found.append(frame)
            if frame.kind is FrameKind.REPLY:
                await stream.send_eof()
    await connection.close()
    return found


HELLO = encode_frame(Frame(FrameKind.HELLO, introduction("stranger")))


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a frame begins with 0xD5"),
        (encode_frame(Frame(FrameKind.CALL, b"")), "begins with HELLO, not with CALL"),
        (encode_frame(Frame(FrameKind.HELLO, b"\xc1")), "0xC1"),
        (encode_frame(Frame(FrameKind.HELLO, b"\x01")), "a HELLO without a name"),
        (HELLO + b"\xd5\x01\x02\x00\xff\xff\xff\xff", "declares"),
    ],
)
async def test_a_peer_that_speaks_something_else_is_told_so(
    tmp_path: Path, sent: bytes, reason: str
) -> None:
    """With a reason, and the server goes on."""
    path = tmp_path / "objects.sock"
    async with served(tmp_path, path):
        hello, goodbye = await answers(path, sent)
        assert hello.kind is FrameKind.HELLO
        assert goodbye.kind is FrameKind.GOODBYE
        assert reason.lower() in str(decode(goodbye.payload)).lower()
        async with connect(path) as remote:
            assert await remote.get(Counter, "a").increment() == 1


async def test_a_call_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Call 0 is answered: its number could not be read either. Cut in any pieces."""
    path = tmp_path / "objects.sock"
    bad = HELLO + encode_frame(Frame(FrameKind.CALL, b"\x93\x01\x02\x03"))
    async with served(tmp_path, path):
        _, reply, _ = await answers(path, *(bad[at : at + 3] for at in range(0, len(bad), 3)))
        told = decode_reply(reply.payload)
        assert told.id == 0
        assert told.error is not None
        assert isinstance(error_from(told.error), MalformedRequest)


class Gone:
    """A receiver that can give no reply."""

    def receive(self, data: bytes, origin: Origin) -> None:
        """Break it at once."""
        del data
        origin.broken("the host is gone")


async def test_a_reply_that_will_not_come_is_told(tmp_path: Path) -> None:
    """As an outcome that nobody knows, at once and not at the deadline."""
    path = tmp_path / "objects.sock"
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, Gone(), path)
        async with connect(path) as remote:
            with trio.fail_after(5), pytest.raises(OutcomeUnknown, match="the host is gone"):
                await remote.get(Counter, "a").increment()
        nursery.cancel_scope.cancel()


async def test_a_goodbye_ends_new_calls_and_the_connection(tmp_path: Path) -> None:
    """The client's: the server closes. The server's: new calls are refused with its reason."""
    path = tmp_path / "objects.sock"
    goodbye = encode_frame(Frame(FrameKind.GOODBYE, b"\xc0"))
    async with served(tmp_path, path):
        kinds = [frame.kind for frame in await answers(path, HELLO, goodbye)]
        assert kinds == [FrameKind.HELLO, FrameKind.GOODBYE]

    async def polite(stream: trio.SocketStream) -> None:
        connection = Connection(stream)
        connection.send(FrameKind.HELLO, introduction("polite"))
        connection.say_goodbye("moving to another machine")
        await connection.pump()
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(trio.serve_tcp, polite, 0)
        port = listeners[0].socket.getsockname()[1]
        async with connect(("127.0.0.1", port)) as remote:
            await trio.sleep(0.02)
            with pytest.raises(HostClosed, match="moving to another machine"):
                await remote.get(Counter, "a").increment()
        nursery.cancel_scope.cancel()


async def test_a_peer_that_reads_nothing_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its replies would fill the memory of the host; others are served on."""
    monkeypatch.setattr("durasim.hosts.connection.OUTGOING_BYTES_MAX", 500_000)
    path = tmp_path / "objects.sock"
    echo = Echo(1_000_000)
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, echo, path)
        stream = await trio.open_unix_socket(str(path))
        await stream.send_all(HELLO)
        call = encode_envelope(Envelope(1, "s", 0, 1, 0, "Cart", "a", "x", [], {}, 0, ""))
        for _ in range(5):
            await stream.send_all(encode_frame(Frame(FrameKind.CALL, call)))
        await until(lambda: echo.count >= 2)
        received = 0
        with trio.fail_after(5), contextlib.suppress(trio.BrokenResourceError):
            while data := await stream.receive_some(65536):
                received += len(data)
        assert received < 2_000_000
        await stream.aclose()
        nursery.cancel_scope.cancel()


class Echo:
    """A receiver that answers every call with many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.count = 0

    def receive(self, data: bytes, origin: Origin) -> None:
        """Answer at once."""
        del data
        self.count += 1
        origin.respond(bytes(self.size))


def test_a_goodbye_without_a_readable_reason_is_one_all_the_same() -> None:
    """Whatever it holds; a reason that is too long is cut."""
    assert reason_of(Frame(FrameKind.GOODBYE, b"\xc1")) == "no readable reason"
    assert reason_of(Frame(FrameKind.GOODBYE, encode("x" * 5000))) == "x" * 1000

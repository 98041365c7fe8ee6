"""A host behind a socket, and the other end of it.

    async with EmbeddedHost("objects.db") as host, trio.open_nursery() as nursery:
        await nursery.start(serve, host, "objects.sock")

    async with connect("objects.sock") as remote:
        await remote.get(Counter, "cart-7").increment()

An address is the path of a Unix socket, or host and port of a TCP one. There is no encryption and
no login: whoever can reach the socket can call every object.
"""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio

from ..actors import CALL_DEADLINE_S, Calls, DurableObject
from ..wire import (
    Envelope,
    Frame,
    FrameKind,
    HostClosed,
    MalformedBytes,
    OutcomeUnknown,
    Reply,
    decode_envelope,
    encode_reply,
    record_of,
)
from .client import Client
from .clock import RealClock
from .connection import Connection, introduced, introduction, reason_of
from .loopback import Receiver

__all__ = ["RemoteHost", "connect", "serve"]

T = TypeVar("T", bound=DurableObject)

SocketAddress = Path | str | tuple[str, int]

BACKLOG_CONNECTIONS = 128
"""Connections that wait to be accepted; Linux's own bound for a long time."""


class SocketOrigin:
    """The way back over a connection. After its end answers are dropped: nobody is there."""

    __slots__ = ("_connection", "_request")

    def __init__(self, connection: Connection, request: bytes) -> None:
        self._connection = connection
        self._request = request

    def respond(self, data: bytes) -> None:
        """Send the encoded reply."""
        if not self._connection.send(FrameKind.REPLY, data):
            # The peer reads no replies: its calls end as unknown when the connection does.
            self._connection.scope.cancel()

    def broken(self, reason: str) -> None:
        """Say that no reply will come."""
        error = record_of(OutcomeUnknown(reason))
        self.respond(encode_reply(Reply(decode_envelope(self._request).id, 0, None, error)))


async def serve(
    host: Receiver,
    address: SocketAddress,
    *,
    name: str = "host",
    task_status: trio.TaskStatus[list[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve *host* at *address* until cancelled; started with the listeners.

    Args:
        host: whoever takes in requests; an `EmbeddedHost` that is open.
        address: a path, or host and port; port 0 picks one.
        name: who this is, told to every peer.
        task_status: for `nursery.start`.

    Raises:
        OSError: the address cannot be had. Nothing was served.
    """
    if isinstance(address, tuple):
        listeners = await trio.open_tcp_listeners(address[1], host=address[0])
    else:
        listeners = [await _listen(str(address))]
    try:
        task_status.started(listeners)
        await trio.serve_listeners(partial(_attend, host, name), listeners)
    finally:
        if not isinstance(address, tuple):
            with contextlib.suppress(OSError):
                os.unlink(address)


async def _attend(host: Receiver, name: str, stream: trio.SocketStream) -> None:
    """Serve one connection to its end. Whatever the peer does ends this connection only."""
    connection = Connection(stream)
    connection.send(FrameKind.HELLO, introduction(name))
    try:
        with connection.scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_pump, connection)
                try:
                    await _take_calls(host, connection)
                except MalformedBytes as error:
                    connection.say_goodbye(str(error))
                except trio.BrokenResourceError:
                    connection.scope.cancel()
                else:
                    # What was queued for the peer still leaves: it may be reading.
                    connection.say_goodbye("the peer said goodbye")
    finally:
        with trio.CancelScope(shield=True):
            await connection.close()


async def _pump(connection: Connection) -> None:
    with contextlib.suppress(trio.BrokenResourceError):
        await connection.pump()
    connection.scope.cancel()


async def _take_calls(host: Receiver, connection: Connection) -> None:
    is_known = False
    async with contextlib.aclosing(connection.frames()) as frames:
        async for frame in frames:
            if not is_known:
                introduced(frame)
                is_known = True
            elif frame.kind is FrameKind.CALL:
                host.receive(frame.payload, SocketOrigin(connection, frame.payload))
            elif frame.kind is FrameKind.GOODBYE:
                return


class RemoteHost:
    """The other end of a socket. Made by `connect`.

    A call that was not handed to the socket ends as `HostClosed`: not delivered. One that was, and
    whose connection is lost, ends as `OutcomeUnknown`.
    """

    def __init__(self, connection: Connection, name: str, version: str) -> None:
        self._connection = connection
        self._refusal: str | None = None
        self._clock = RealClock()
        self._client = Client(name, self._clock, self, version)
        self.peer = ""
        """What the host calls itself."""

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub of the object *name* of *cls*; nothing is sent yet."""
        return self._client.objects.get(cls, name, deadline_s=deadline_s)

    def request(self, envelope: Envelope, data: bytes, calls: Calls) -> None:
        """Send a request, or refuse it as not delivered."""
        refusal = self._refusal
        if refusal is None:
            if self._connection.send(FrameKind.CALL, data, envelope.id):
                return
            refusal = "the host is not reading what was sent to it before"
        closed = record_of(HostClosed(f"{refusal}; this call was not sent"))
        calls.receive(encode_reply(Reply(envelope.id, 0, None, closed)))

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Carry calls until the connection ends; started when the peer has introduced itself.

        Raises:
            OSError: the peer is no host, or went before it had said so.
        """
        reason = "the connection was closed"
        try:
            with self._connection.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._clock.run)
                    nursery.start_soon(_pump, self._connection)
                    try:
                        await self._take_replies(task_status)
                    except (trio.BrokenResourceError, MalformedBytes) as error:
                        reason = f"the connection was lost ({error or type(error).__name__})"
                    self._connection.scope.cancel()
        finally:
            self._lost(reason)
            with trio.CancelScope(shield=True):
                await self._connection.close()
        if not self.peer:
            raise OSError(errno.ECONNREFUSED, f"no durasim host answers there: {reason}")

    async def _take_replies(self, task_status: trio.TaskStatus[None]) -> None:
        async with contextlib.aclosing(self._connection.frames()) as frames:
            async for frame in frames:
                if not self.peer:
                    self.peer = introduced(frame)
                    task_status.started()
                else:
                    self._take(frame)

    def _take(self, frame: Frame) -> None:
        if frame.kind is FrameKind.REPLY:
            self._client.calls.receive(frame.payload)
        elif frame.kind is FrameKind.GOODBYE:
            self._refusal = f"the host said goodbye: {reason_of(frame)}"

    def _lost(self, reason: str) -> None:
        self._refusal = reason
        calls = self._client.calls
        for number in self._connection.unsent():
            if number in calls.pending:
                closed = record_of(HostClosed(f"{reason} before this call was sent"))
                calls.receive(encode_reply(Reply(number, 0, None, closed)))
        for number in list(calls.pending):
            calls.broken(number, reason)


@contextlib.asynccontextmanager
async def connect(
    address: SocketAddress, *, name: str = "client", version: str = ""
) -> AsyncGenerator[RemoteHost]:
    """Connect to the host at *address*; calls in flight at the end of the block are given up.

    Args:
        address: as for `serve`.
        name: who calls, told to every object that is called.
        version: of the code of the caller.

    Raises:
        OSError: no host answers there. Nothing was sent.
    """
    stream: trio.SocketStream
    if isinstance(address, tuple):
        stream = await trio.open_tcp_stream(*address)
    else:
        stream = await trio.open_unix_socket(str(address))
    connection = Connection(stream)
    connection.send(FrameKind.HELLO, introduction(name))
    remote = RemoteHost(connection, name, version)
    error: BaseException | None = None
    async with trio.open_nursery() as nursery:
        try:
            await nursery.start(remote.run)
            yield remote
        except trio.Cancelled:
            raise
        except BaseException as raised:
            # An error of the block leaves it as it is, not in the group of our nursery.
            error = raised
        nursery.cancel_scope.cancel()
    if error is not None:
        raise error


async def _listen(path: str) -> trio.SocketListener:
    sock = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            await sock.bind(path)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not await _is_left_over(path):
                raise
            os.unlink(path)
            await sock.bind(path)
        sock.listen(BACKLOG_CONNECTIONS)
    except BaseException:
        sock.close()
        raise
    return trio.SocketListener(sock)


async def _is_left_over(path: str) -> bool:
    """Whether *path* is a socket that a killed server left behind."""
    if not stat.S_ISSOCK(os.stat(path).st_mode):
        return False
    try:
        stream = await trio.open_unix_socket(path)
    except ConnectionRefusedError:
        return True
    await trio.aclose_forcefully(stream)
    return False

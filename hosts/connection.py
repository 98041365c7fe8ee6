"""Frames over a stream: what both ends of a socket have in common.

Sending never waits: frames queue, and one task hands them to the stream in order. A frame belongs
to a call: if it was not begun to be handed over, that call is certainly not delivered.
"""

from collections import deque
from collections.abc import AsyncGenerator

import trio

from ..wire import (
    BadFrame,
    Frame,
    FrameDecoder,
    FrameKind,
    WireError,
    decode,
    encode,
    encode_frame,
)

RECEIVE_BYTES = 65536
"""Bytes asked of the stream at once."""

OUTGOING_BYTES_MAX = 64 * 1024 * 1024
"""Bytes that wait to be handed over: two of the largest messages. With more, nobody is reading."""

GOODBYE_S = 1.0
"""Seconds that a goodbye, and what is queued before it, may take: the peer may not be reading."""

TOLD_CHARACTERS_MAX = 1000
"""Characters of a peer's name or reason that are kept."""


class Connection:
    """One end of a stream of frames. `pump` must be running for anything to leave."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._decoder = FrameDecoder()
        self._queue: deque[tuple[int, bytes]] = deque()
        self._more = trio.Event()
        self._is_last = False
        self.outgoing_bytes = 0
        self.is_closed = False
        self.scope = trio.CancelScope()
        """What whoever runs this end runs in; cancelled when there is no use in going on."""

    def send(self, kind: FrameKind, payload: bytes, call: int = 0) -> bool:
        """Queue a frame that belongs to *call*; returns whether it was taken."""
        if self.is_closed or self._is_last or self.outgoing_bytes > OUTGOING_BYTES_MAX:
            return False
        data = encode_frame(Frame(kind, payload))
        self._queue.append((call, data))
        self.outgoing_bytes += len(data)
        self._more.set()
        return True

    def say_goodbye(self, reason: str) -> None:
        """Let `pump` end after what is queued and a last frame with *reason*."""
        self.send(FrameKind.GOODBYE, encode(reason[:TOLD_CHARACTERS_MAX]))
        self._is_last = True
        self._more.set()
        self.scope.deadline = trio.current_time() + GOODBYE_S

    def unsent(self) -> list[int]:
        """Return the calls whose frames have not been begun to be handed over."""
        return [call for call, _ in self._queue]

    async def pump(self) -> None:
        """Hand queued frames to the stream until a goodbye has been sent.

        Raises:
            trio.BrokenResourceError: the peer is gone. What was handed over may have arrived.
        """
        while True:
            while self._queue:
                _, data = self._queue.popleft()
                await self._stream.send_all(data)
                self.outgoing_bytes -= len(data)
            if self._is_last:
                return
            self._more = trio.Event()
            await self._more.wait()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yield the frames that arrive, until the stream ends between two of them.

        Raises:
            MalformedBytes: the peer sends no frames. Those before it have been yielded.
            trio.BrokenResourceError: the peer is gone.
        """
        while data := await self._stream.receive_some(RECEIVE_BYTES):
            for frame in self._decoder.feed(bytes(data)):
                yield frame
            if self._decoder.error is not None:
                raise self._decoder.error
        self._decoder.end()

    async def close(self) -> None:
        """Close the stream without waiting for the peer. What is queued is dropped."""
        self.is_closed = True
        await trio.aclose_forcefully(self._stream)


def introduction(name: str) -> bytes:
    """Return the payload of the first frame of somebody called *name*."""
    return encode({"name": name})


def introduced(frame: Frame) -> str:
    """Return the name in the first frame of a peer.

    Raises:
        BadFrame: it is no introduction.
    """
    if frame.kind is not FrameKind.HELLO:
        raise BadFrame(f"a stream begins with HELLO, not with {frame.kind.name}")
    said = decode(frame.payload)
    name = said.get("name") if isinstance(said, dict) else None  # pyright: ignore
    if not isinstance(name, str):
        raise BadFrame("a HELLO without a name")
    return name[:TOLD_CHARACTERS_MAX]


def reason_of(frame: Frame) -> str:
    """Return the reason in a GOODBYE, whatever it holds."""
    try:
        return str(decode(frame.payload))[:TOLD_CHARACTERS_MAX]
    except WireError:
        return "no readable reason"

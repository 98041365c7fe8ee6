"""`FrameDecoder`: bytes in any pieces to frames, with a bounded buffer.

The frames do not depend on how the bytes were cut. What is kept between two calls is less than one
frame; a length over the bound is refused when its header is complete, before any of it is kept.
"""

from .errors import MalformedBytes, Truncated
from .frames import HEADER_BYTES, Frame, read_header
from .limits import FRAME_BYTES_MAX


class FrameDecoder:
    """One direction of one stream; after an error it stays broken."""

    __slots__ = ("_buffer", "_error", "_payload_bytes_max")

    def __init__(self, *, payload_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._buffer = bytearray()
        self._error: MalformedBytes | None = None
        self._payload_bytes_max = payload_bytes_max

    @property
    def error(self) -> MalformedBytes | None:
        """What broke it; the next `feed` or `end` raises it."""
        return self._error

    @property
    def buffered_bytes(self) -> int:
        """How many bytes of an unfinished frame are kept."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that *data* completes, in order.

        If an error follows good frames in the same piece, those are returned first, `error` is set
        at once, and the next call raises it.

        Raises:
            MalformedBytes: the stream is no stream of frames, now or since an earlier call.
        """
        if self._error is not None:
            raise self._error
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        at = 0
        try:
            while len(buffer) - at >= HEADER_BYTES:
                header = bytes(buffer[at : at + HEADER_BYTES])
                kind, size = read_header(header, self._payload_bytes_max)
                end = at + HEADER_BYTES + size
                if len(buffer) < end:
                    break
                frames.append(Frame(kind, bytes(buffer[at + HEADER_BYTES : end])))
                at = end
        except MalformedBytes as error:
            self._error = error
            buffer.clear()
            if not frames:
                raise
            return frames
        del buffer[:at]
        return frames

    def end(self) -> None:
        """The stream has ended; nothing happens if it ended between two frames.

        Raises:
            Truncated: it ended inside of a frame.
            MalformedBytes: it was broken before.
        """
        if self._error is None and self._buffer:
            self._error = Truncated(f"the stream ends after {len(self._buffer)} bytes of a frame")
            self._buffer.clear()
        if self._error is not None:
            raise self._error

"""Frames: messages on a stream of bytes.

0    magic    0xD5      no first byte of any text, and of no msgpack value that we send first
1    version  0x01
2    kind     see `FrameKind`
3    zero     0x00      kept for flags; refused until one exists
4-7  length   of the payload, in bytes, big end first
8-   payload
"""

from enum import IntEnum, unique
from struct import Struct
from typing import Final, NamedTuple

from .errors import BadFrame, TooLarge, UnsendableValue
from .limits import FRAME_BYTES_MAX

MAGIC: Final = 0xD5
VERSION: Final = 1

_HEADER: Final = Struct(">BBBBI")
HEADER_BYTES: Final = _HEADER.size


@unique
class FrameKind(IntEnum):
    """What a payload is. Numbers are forever; that of a retired kind stays spent."""

    HELLO = 1
    """The first frame of each side: who it is, as an encoded value."""
    CALL = 2
    """An `Envelope`."""
    REPLY = 3
    """A `Reply`."""
    GOODBYE = 4
    """The last frame of a side: no more calls; an encoded reason."""


class Frame(NamedTuple):
    """One message on a stream."""

    kind: FrameKind
    payload: bytes


_KINDS: Final[dict[int, FrameKind]] = {int(kind): kind for kind in FrameKind}


def encode_frame(frame: Frame) -> bytes:
    """The bytes of *frame*.

    Raises:
        UnsendableValue: the payload is larger than ``FRAME_BYTES_MAX``; nothing was sent.
    """
    size = len(frame.payload)
    if size > FRAME_BYTES_MAX:
        raise UnsendableValue("$.payload", f"{size} bytes, more than {FRAME_BYTES_MAX}")
    return _HEADER.pack(MAGIC, VERSION, frame.kind, 0, size) + frame.payload


def read_header(header: bytes | bytearray, payload_bytes_max: int) -> tuple[FrameKind, int]:
    """Kind and payload length of the frame that begins with *header*.

    Raises:
        BadFrame: it is no header of ours.
        TooLarge: it declares more than *payload_bytes_max*.
    """
    magic, version, number, zero, size = _HEADER.unpack_from(header)
    if magic != MAGIC:
        raise BadFrame(f"a frame begins with 0x{MAGIC:02X}, not 0x{magic:02X}")
    if version != VERSION:
        raise BadFrame(f"version {version} is not spoken here")
    kind = _KINDS.get(number)
    if kind is None or zero:
        raise BadFrame(f"frame kind {number} with flags {zero} is not known here")
    if size > payload_bytes_max:
        raise TooLarge(f"a frame declares {size} bytes, more than {payload_bytes_max}")
    return kind, size

"""The shape of msgpack bytes, judged without building anything.

msgpack builds an array or map of the length that it declares before it reads what is in it, a
thousand levels deep; it makes timestamps that are no values of ours; and its errors do not tell a
short message from a forged one. This walk reads headers only, in constant memory and linear time.
It is slower than msgpack, so `needs_look` finds in C the few messages that have to be walked.
"""

import re
from typing import Final, cast

from .errors import ReservedByte, TooDeep, TrailingBytes, Truncated, UnknownExtension
from .extensions import LEAVES, MARKS
from .limits import WIRE_DEPTH_MAX

# Where a header of msgpack's own timestamp (extension type -1) could end: its lengths are 4, 8, 12.
_TIMESTAMP: Final = re.compile(rb"[\x04\x08\x0c\xd6\xd7]\xff")

_NESTING: Final = (*range(0x80, 0xA0), *range(0xDC, 0xE0))
_NOT_NESTING: Final = bytes(byte for byte in range(256) if byte not in _NESTING)

_EXTENSIONS: Final = MARKS | LEAVES

# First byte to how many bytes follow; below, to how many bytes of a length follow.
_FIXED: Final[dict[int, int]] = {
    **dict.fromkeys((*range(128), 192, 194, 195, *range(224, 256)), 0),
    **{byte: byte & 0x1F for byte in range(0xA0, 0xC0)},
    0xCA: 4, 0xCB: 8,
    0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8,
    0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
}  # fmt: skip
_COUNTED: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXT_FIXED: Final = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_EXT_COUNTED: Final = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_ARRAYS: Final = {0xDC: 2, 0xDD: 4}
_MAPS: Final = {0xDE: 2, 0xDF: 4}


# Runs of numbers of one width, by group: a long array is mostly that, and this is read in C.
_RUN: Final = re.compile(
    rb"([\x00-\x7f\xc0\xc2\xc3\xe0-\xff]+)|((?:[\xcc\xd0].)+)|((?:[\xcd\xd1]..)+)"
    rb"|((?:[\xca\xce\xd2].{4})+)|((?:[\xcb\xcf\xd3].{8})+)",
    re.DOTALL,
)
_RUN_WIDTHS: Final = (0, 1, 2, 3, 5, 9)
_RUN_LENGTH_MIN: Final = 16


def needs_look(data: bytes) -> bool:
    """False only if *data* can neither nest too deep nor hold a timestamp of msgpack's."""
    if 0xFF in data and _TIMESTAMP.search(data) is not None:
        return True
    return len(data) > WIRE_DEPTH_MAX and len(data.translate(None, _NOT_NESTING)) > WIRE_DEPTH_MAX


def look(data: bytes) -> None:
    """Nothing happens if *data* is exactly one value, as far as headers and lengths tell.

    Raises:
        MalformedBytes: the subclass that tells what is wrong.
    """
    end = len(data)
    at = 0
    open_counts: list[int] = []
    # Values still to come in all open containers; each takes a byte, so this bounds what msgpack
    # would allocate for the lengths that are declared.
    owed = 1
    while owed:
        if at + owed > end:
            raise Truncated(f"{owed} values are still to come, {end - at} bytes are left")
        while open_counts and not open_counts[-1]:
            open_counts.pop()
        if open_counts and open_counts[-1] >= _RUN_LENGTH_MIN:
            after, count = _run(data, at, open_counts[-1])
            if count:
                at = after
                owed -= count
                open_counts[-1] -= count
                continue

        at, children = _step(data, at)
        owed += children - 1
        if open_counts:
            open_counts[-1] -= 1
        if children:
            if len(open_counts) >= WIRE_DEPTH_MAX:
                raise TooDeep(f"nested deeper than {WIRE_DEPTH_MAX} levels")
            open_counts.append(children)
    if at > end:
        raise Truncated(f"the last value ends {at - end} bytes after the message")
    if at < end:
        raise TrailingBytes(f"{end - at} bytes follow the value")


def _run(data: bytes, at: int, count_max: int) -> tuple[int, int]:
    """The place after a run of numbers at *at*, and how many there are."""
    # Bounded by what the container still lacks: many short ones must not look at one long run.
    run = _RUN.match(data, at, at + count_max * _RUN_WIDTHS[-1])
    if run is None:
        return at, 0
    width = _RUN_WIDTHS[cast("int", run.lastindex)]
    count = min((run.end() - at) // width, count_max)
    return at + count * width, count


def _step(data: bytes, at: int) -> tuple[int, int]:
    """The place after the value that begins at *at*, and how many values it holds."""
    first = data[at]
    at += 1
    after = _FIXED.get(first)
    if after is not None:
        return at + after, 0
    if first < 0x90:
        return at, 2 * (first & 0x0F)
    if first < 0xA0:
        return at, first & 0x0F
    if first in _COUNTED:
        width = _COUNTED[first]
        return at + width + _number(data, at, width), 0
    if first in _ARRAYS:
        width = _ARRAYS[first]
        return at + width, _number(data, at, width)
    if first in _MAPS:
        width = _MAPS[first]
        return at + width, 2 * _number(data, at, width)
    if first in _EXT_FIXED:
        return _extension(data, at, _EXT_FIXED[first])
    if first in _EXT_COUNTED:
        width = _EXT_COUNTED[first]
        return _extension(data, at + width, _number(data, at, width))
    raise ReservedByte(f"byte 0xC1 at {at - 1}")


def _extension(data: bytes, at: int, length: int) -> tuple[int, int]:
    kind = _number(data, at, 1)
    if kind not in _EXTENSIONS:
        raise UnknownExtension(f"extension type {kind - 256 if kind > 127 else kind}")
    return at + 1 + length, 0


def _number(data: bytes, at: int, width: int) -> int:
    if at + width > len(data):
        raise Truncated("the message ends inside of a header")
    return int.from_bytes(data[at : at + width], "big")

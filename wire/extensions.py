"""The extension types of our msgpack, and the values that fill one whole.

Two sorts of extension type. A *leaf* holds one value in its payload. A *mark* has no payload and
stands at the head of an array, which it makes a tuple, a set or an object: so everything nested is
written and read in one pass, by msgpack's own loop, without recursion.

Numbers are forever: a type that goes leaves its number spent.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from struct import Struct
from typing import Any, Final
from uuid import UUID

from msgpack import ExtType

from .absent import ABSENT, Absent
from .errors import MalformedValue, UnknownExtension, UnknownName

# Marks: never with a payload.
TUPLE: Final = 0x01
SET: Final = 0x02
FROZENSET: Final = 0x03
OBJECT: Final = 0x04

# Leaves: never without one.
ABSENCE: Final = 0x10
INTEGER: Final = 0x11
INSTANT: Final = 0x12
IDENTIFIER: Final = 0x13
MEMBER: Final = 0x14

MARKS: Final = frozenset((TUPLE, SET, FROZENSET, OBJECT))
LEAVES: Final = frozenset((ABSENCE, INTEGER, INSTANT, IDENTIFIER, MEMBER))


class Unfit(Exception):
    """A value cannot be written; where it stands is found by a second, slower look."""


class TooMuch(Unfit):
    """A value has more parts than a message has bytes: to look for the worst one would not end."""


# local microseconds since 1970, offset in microseconds, fold: the fields of a datetime as they
# stand, since the years 1 and 9999 have local times whose UTC does not exist.
_INSTANT: Final = Struct(">qqB")
_EPOCH: Final = datetime(1970, 1, 1)  # naive: the origin of local fields
_MICROSECOND: Final = timedelta(microseconds=1)

_INT64_MIN: Final = -(2**63)
_UINT64_MAX: Final = 2**64 - 1


def write_absence(_value: Absent) -> ExtType:
    """ABSENT as an extension value."""
    return ExtType(ABSENCE, b"\x00")


def write_integer(value: int) -> ExtType:
    """An int outside of msgpack's 64 bits, as two's complement, big end first, shortest form."""
    length = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return ExtType(INTEGER, value.to_bytes(length, "big", signed=True))


def write_instant(value: datetime) -> ExtType:
    """An aware datetime: its local fields, offset and fold; the name of its zone is not kept."""
    try:
        offset = value.utcoffset()
    except Exception as error:
        raise Unfit(f"its time zone failed: {type(error).__name__}") from error
    if offset is None:
        raise Unfit("a naive datetime is no instant: give it a time zone")
    local = value.replace(tzinfo=None) - _EPOCH
    return ExtType(
        INSTANT, _INSTANT.pack(local // _MICROSECOND, offset // _MICROSECOND, value.fold)
    )


def write_identifier(value: UUID) -> ExtType:
    """A UUID as its 16 bytes."""
    return ExtType(IDENTIFIER, value.bytes)


WRITERS: Final[dict[type, Callable[[Any], ExtType]]] = {
    Absent: write_absence,
    int: write_integer,
    datetime: write_instant,
    UUID: write_identifier,
}
"""Type to writer, for leaves; registered enums are added to it."""

MEMBERS: Final[dict[bytes, Any]] = {}
"""Payload to member, for registered enums."""


def _read_integer(data: bytes) -> int:
    value = int.from_bytes(data, "big", signed=True)
    if _INT64_MIN <= value <= _UINT64_MAX or write_integer(value).data != data:
        raise MalformedValue("an integer that is not in its shortest form")
    return value


def _read_instant(data: bytes) -> datetime:
    if len(data) != _INSTANT.size:
        raise MalformedValue(f"an instant of {len(data)} bytes, not {_INSTANT.size}")
    local, offset, fold = _INSTANT.unpack(data)
    try:
        zone = timezone(timedelta(microseconds=offset)) if offset else UTC
        return (_EPOCH + timedelta(microseconds=local)).replace(tzinfo=zone, fold=fold)
    except (ValueError, OverflowError) as error:
        raise MalformedValue(f"no such instant: {error}") from None


def read_leaf(code: int, data: bytes) -> Any:
    """The value of a leaf.

    Raises:
        MalformedValue: the payload is no value of this type.
        UnknownName: no registered enum has this member.
        UnknownExtension: the type is no leaf of ours.
    """
    if code == IDENTIFIER:
        if len(data) != 16:
            raise MalformedValue(f"a UUID of {len(data)} bytes, not 16")
        return UUID(bytes=data)
    if code == INSTANT:
        return _read_instant(data)
    if code == MEMBER:
        try:
            return MEMBERS[data]
        except KeyError:
            raise UnknownName(f"enum member {data[:80]!r} is not registered here") from None
    if code == INTEGER:
        return _read_integer(data)
    if code == ABSENCE:
        if data != b"\x00":
            raise MalformedValue("an absence with a payload")
        return ABSENT
    raise UnknownExtension(f"extension type {code}")

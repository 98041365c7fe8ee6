"""The codec carries each value exactly, and nothing else."""

import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgpack
import pytest
from hypothesis import given

from durasim.wire import (
    ABSENT,
    DEPTH_MAX,
    MESSAGE_BYTES_MAX,
    CollidingKeys,
    DuplicateKey,
    InvalidText,
    MalformedBytes,
    MalformedRecord,
    MalformedValue,
    MisplacedMark,
    ReservedByte,
    TooDeep,
    TooLarge,
    TrailingBytes,
    Truncated,
    UnhashableKey,
    UnknownExtension,
    UnknownName,
    UnsendableValue,
    decode,
    encode,
)

from ..strategies import Box, Colour, Empty, Point, same, values

NAN = float("nan")


@given(values)
def test_a_value_arrives_as_it_was_sent(value: Any) -> None:
    """Type, content and order survive, throughout."""
    assert same(decode(encode(value)), value)


@given(values)
def test_the_bytes_are_a_function_of_the_value(value: Any) -> None:
    """What was decoded is encoded to the same bytes again."""
    data = encode(value)

    assert encode(decode(data)) == data


VALUES: list[Any] = [
    None, ABSENT, True, False, 0, -1, 255, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1,
    10**5000, 0.0, -0.0, NAN, float("inf"), float("-inf"), 5e-324, 1.0, "", "é\U0001f600\0",
    b"",
    b"\xff" * 300, [], (), set(), frozenset(), {}, [()], ((),), {(): []}, {None: None},
    {1: "int", "1": "str", 1.5: "float", b"1": "bytes", (1,): "tuple"},
    {frozenset({frozenset({0})}), frozenset({0}), (frozenset({1}), 2)}, {NAN: NAN}, {NAN},
    UUID(int=0), UUID(int=2**128 - 1), Colour.RED, Colour.GREEN, Empty(), Point(1),
    Box([Box()]),
    Point(Point(ABSENT), (Colour.RED,)), {Point(1): Point(2)},
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-12))),
    datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(seconds=-3, microseconds=7))),
    list(range(70_000)), {number: str(number) for number in range(5_000)}, tuple(range(5_000)),
    [-1, 4, -1, 8, -1, 12, -1], b"\xd6\xff", [True, 1, 1.0], "x" * 70_000,
    {2**70 * number for number in range(100)}, {str(number): number for number in range(100)},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_each_kind_of_value_survives(value: Any) -> None:
    """The values that are easily taken for others, one by one."""
    assert same(decode(encode(value)), value)


def test_the_order_of_a_dict_survives() -> None:
    """A dict is written in its own order, never sorted."""
    assert list(decode(encode({"b": 1, "a": 2}))) == ["b", "a"]


def test_a_field_may_hold_what_its_annotation_does_not_say() -> None:
    """Fields arrive with the types they had; nothing is converted to an annotation."""
    box = Box(label=b"bytes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert same(decode(encode(box)), box)


@pytest.mark.parametrize("fold", [0, 1])
def test_a_zone_with_a_name_arrives_as_its_offset(fold: int) -> None:
    """The instant, offset and fold of an ambiguous hour are kept; the name of the zone is not."""
    value = datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=ZoneInfo("Europe/Berlin"))
    arrived = decode(encode(value))

    assert arrived.utcoffset() == value.utcoffset() == timedelta(hours=2 - fold)
    assert arrived.astimezone(UTC) == value.astimezone(UTC)
    assert arrived.fold == fold


def test_equal_sets_have_equal_bytes_whatever_the_hash_seed() -> None:
    """Elements are written in the order of their bytes, so that hash order never shows."""
    program = (
        "from durasim.wire import encode\n"
        "print(encode([{'a', 'b', 'c', ('d', 'e')}, frozenset({'x', 'y', b'z'})]).hex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }

    assert len(printed) == 1


class Text(StrEnum):
    """A str subclass that is not registered."""

    A = "a"


class Number(IntEnum):
    """An int subclass that is not registered."""

    ONE = 1


class Rude(tzinfo):
    """A time zone that fails."""

    def tzname(self, _: datetime | None, /) -> str:
        """Have a name."""
        return "rude"

    def dst(self, _: datetime | None, /) -> None:
        """Know nothing."""

    def utcoffset(self, _: datetime | None, /) -> timedelta | None:
        """Fail."""
        raise ZeroDivisionError


class Silent(Rude):
    """A time zone that knows no offset."""

    def utcoffset(self, _: datetime | None, /) -> timedelta | None:
        """Know nothing."""
        return None


class OddPoint(Point):
    """A subclass of a registered class, itself not registered."""


UNSENDABLE: list[Any] = [
    bytearray(b"a"), memoryview(b"a"), msgpack.ExtType(1, b""), msgpack.Timestamp(1), Text.A,
    Number.ONE, OrderedDict(), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=Silent()),
    datetime(2024, 1, 1, tzinfo=Rude()), datetime(2024, 1, 1).date(), len, object(), object,
    "\ud800", OddPoint(1), timedelta(1), 1j, range(3), Ellipsis, type("Sub", (dict,), {})(),
    iter([]),
]  # fmt: skip

WRAPPED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda value: value, "$"),
    (lambda value: [0, value], "$[1]"),
    (lambda value: (value,), "$[0]"),
    (lambda value: {"key": value}, '$["key"]'),
    (lambda value: {7: [value]}, "$[7][0]"),
    (lambda value: {(1,): value}, "$.values[0]"),
    (lambda value: {"k" * 100: value}, "$.values[0]"),
    (lambda value: Point(1, {"a": (value,)}), '$._hidden["a"][0]'),
    (lambda value: [Box(), Box(value)], "$[1].content"),
]


@pytest.mark.parametrize("value", UNSENDABLE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("wrap", "path"), WRAPPED)
def test_what_cannot_be_sent_is_named(value: Any, wrap: Callable[[Any], Any], path: str) -> None:
    """The error names the place, whatever surrounds it, and says why."""
    with pytest.raises(UnsendableValue) as caught:
        encode(wrap(value))

    assert caught.value.path == path
    assert caught.value.reason
    assert str(caught.value) == f"{path}: {caught.value.reason}"


def test_a_bad_key_and_a_bad_element_are_named() -> None:
    """A key has its number; an element of a set has none that would be the same again."""
    with pytest.raises(UnsendableValue, match=r"^\$\.keys\[1\]: .*Text"):
        encode({1: 1, Text.A: 1})
    with pytest.raises(UnsendableValue, match=r"^\$\[0\]\.elements: .*Number"):
        encode([{Number.ONE}])
    with pytest.raises(UnsendableValue, match=r"^\$\.elements\[0\]"):
        encode(frozenset({(Number.ONE,)}))


def nest(levels: int, wrap: Callable[[Any], Any]) -> Any:
    """A value with so many levels of containers."""
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


WRAPS: list[Callable[[Any], Any]] = [
    lambda value: [value],
    lambda value: (value,),
    lambda value: {"k": value},
    lambda value: {(value,)} if type(value) is int else frozenset({value}),
    Point,
]


@pytest.mark.parametrize("wrap", [WRAPS[0], WRAPS[1], WRAPS[2], WRAPS[4]])
def test_depth_is_bounded(wrap: Callable[[Any], Any]) -> None:
    """The deepest value that may be sent arrives; one level more is refused at the sender."""
    deepest = nest(DEPTH_MAX, wrap)

    assert same(decode(encode(deepest)), deepest)
    with pytest.raises(UnsendableValue, match="nested deeper than 100 levels"):
        encode(nest(DEPTH_MAX + 1, wrap))


def test_a_cycle_is_refused_where_it_closes() -> None:
    """A value that contains itself has no bytes."""
    inner: list[Any] = []
    value = {"a": inner}
    inner.append(value)

    with pytest.raises(UnsendableValue, match=r'^\$\["a"\]\[0\]: contains itself$'):
        encode(value)


def test_lists_that_share_lists_are_bounded() -> None:
    """Thirty lists can hold a billion values; they are refused before memory is."""
    value: list[Any] = [0] * 1000
    for _ in range(30):
        value = [value, value]

    with pytest.raises(UnsendableValue, match=rf"^\$: takes more than {MESSAGE_BYTES_MAX} bytes$"):
        encode(value)


def test_size_is_bounded_on_both_sides() -> None:
    """What is too large is refused by the sender, and by a receiver whose sender did not."""
    with pytest.raises(UnsendableValue, match=r"^\$: takes 33554437 bytes"):
        encode(bytes(MESSAGE_BYTES_MAX))
    with pytest.raises(TooLarge):
        decode(bytes(MESSAGE_BYTES_MAX + 1))


COLLIDING = [number * (2**61 - 1) for number in range(1, 100)]


def collide(code: bytes) -> bytes:
    """A set, or dict, of many ints with one hash."""
    items = b"".join(encode(number) for number in COLLIDING)
    if code == b"":
        return b"\xde\x00\x63" + b"".join(encode(number) + b"\xc0" for number in COLLIDING)
    return b"\xdc\x00\x64\xc7\x00" + code + items


TUPLE, SET, FROZENSET, OBJECT = b"\xc7\x00\x01", b"\xc7\x00\x02", b"\xc7\x00\x03", b"\xc7\x00\x04"
POINT = b"\xabtests.Point"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", Truncated),
        (b"\xa5ab", Truncated),
        (b"\xc4", Truncated),
        (b"\x92\x01", Truncated),
        (b"\xdd\xff\xff\xff\xff", Truncated),
        (b"\xdf\xff\xff\xff\xff\x01", Truncated),
        (b"\xdb\xff\xff\xff\xffabc", Truncated),
        (b"\xc6\xff\xff\xff\xffabc", Truncated),
        (b"\xc9\xff\xff\xff\xff\x11a", Truncated),
        (b"\xc7\x05\x11a", Truncated),
        (b"\xd8\x13ab", Truncated),
        (b"\xcf\x01", Truncated),
        (b"\x91" * 10_000 + b"\x01", TooDeep),
        (b"\x81\x01" * 10_000 + b"\x01", TooDeep),
        ((b"\x92" + TUPLE) * 10_000 + b"\x01", TooDeep),
        (b"\x91" * 10_000, TooDeep),
        (b"\x01\x02", TrailingBytes),
        (b"\x91\x01\xc0", TrailingBytes),
        (b"\xc1", ReservedByte),
        (b"\x92\x01\xc1", ReservedByte),
        (b"\xa1\xff", InvalidText),
        (b"\xa3\xed\xa0\x80", InvalidText),
        (b"\xdc\x20\x00" + b"\x01" * 0x1FFF + b"\xa1\xff", InvalidText),
        (b"\xd4\x7f\x00", UnknownExtension),
        (b"\xd4\x05\x00", UnknownExtension),
        (b"\xc7\x00\x05", UnknownExtension),
        (b"\xd6\xff\x00\x00\x00\x01", UnknownExtension),
        (b"\x91\xd7\xff\x00\x00\x00\x00\x00\x00\x00\x01", UnknownExtension),
        (b"\xc7\x0c\xff" + bytes(12), UnknownExtension),
        (b"\xc7\x03\xffabc", UnknownExtension),
        (b"\xd4\x01\x00", UnknownExtension),
        (b"\xc8\x00\x00\x01", UnknownExtension),
        (b"\xd4\x10\x01", MalformedValue),
        (b"\xc7\x00\x10", MalformedValue),
        (b"\xd4\x11\x01", MalformedValue),
        (b"\xc7\x00\x11", MalformedValue),
        (b"\xc7\x0b\x11" + b"\x00\x00" + b"\xff" * 9, MalformedValue),
        (b"\xc7\x03\x13abc", MalformedValue),
        (b"\xd8\x12" + bytes(16), MalformedValue),
        (b"\xc7\x11\x12" + b"\x7f" + bytes(16), MalformedValue),
        (b"\xc7\x11\x12" + bytes(8) + b"\x7f" + bytes(8), MalformedValue),
        (b"\xc7\x11\x12" + bytes(8) + (86_400_000_000).to_bytes(8, "big") + b"\0", MalformedValue),
        (b"\xc7\x11\x12" + bytes(16) + b"\x02", MalformedValue),
        (TUPLE, MisplacedMark),
        (b"\x92\x01" + TUPLE, MisplacedMark),
        (b"\x81\x01" + OBJECT, MisplacedMark),
        (b"\x81" + SET + b"\x01", MisplacedMark),
        (b"\x92" + TUPLE + TUPLE, MisplacedMark),
        (b"\x82\x01\x01\x01\x02", DuplicateKey),
        (b"\x82\x01\x01\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x02", DuplicateKey),
        (b"\x82\xa1a\x01\xa1a\x02", DuplicateKey),
        (b"\x93" + SET + b"\x01\x01", DuplicateKey),
        (b"\x93" + FROZENSET + b"\x01\xc3", DuplicateKey),
        (b"\x81\x90\x01", UnhashableKey),
        (b"\x81\x92" + TUPLE + b"\x80\x01", UnhashableKey),
        (b"\x92" + SET + b"\x80", UnhashableKey),
        (b"\xdc\x00\x15" + FROZENSET + b"\x90" * 20, UnhashableKey),
        (collide(b""), CollidingKeys),
        (collide(b"\x02"), CollidingKeys),
        (collide(b"\x03"), CollidingKeys),
        (b"\xc7\x03\x14a\0b", UnknownName),
        (b"\xc7\x11\x14tests.Colour\0BLUE", UnknownName),
        (b"\x93" + OBJECT + b"\xa1x\x80", UnknownName),
        (b"\x93" + OBJECT + b"\x01\x80", UnknownName),
        (b"\x91" + OBJECT, MalformedRecord),
        (b"\x92" + OBJECT + POINT, MalformedRecord),
        (b"\x93" + OBJECT + POINT + b"\x90", MalformedRecord),
        (b"\x93" + OBJECT + POINT + b"\x80", MalformedRecord),
        (b"\x93" + OBJECT + POINT + b"\x82\xa1x\x01\xa1z\x01", MalformedRecord),
        (b"\x93" + OBJECT + POINT + b"\x82\xa1x\x01\x01\x01", MalformedRecord),
    ],
    ids=lambda part: part.__name__ if isinstance(part, type) else part[:12].hex(),
)
def test_hostile_bytes_are_told_apart(data: bytes, expected: type[MalformedBytes]) -> None:
    """One class for each way in which bytes can be no value of ours."""
    with pytest.raises(MalformedBytes) as caught:
        decode(data)

    assert type(caught.value) is expected
    assert str(caught.value)


def test_a_field_that_is_missing_takes_its_default() -> None:
    """Bytes of older code, without a newer field, still make an object."""
    assert decode(b"\x93" + OBJECT + POINT + b"\x81\xa1x\x05") == Point(5)


def test_nesting_that_only_looks_deep_is_read() -> None:
    """Many small containers side by side are not depth."""
    value = [[number] for number in range(1_000)]

    assert decode(encode(value)) == value


DIFFERENT: list[tuple[Any, Any]] = [
    (1, True),
    (0.0, -0.0),
    (1, 1.0),
    ([1], (1,)),
    ([1], [1, 2]),
    ({1, 2}, {1, 3}),
    ({1}, frozenset({1})),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (Point(1), Point(2)),
    (Box([1]), Box([True])),
    (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, fold=1, tzinfo=UTC)),
    (Colour.RED, Colour.GREEN),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_values_that_are_nearly_the_same_are_told_apart(left: Any, right: Any) -> None:
    """The comparison that the tests above rely on can fail, and the bytes differ too."""
    assert not same(left, right)
    assert encode(left) != encode(right)

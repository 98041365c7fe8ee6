"""Values to bytes and back, exactly: what arrives has the type and the content of what was sent.

    encode(("cart", {1: ABSENT}, uuid4()))  ->  bytes  ->  decode  ->  an equal tuple

Kept: None, `ABSENT`, bool, int of any size, float (NaN and -0.0 too), str, bytes, list, tuple, set,
frozenset, dict with its order, UUID, registered enums and attrs classes, and aware datetimes, whose
offset and fold are kept while the *name* of their zone is not. Equal values give equal bytes: what
has no order of its own is written in the order of its bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgpack import ExtType, Packer, unpackb

from .errors import (
    CollidingKeys,
    DuplicateKey,
    InvalidText,
    MalformedRecord,
    MisplacedMark,
    TooLarge,
    UnhashableKey,
    UnsendableValue,
)
from .extensions import FROZENSET, OBJECT, SET, TUPLE, WRITERS, Unfit, read_leaf
from .layout import look, needs_look
from .limits import HASH_COLLISIONS_MAX, MESSAGE_BYTES_MAX, TRUSTED_LENGTH_MAX
from .names import RECORDS, record_class
from .sendable import SCALARS, check, refusal

_TUPLE: Final = ExtType(TUPLE, b"")
_SET: Final = ExtType(SET, b"")
_FROZENSET: Final = ExtType(FROZENSET, b"")
_OBJECT: Final = ExtType(OBJECT, b"")

# What the packer raises for a str with a lone surrogate; types are judged before it sees them.
REFUSALS: Final = (Unfit, UnicodeEncodeError)

# It calls nothing back, so one packer serves every thread: a call to it is one step of Python.
_PACK_PLAIN: Final[Callable[[Any], bytes]] = Packer(strict_types=True).pack


def _write(value: Any) -> Any:
    """What stands for a *value* that msgpack has no form for."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is tuple:
        return [_TUPLE, *value]
    writer = WRITERS.get(kind)  # pyright: ignore[reportUnknownArgumentType]
    if writer is not None:
        return writer(value)
    if kind is set:
        return [_SET, *_in_byte_order(value)]
    if kind is frozenset:
        return [_FROZENSET, *_in_byte_order(value)]
    record = RECORDS[kind]
    return [_OBJECT, record.name, dict(zip(record.names, record.values(value), strict=True))]


def _in_byte_order(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=pack)


def pack(value: Any) -> bytes:
    """The bytes of a value whose types `check` has seen.

    Raises:
        Unfit, UnicodeEncodeError: see `REFUSALS`.
    """
    # A packer of its own: `_write` calls back, and a set is packed while its owner is.
    return Packer(strict_types=True, default=_write).pack(value)


def pack_plain(value: Any) -> bytes:
    """As `pack`, and faster, for scalars, lists and dicts of them, to any depth.

    Raises:
        UnicodeEncodeError: see `REFUSALS`.
    """
    try:
        return _PACK_PLAIN(value)
    except OverflowError:
        return pack(value)


def encode(value: Any) -> bytes:
    """The bytes of *value*.

    Raises:
        UnsendableValue: a part of it has no bytes; the error names its path from ``$``.
    """
    try:
        plain = type(value) in SCALARS or check(value)
        data = pack_plain(value) if plain else pack(value)
    except REFUSALS as error:
        raise refusal(error, ("$", value)) from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise UnsendableValue("$", f"takes {len(data)} bytes, more than {MESSAGE_BYTES_MAX}")
    return data


def _dict_of(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    if len(pairs) > HASH_COLLISIONS_MAX:
        _refuse_collisions([key for key, _ in pairs])
    try:
        made = dict(pairs)
    except Exception as error:
        raise UnhashableKey(f"no key of a dict: {error}") from error
    if len(made) != len(pairs):
        raise DuplicateKey(f"{len(pairs) - len(made)} keys of a dict stand twice")
    return made


def _set_of(items: list[Any], cls: Callable[[list[Any]], Any]) -> Any:
    if len(items) > HASH_COLLISIONS_MAX:
        _refuse_collisions(items)
    try:
        made = cls(items)
    except Exception as error:
        raise UnhashableKey(f"no element of a set: {error}") from error
    if len(made) != len(items):
        raise DuplicateKey(f"{len(items) - len(made)} elements of a set stand twice")
    return made


def _refuse_collisions(keys: list[Any]) -> None:
    # The hashes of str and bytes are salted: nobody outside can choose them.
    if {str, bytes}.issuperset(map(type, keys)):
        return
    try:
        shared = max(Counter(map(hash, keys)).values())
    except Exception as error:
        raise UnhashableKey(f"no key: {error}") from error
    if shared > HASH_COLLISIONS_MAX:
        raise CollidingKeys(f"{shared} keys share one hash")


class _Mark:
    """Stands at the head of an array until the array is complete."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[list[Any]], Any]) -> None:
        self.make = make


def _object_of(items: list[Any]) -> Any:
    if len(items) != 2 or type(items[1]) is not dict:
        raise MalformedRecord("an object is a name and its fields")
    name, fields = items
    return record_class(name).build(fields)


_MARKS: Final = {
    TUPLE: _Mark(tuple),
    SET: _Mark(lambda items: _set_of(items, set)),
    FROZENSET: _Mark(lambda items: _set_of(items, frozenset)),
    OBJECT: _Mark(_object_of),
}


class _Builder:
    """Makes tuples, sets and objects of marked arrays while msgpack reads one message."""

    __slots__ = ("open_marks",)

    def __init__(self) -> None:
        self.open_marks = 0

    def extension(self, code: int, data: bytes) -> Any:
        """A leaf, or a mark that waits for its array."""
        mark = _MARKS.get(code)
        if mark is None or data:
            return read_leaf(code, data)
        self.open_marks += 1
        return mark

    def array(self, items: list[Any]) -> Any:
        """The list itself, or what the mark at its head makes of the rest."""
        if not items or type(items[0]) is not _Mark:
            return items
        self.open_marks -= 1
        return items.pop(0).make(items)


def unpack(data: bytes) -> Any:
    """The value of *data*; see `decode`."""
    if len(data) > MESSAGE_BYTES_MAX:
        raise TooLarge(f"{len(data)} bytes, more than {MESSAGE_BYTES_MAX}")
    if needs_look(data):
        look(data)
    try:
        try:
            return _unpack(data, TRUSTED_LENGTH_MAX)
        except ValueError:
            # Either not one value at all, which the look tells, or an array that is long, of which
            # it makes sure that it is as long as it says.
            look(data)
            return _unpack(data, len(data))
    except UnicodeDecodeError as error:
        raise InvalidText(str(error)) from None


def _unpack(data: bytes, length_max: int) -> Any:
    # A mark has an empty payload; where these two bytes are missing there is none.
    if 0xC7 not in data or b"\xc7\x00" not in data:
        return unpackb(
            data,
            ext_hook=read_leaf,
            object_pairs_hook=_dict_of,
            strict_map_key=False,
            max_array_len=length_max,
            max_map_len=length_max,
        )
    builder = _Builder()
    value = unpackb(
        data,
        ext_hook=builder.extension,
        list_hook=builder.array,
        object_pairs_hook=_dict_of,
        strict_map_key=False,
        max_array_len=length_max,
        max_map_len=length_max,
    )
    if builder.open_marks:
        raise MisplacedMark("a mark that does not begin an array")
    return value


def decode(data: bytes) -> Any:
    """The value that `encode` made *data* of.

    Raises:
        MalformedBytes: the bytes are no value; the subclass tells why. Memory and time stay in
            proportion to the length of *data*, whatever it declares.
    """
    return unpack(data)

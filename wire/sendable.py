"""What may be sent: a fast look at the types, and a slow one that finds the path of a bad value.

msgpack alone is no judge: it also packs ``bytearray``, ``memoryview``, and its own ``Timestamp``
and ``ExtType``, silently and as something else. So every type is compared here, exactly: a subclass
would arrive as its base.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from .errors import UnsendableValue
from .extensions import WRITERS, TooMuch, Unfit
from .limits import DEPTH_MAX, MESSAGE_BYTES_MAX
from .names import RECORDS

SCALARS: Final = frozenset((type(None), bool, int, float, str, bytes))
"""The types that msgpack itself writes exactly (an int over 64 bits excepted)."""

# characters; the path of a longer key counts the values of its dict instead.
_KEY_SHOWN_MAX: Final = 80

_SEQUENCES: Final = frozenset((list, tuple, set, frozenset))

are_scalars: Final = SCALARS.issuperset
"""``are_scalars(map(type, values))`` runs at the speed of C."""


def check(value: Any) -> bool:
    """True if all of *value* can be written by msgpack alone, False if it needs what we add to it.

    Raises:
        Unfit: some part can not be written at all; `refusal` tells which.
    """
    return _check(value, 0, [MESSAGE_BYTES_MAX])


def _check(value: Any, depth: int, budget: list[int]) -> bool:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    parts: Iterable[Any] = ()
    plain = False
    if kind in SCALARS:
        return True
    if kind is dict:
        plain = True
        if not (are_scalars(map(type, value)) and are_scalars(map(type, value.values()))):
            parts = chain.from_iterable(value.items())
    elif kind in _SEQUENCES:
        plain = kind is list
        if not are_scalars(map(type, value)):
            parts = value
    elif kind in WRITERS:
        return False
    elif kind in RECORDS:
        value = RECORDS[kind].values(value)
        parts = value
    else:
        raise Unfit
    # Each element takes a byte at least; lists that share lists can have more than any memory.
    budget[0] -= len(value)
    if budget[0] < 0:
        raise TooMuch
    if depth >= DEPTH_MAX:
        raise Unfit
    for part in parts:
        if type(part) not in SCALARS and not _check(part, depth + 1, budget):
            plain = False
    return plain


def refusal(error: Exception, *roots: tuple[str, Any]) -> UnsendableValue:
    """The error that names the first part that cannot be written, in the order of the values.

    Args:
        error: What `check` or the packer raised about one of them.
        roots: Path and value, for each value that was to be written.
    """
    if isinstance(error, TooMuch):
        return UnsendableValue("$", f"takes more than {MESSAGE_BYTES_MAX} bytes")
    found = (_locate(value, path, []) for path, value in roots)
    return UnsendableValue(*next(filter(None, found)))


def _locate(value: Any, path: str, above: list[Any]) -> tuple[str, str] | None:
    reason = _reason(value, above)
    if reason is not None:
        return path, reason
    above.append(value)
    for step, part in _parts(value):
        found = _locate(part, path + step, above)
        if found is not None:
            return found
    above.pop()
    return None


def _reason(value: Any, above: list[Any]) -> str | None:
    """Why *value* cannot be written, leaving aside what it holds."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            return "a lone surrogate is no text"
    elif kind in SCALARS:
        pass
    elif kind in WRITERS:
        try:
            WRITERS[kind](value)
        except Unfit as error:
            return str(error)
    elif kind in _SEQUENCES or kind is dict or kind in RECORDS:
        if any(outer is value for outer in above):
            return "contains itself"
        if len(above) >= DEPTH_MAX:
            return f"nested deeper than {DEPTH_MAX} levels"
    else:
        return f"a value of type {kind.__module__}.{kind.__qualname__} cannot be sent"
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What *value* holds, each with its step of the path."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is list or kind is tuple:
        for place, part in enumerate(value):
            yield f"[{place}]", part
    elif kind is set or kind is frozenset:
        for part in value:
            # Without a number: the order of a set is not the same in the next process.
            yield ".elements", part
    elif kind is dict:
        for place, (key, part) in enumerate(value.items()):
            yield f".keys[{place}]", key
            yield _key_step(place, key), part
    elif kind in RECORDS:
        for name, part in zip(RECORDS[kind].names, RECORDS[kind].values(value), strict=True):
            yield f".{name}", part


def _key_step(place: int, key: Any) -> str:
    if type(key) is str and len(key) <= _KEY_SHOWN_MAX:
        return f"[{json.dumps(key)}]"
    if type(key) is int and -(2**63) <= key < 2**64:
        return f"[{key}]"
    return f".values[{place}]"

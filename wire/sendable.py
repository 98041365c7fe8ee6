"""What may be sent: a fast look at the types, and a slow one that finds the path of a bad value.

msgpack alone is no judge: it also packs ``bytearray``, ``memoryview``, and its own ``Timestamp``
and ``ExtType``, silently and as something else. So every type is compared here, exactly: a subclass
would arrive as its base.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .errors import UnsendableValue
from .extensions import WRITERS, Unfit
from .limits import DEPTH_MAX, MESSAGE_BYTES_MAX
from .names import RECORDS

SCALARS: Final = frozenset((type(None), bool, int, float, str, bytes))
"""The types that msgpack itself writes exactly (an int over 64 bits excepted)."""

_SEQUENCES: Final = frozenset((list, tuple, set, frozenset))

are_scalars: Final = SCALARS.issuperset
"""``are_scalars(map(type, values))`` runs at the speed of C."""


def check(value: Any) -> None:
    """Nothing happens if all of *value* can be written.

    Raises:
        Unfit: some part cannot; `locate` tells which.
    """
    _check(value, 0, [MESSAGE_BYTES_MAX])


def _check(value: Any, depth: int, budget: list[int]) -> None:
    kind = type(value)
    if kind in SCALARS:
        return
    if kind in _SEQUENCES:
        types = set(map(type, value))
        parts: Iterable[Any] = value
    elif kind is dict:
        types = set(map(type, value))
        types.update(map(type, value.values()))
        parts = _both(value)
    elif kind in WRITERS:
        return
    elif kind in RECORDS:
        fields = RECORDS[kind].fields(value)
        types = set(map(type, fields.values()))
        parts = fields.values()
    else:
        raise Unfit
    if depth >= DEPTH_MAX:
        raise Unfit
    # Each element takes a byte at least; lists that share lists can have more than any memory.
    budget[0] -= len(value) if kind not in RECORDS else 1
    if budget[0] < 0:
        raise Unfit
    if not types <= SCALARS:
        for part in parts:
            _check(part, depth + 1, budget)


def _both(value: dict[Any, Any]) -> Iterator[Any]:
    yield from value
    yield from value.values()


def refusal(*roots: tuple[str, Any]) -> UnsendableValue:
    """The error that names the first part that cannot be written, in the order of the values.

    Args:
        roots: Path and value, for each value that was to be written.
    """
    for path, value in roots:
        found = _locate(value, path, [])
        if found is not None:
            return UnsendableValue(*found)
    return UnsendableValue(roots[0][0], f"takes more than {MESSAGE_BYTES_MAX} bytes")


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
    kind = type(value)
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
    kind = type(value)
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
        for name, part in RECORDS[kind].fields(value).items():
            yield f".{name}", part


def _key_step(place: int, key: Any) -> str:
    if type(key) is str:
        return f"[{json.dumps(key)}]"
    if type(key) in SCALARS:
        return f"[{key!r}]"
    return f".values[{place}]"

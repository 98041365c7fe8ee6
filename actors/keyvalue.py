"""Ordered keys and values, in their synchronous forms.

Reads see all earlier writes of the object, awaited or not (KV-6). Values are encoded at the call,
so changing them later has no effect (KV-10).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..wire import ABSENT, Absent, decode, encode
from .layers import Layers

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["KeyValue"]

T = TypeVar("T")


class KeyValue:
    """The keys and values of one object."""

    def __init__(self, incarnation: "Incarnation", layers: Layers) -> None:
        self._incarnation = incarnation
        self._layers = layers

    @overload
    def get(self, key: str, default: Absent | None = None) -> Any: ...
    @overload
    def get(self, key: str, default: T) -> T: ...
    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under *key*, or *default*, whose type the value is taken to have.

        Raises:
            StorageFailed: it could not be read. Nothing changed; reading again may work.
        """
        if not self._incarnation.alive:
            self._incarnation.check()
        if type(key) is not str or not key.isascii():
            _check_key(key, "read")
        data = self._layers.get(key)
        return default if data is None else decode(data)

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return those of *keys* that exist, in key order (KV-2)."""
        self._check()
        asked = set(keys)
        for key in asked:
            _check_key(key, "read")
        found = ((key, self._layers.get(key)) for key in sorted(asked))
        return {key: decode(data) for key, data in found if data is not None}

    def put(self, key: str, value: Any, *, allow_unconfirmed: bool = False) -> None:
        """Store *value* under *key*.

        Args:
            key: any text without lone surrogates; keys are ordered by code point.
            value: anything that the wire carries; ABSENT is refused.
            allow_unconfirmed: replies and calls do not wait until this write is durable (OG-7). It
                may be lost after they have left.

        Raises:
            UnsendableValue: it cannot be stored. Nothing was written.
        """
        if not self._incarnation.alive:
            self._incarnation.check()
        if value is ABSENT:
            raise TypeError(f"ABSENT is no value to store under {key!r}: nothing was written")
        if type(key) is not str or not key.isascii():
            _check_key(key, "written")
        self._layers.top.writes[key] = encode(value)
        self._incarnation.wrote(confirmed=not allow_unconfirmed)

    def put_many(
        self,
        entries: Mapping[str, Any],
        *,
        allow_unconfirmed: bool = False,
    ) -> None:
        """Store all of *entries*, or none if one cannot be stored. ABSENT values are skipped."""
        self._check()
        encoded: dict[str, bytes | None] = {}
        for key, value in entries.items():
            if value is ABSENT:
                continue
            _check_key(key, "written")
            encoded[key] = encode(value)
        if encoded:
            self._write(encoded, confirmed=not allow_unconfirmed)

    def delete(self, key: str, *, allow_unconfirmed: bool = False) -> bool:
        """Delete *key*; returns whether it existed."""
        return self.delete_many((key,), allow_unconfirmed=allow_unconfirmed) == 1

    def delete_many(self, keys: Iterable[str], *, allow_unconfirmed: bool = False) -> int:
        """Delete *keys*; returns how many of them existed, a repeated one counted once."""
        self._check()
        asked = tuple(keys)
        for key in asked:
            _check_key(key, "deleted")
        gone: dict[str, bytes | None] = {
            key: None for key in asked if self._layers.get(key) is not None
        }
        if gone:
            self._write(gone, confirmed=not allow_unconfirmed)
        return len(gone)

    def list(
        self,
        *,
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        prefix: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """Return keys and values in key order, by code point (KV-3, KV-5).

        Args:
            start: first key, inclusive.
            start_after: first key, exclusive; not together with *start*.
            end: last key, exclusive.
            prefix: only keys that begin so.
            reverse: from the last key to the first.
            limit: at most so many, counted after ordering; positive.

        Raises:
            TypeError, ValueError: a bound is no text. Nothing was read.
        """
        self._check()
        for bound in (start, start_after, end, prefix):
            if bound is not None:
                _check_key(bound, "read")
        if start is not None and start_after is not None:
            raise TypeError("list() cannot be called with both start and start_after values.")
        if limit is not None and limit < 1:
            raise TypeError("List limit must be positive.")
        low = start if start_after is None else start_after + "\0"
        high = end
        if prefix:
            low = prefix if low is None or low < prefix else low
            past = _past(prefix)
            high = past if high is None or (past is not None and past < high) else high
        found: dict[str, Any] = {}
        if low is not None and high is not None and low >= high:
            return found
        for key, data in self._layers.scan(low, high, reverse=reverse):
            found[key] = decode(data)
            if limit is not None and len(found) >= limit:
                break
        return found

    def _check(self) -> None:
        self._incarnation.check()

    def _write(self, encoded: Mapping[str, bytes | None], *, confirmed: bool) -> None:
        self._layers.top.writes.update(encoded)
        self._incarnation.wrote(confirmed=confirmed)


def _check_key(key: object, done: str) -> None:
    # Each store would say something else, or nothing: SQLite orders numbers before all texts.
    if type(key) is not str:
        raise TypeError(f"a key is a str, not {type(key).__name__}: nothing was {done}")
    if key.isascii():
        return
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the key {key!r} is no text: nothing was {done}") from None


def _past(prefix: str) -> str | None:
    """The first text after all that begin with *prefix*, or None if there is none."""
    for place in range(len(prefix) - 1, -1, -1):
        point = ord(prefix[place])
        if point < 0x10FFFF:
            following = point + 1
            if 0xD800 <= following <= 0xDFFF:
                following = 0xE000
            return prefix[:place] + chr(following)
    return None

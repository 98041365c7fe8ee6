"""The stored state of an object that keeps nothing: it lives and dies with the incarnation."""

from collections.abc import Callable, Iterable

from sortedcontainers import SortedDict

from ..wire import Absent
from .ports import Commit

__all__ = ["FleetingStore"]


class FleetingStore:
    """The `ObjectStore` of an object of a `durable=False` class. Every commit succeeds at once."""

    __slots__ = ("_alarm", "_keys")

    def __init__(self) -> None:
        self._keys: SortedDict[str, bytes] = SortedDict()
        self._alarm: int | None = None

    def get(self, key: str) -> bytes | None:
        """Return the value under *key*, or None."""
        value: bytes | None = self._keys.get(key)
        return value

    def scan(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterable[tuple[str, bytes]]:
        """Yield keys from *start* (inclusive) to *end* (exclusive) in key order."""
        for key in list(self._keys.irange(start, end, (True, False), reverse=reverse)):
            yield key, self._keys[key]

    def alarm(self) -> int | None:
        """Return the alarm, microseconds since 1970 UTC."""
        return self._alarm

    def commit(self, commit: Commit, done: Callable[[Exception | None], None]) -> None:
        """Apply *commit*."""
        if commit.clears:
            self._keys.clear()
            self._alarm = None
        for key, value in commit.writes.items():
            if value is None:
                self._keys.pop(key, None)
            else:
                self._keys[key] = value
        if not isinstance(commit.alarm, Absent):
            self._alarm = commit.alarm
        done(None)

    def close(self) -> None:
        """Forget everything."""
        self._keys.clear()
        self._alarm = None

"""What has been written and is not committed: the turn's own writes, and open transactions above.

Layer 0 holds the writes of the turn. Each open transaction adds a layer; committing it merges it
into the one below, rolling it back drops it. Reads look from the top down, then into the store.
"""

from collections.abc import Iterator
from heapq import merge
from operator import itemgetter

from ..wire import ABSENT, Absent
from .errors import StorageFailed
from .ports import Commit, ObjectStore, SqlSession

__all__ = ["Layer", "Layers"]


class Layer:
    """Writes that stand or fall together. A value of None means that the key is deleted."""

    __slots__ = ("alarm", "sql", "writes")

    def __init__(self) -> None:
        self.sql = False
        self.writes: dict[str, bytes | None] = {}
        self.alarm: int | None | Absent = ABSENT


class Layers:
    """All layers of one object over its store."""

    __slots__ = ("_cleared", "_stack", "_store", "alarm_hidden", "session", "turn")

    def __init__(self, store: ObjectStore, session: SqlSession | None = None) -> None:
        self._store = store
        self.session = session
        self.turn = Layer()
        self._stack = [self.turn]
        self._cleared = False
        self.alarm_hidden = False
        """Whether the stored alarm is the one whose handler runs: it then reads as none (AL-5)."""

    @property
    def top(self) -> Layer:
        """Where a write goes."""
        return self._stack[-1]

    @property
    def depth(self) -> int:
        """How many transactions are open."""
        return len(self._stack) - 1

    def get(self, key: str) -> bytes | None:
        """Return what a reader sees under *key*."""
        writes = self.turn.writes
        if len(self._stack) > 1:
            for layer in reversed(self._stack):
                if key in layer.writes:
                    return layer.writes[key]
        elif writes and key in writes:
            return writes[key]
        return None if self._cleared else self._store.get(key)

    def scan(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterator[tuple[str, bytes]]:
        """Yield what a reader sees from *start* (inclusive) to *end* (exclusive), in key order."""
        written: dict[str, bytes | None] = {}
        for layer in self._stack:
            written.update(layer.writes)
        stored = iter(()) if self._cleared else iter(self._store.scan(start, end, reverse=reverse))
        if not written:
            yield from stored
            return
        kept = ((key, value) for key, value in stored if key not in written)
        fresh = (
            (key, value)
            for key, value in sorted(written.items(), reverse=reverse, key=itemgetter(0))
            if value is not None and (start is None or key >= start) and (end is None or key < end)
        )
        yield from merge(kept, fresh, key=itemgetter(0), reverse=reverse)

    def alarm(self) -> int | None:
        """Return the alarm that a reader sees, microseconds since 1970 UTC."""
        for layer in reversed(self._stack):
            if not isinstance(layer.alarm, Absent):
                return layer.alarm
        return None if self.alarm_hidden or self._cleared else self._store.alarm()

    def keeps(self, alarm: int | None) -> bool:
        """Whether *alarm* is stored, although its commit is said to have failed."""
        try:
            return self._store.alarm() == alarm
        except StorageFailed:
            return False

    def clear(self) -> None:
        """Drop everything, the alarm included."""
        self._cleared = True
        self.turn.writes.clear()
        self.turn.alarm = None
        if self.session is not None:
            self.session.clear()
            self.turn.sql = True

    def push(self) -> Layer:
        """Open a transaction and return its layer."""
        layer = Layer()
        self._stack.append(layer)
        if self.session is not None:
            self.session.save(self.depth)
        return layer

    def pop(self, layer: Layer, *, keep: bool) -> bool:
        """Close the transaction of *layer*; its writes go to the layer below, or nowhere.

        Returns whether anything went to the layer below.
        """
        place = self._stack.index(layer)
        del self._stack[place]
        if self.session is not None:
            self.session.end_save(place, keep=keep)
        if not keep or not (layer.writes or layer.sql or layer.alarm is not ABSENT):
            return False
        below = self._stack[place - 1]
        below.sql |= layer.sql
        below.writes.update(layer.writes)
        if layer.alarm is not ABSENT:
            below.alarm = layer.alarm
        return True

    def undo(self, layer: Layer) -> None:
        """Drop what was written in *layer*, which stays open."""
        layer.writes.clear()
        layer.alarm = ABSENT
        if self.session is not None and layer.sql:
            depth = self._stack.index(layer)
            self.session.end_save(depth, keep=False)
            self.session.save(depth)
        layer.sql = False

    def seal(self, number: int) -> Commit:
        """Take the writes of the turn as one commit."""
        turn = self.turn
        alarm = turn.alarm
        commit = Commit(number, turn.writes, alarm, self._cleared, turn.sql)
        if alarm is not ABSENT:
            self.alarm_hidden = False
        self.turn = self._stack[0] = Layer()
        self._cleared = False
        return commit

"""What happened, in order, and its hash.

An event is a row: number, virtual microseconds, kind, actor, incarnation, detail. `docs/trace.md`
lists the kinds. The digest is over all rows; the rows kept are the last ones.
"""

from collections import deque
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["Row", "Trace"]

FLUSH_ROWS = 256
"""Rows hashed at once: hashing each alone costs twice as much."""


class Row(NamedTuple):
    """One event.

    Attributes:
        number: from 1, without gaps.
        time_us: virtual microseconds since the world began.
        kind: what happened.
        actor: whom it happened to.
        incarnation: which incarnation of it, 0 if it has none.
        detail: the rest, by kind: text, numbers, bytes, None, and tuples of those.
    """

    number: int
    time_us: int
    kind: str
    actor: str
    incarnation: int
    detail: tuple[Any, ...]


class Trace:
    """The events of one run."""

    __slots__ = ("_hash", "_kernel", "_pending", "count", "rows", "watchers")

    def __init__(self, kernel: "Kernel", *, keep: int) -> None:
        """Begin; the last *keep* rows stay readable."""
        self.count = 0
        self.rows: deque[Row] = deque(maxlen=keep)
        self.watchers: dict[str, list[Callable[[Row], None]]] = {}
        self._kernel = kernel
        self._pending: list[Row] = []
        self._hash = sha256()

    def add(self, kind: str, actor: str, incarnation: int, *detail: Any) -> None:
        """Note an event. Detail must be the same in every process: no addresses, no messages of
        Python's own exceptions."""
        self.count = number = self.count + 1
        row = Row(number, self._kernel.now_us, kind, actor, incarnation, detail)
        self.rows.append(row)
        pending = self._pending
        pending.append(row)
        if len(pending) >= FLUSH_ROWS:
            self._flush()
        watchers = self.watchers.get(kind)
        if watchers is not None:
            for watch in watchers:
                watch(row)

    @property
    def now_us(self) -> int:
        """Virtual microseconds."""
        return self._kernel.now_us

    def digest(self) -> str:
        """Return the hash of everything so far, 64 hex digits."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        if self._pending:
            self._hash.update(msgpack.packb(self._pending))
            self._pending.clear()

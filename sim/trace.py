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

FLUSH_MASK = 0xFF
"""Rows are hashed 256 at once: hashing each alone costs twice as much."""


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

    __slots__ = (
        "_hash",
        "_hashed_as",
        "_kept",
        "_kernel",
        "_pending",
        "_sealed",
        "count",
        "watchers",
    )

    def __init__(self, kernel: "Kernel", *, keep: int) -> None:
        """Begin; the last *keep* rows stay readable."""
        self.count = 0
        self._kept: deque[tuple[Any, ...]] = deque(maxlen=keep)
        self.watchers: dict[str, list[Callable[[Row], None]]] = {}
        self._kernel = kernel
        self._pending: list[tuple[Any, ...]] = []
        self._hash = sha256()
        self._hashed_as: dict[int, tuple[Any, ...]] = {}
        self._sealed: int | None = None

    def add(self, kind: str, actor: str, incarnation: int, *detail: Any) -> None:
        """Note an event. Detail must be the same in every process: no addresses, no messages of
        Python's own exceptions (but see `hash_next_as`)."""
        self.count = number = self.count + 1
        # A plain tuple: making a Row costs five times as much, and few are ever looked at.
        row = (number, self._kernel.now_us, kind, actor, incarnation, detail)
        self._pending.append(row)
        if not number & FLUSH_MASK:
            self._flush()
        watchers = self.watchers
        if watchers and kind in watchers:
            event = Row._make(row)
            for watch in watchers[kind]:
                watch(event)

    def hash_next_as(self, *detail: Any) -> None:
        """Let *detail* go into the digest for the row that is added next, instead of its own."""
        self._hashed_as[self.count + 1] = detail

    @property
    def now_us(self) -> int:
        """Virtual microseconds."""
        return self._kernel.now_us

    @property
    def rows(self) -> tuple[Row, ...]:
        """The last events, as many as are kept."""
        self._flush()
        return tuple(map(Row._make, self._kept))

    def seal(self) -> None:
        """Let this be the end: what is added later is no part of it, and nobody watches it."""
        self._flush()
        self._sealed = self.count
        self.watchers.clear()

    @property
    def is_sealed(self) -> bool:
        """Whether the run has ended."""
        return self._sealed is not None

    @property
    def length(self) -> int:
        """How many events there were, up to the seal."""
        return self.count if self._sealed is None else self._sealed

    def digest(self) -> str:
        """Return the hash of everything so far, 64 hex digits."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        if self._pending:
            if self._sealed is None:
                rows = self._pending
                if self._hashed_as:
                    instead = self._hashed_as
                    rows = [(*row[:5], instead.get(row[0], row[5])) for row in rows]
                    instead.clear()
                self._hash.update(msgpack.packb(rows))
                self._kept.extend(self._pending)
            self._pending.clear()

"""What a member runs at the moment, and what became of what it submitted to its container.

Counters are memory, and lost with the incarnation; a native row is stored before anything is
submitted, and its outcome is apart from the request's permit. Source: spec/deploy-fence.md B.2,
P17.5.
"""

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

from ..storage import Storage
from .documents import as_mapping

__all__ = ["InFlight", "NativeOutcome", "NativeRows"]

NATIVE: Final = "native:"

NativeOutcome = Literal["pending", "completed", "unknown"]


class InFlight:
    """How many operations run in this incarnation, by thread; refresh steps have none."""

    __slots__ = ("_begun", "_steps", "_threads")

    def __init__(self) -> None:
        self._threads: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._steps = 0

    @contextmanager
    def on(self, thread: str) -> Generator[None]:
        """Count one operation on *thread* while the block runs."""
        self._threads[thread] += 1
        self._begun[thread] += 1
        try:
            yield
        finally:
            self._threads[thread] -= 1
            if not self._threads[thread]:
                del self._threads[thread]

    @contextmanager
    def step(self) -> Generator[None]:
        """Count one step that belongs to no thread while the block runs."""
        self._steps += 1
        try:
            yield
        finally:
            self._steps -= 1

    def threads(self) -> list[str]:
        """Return the threads on which something runs, in order."""
        return sorted(self._threads)

    def count(self) -> int:
        """Return how many operations and steps run."""
        return self._threads.total() + self._steps

    def begun_on(self, thread: str) -> int:
        """Return how many operations on *thread* this incarnation has begun."""
        return self._begun[thread]

    def others_on(self, thread: str) -> bool:
        """Whether another operation than that of whoever asks runs on *thread*."""
        return self._threads[thread] > 1

    def is_on(self, thread: str) -> bool:
        """Whether an operation runs on *thread*."""
        return thread in self._threads


class NativeRows:
    """What was submitted to the container, and how it ended as far as the member was told."""

    __slots__ = ("_kv",)

    def __init__(self, storage: Storage) -> None:
        self._kv = storage.kv

    def submitted(self, operation: str, permit: str, thread: str, now: int) -> None:
        """Store that *operation* is about to be submitted under *permit*."""
        row = {
            "opId": operation,
            "permitId": permit,
            "thread": thread,
            "submittedAt": now,
            "outcome": "pending",
        }
        self._kv.put(NATIVE + operation, row)

    def withdrawn(self, operation: str) -> None:
        """Forget *operation*, which certainly never ran."""
        self._kv.delete(NATIVE + operation)

    def note(self, operation: str, outcome: NativeOutcome) -> bool:
        """Store *outcome*; returns whether it did. What has completed stays completed."""
        row = self._row(operation)
        if row is None or row.get("outcome") == "completed":
            return False
        self._kv.put(NATIVE + operation, {**row, "outcome": outcome})
        return True

    def is_open_on(self, thread: str) -> bool:
        """Whether something submitted for *thread* has not completed, for all the member knows."""
        rows = (as_mapping(raw) for raw in self._kv.list(prefix=NATIVE).values())
        return any(
            row is None
            or (row.get("thread", thread) == thread and row.get("outcome") != "completed")
            for row in rows
        )

    def _row(self, operation: str) -> Mapping[str, Any] | None:
        return as_mapping(self._kv.get(NATIVE + operation))

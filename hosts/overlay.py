"""What has been committed by one object and is not yet durable, laid over what the file holds.

Each commit gets the next serial. What it wrote stays here until it has ended, so a reader always
sees, for every key, the newest commit: from here if it is under way, else from the file. When a
commit ends only what no later commit has replaced is dropped; the file holds it by then.

If a commit fails, every later one of the object stands on it. All of them fail, whichever
incarnation made them: that is the *epoch*, counted up when the failure is known.
"""

from collections.abc import Iterator

from ..actors import Commit
from ..wire import ABSENT, Absent, Address
from .fileformat import seed_sum


class Overlay:
    """The commits under way of one object. Used by the trio thread, but for `failed_epoch`."""

    __slots__ = (
        "_alarm",
        "_cleared",
        "_writes",
        "address",
        "epoch",
        "failed_epoch",
        "handles",
        "serial",
        "settled",
        "sum",
    )

    def __init__(self, address: Address) -> None:
        self.address = address
        self.sum = seed_sum(address.kind, address.name)
        self.epoch = 1
        self.failed_epoch = 0
        """The newest epoch with a failed commit. Belongs to the thread that writes."""
        self.handles = 0
        """How many incarnations have the object open."""
        self.serial = 0
        self.settled = 0
        self._writes: dict[str, tuple[int, bytes | None]] = {}
        self._cleared = 0
        self._alarm: tuple[int, int | None] | None = None

    @property
    def pending(self) -> int:
        """How many commits are under way."""
        return self.serial - self.settled

    @property
    def hides_file(self) -> bool:
        """Whether nothing in the file counts any more."""
        return self._cleared > 0

    def add(self, commit: Commit) -> int:
        """Lay *commit* on top and return its serial."""
        self.serial = serial = self.serial + 1
        if commit.clears:
            self._writes.clear()
            self._cleared = serial
            self._alarm = (serial, None)
        for key, value in commit.writes.items():
            self._writes[key] = (serial, value)
        if not isinstance(commit.alarm, Absent):
            self._alarm = (serial, commit.alarm)
        return serial

    def settle(self, commit: Commit, serial: int) -> None:
        """Drop what *commit* laid on top: it has ended."""
        self.settled += 1
        writes = self._writes
        for key in commit.writes:
            entry = writes.get(key)
            if entry is not None and entry[0] == serial:
                del writes[key]
        if self._cleared == serial:
            self._cleared = 0
        if self._alarm is not None and self._alarm[0] == serial:
            self._alarm = None

    def fail(self, epoch: int) -> None:
        """A commit of *epoch* failed: drop all that is under way, for none will be stored."""
        if epoch == self.epoch:
            self.epoch += 1
            self._writes.clear()
            self._cleared = 0
            self._alarm = None

    def get(self, key: str) -> bytes | None | Absent:
        """Return the value under *key*, None if it is deleted, ABSENT if the file decides."""
        entry = self._writes.get(key)
        if entry is not None:
            return entry[1]
        return None if self._cleared else ABSENT

    def alarm(self) -> int | None | Absent:
        """Return the alarm, None if it is deleted, ABSENT if the file decides."""
        return ABSENT if self._alarm is None else self._alarm[1]

    def entries(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> list[tuple[str, bytes | None]]:
        """Return the keys here from *start* (inclusive) to *end* (exclusive), in key order."""
        if not self._writes:
            return []
        return sorted(
            (
                (key, value)
                for key, (_, value) in self._writes.items()
                if (start is None or key >= start) and (end is None or key < end)
            ),
            reverse=reverse,
        )


def merged(
    stored: Iterator[tuple[str, bytes]],
    laid: list[tuple[str, bytes | None]],
    *,
    reverse: bool,
) -> Iterator[tuple[str, bytes]]:
    """Yield *stored* with *laid* over it. Both are in key order already."""
    place, count = 0, len(laid)
    for key, value in stored:
        while place < count and (laid[place][0] > key if reverse else laid[place][0] < key):
            above, fresh = laid[place]
            place += 1
            if fresh is not None:
                yield above, fresh
        if place < count and laid[place][0] == key:
            # The newest value, or nothing if the key is deleted.
            continue
        yield key, value
    for above, fresh in laid[place:]:
        if fresh is not None:
            yield above, fresh

"""The `Store` of an embedded host: every object's keys and alarm in one SQLite file.

Reads are made in the trio thread, by a connection of its own over which the commits under way are
laid; writes go to the thread of `writer.py`. So nothing waits for the disk but the output gates.
"""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import trio

from ..actors import Commit, StorageFailed
from ..wire import Absent, Address
from .errors import DATABASE_ERRORS, HostFileCorrupt, StoreError, file_error
from .fileformat import (
    alarm_sum,
    check_path,
    entry_sum,
    open_reader,
    open_writer,
    seed_sum,
)
from .filelock import FileLock
from .overlay import Overlay, merged
from .writer import GroupWriter, Job, Outcome

PAGE_ENTRIES_MAX = 256
"""Entries read from the file at once by a scan: few wasted if the reader stops early."""


@attrs.frozen(kw_only=True)
class StoreStatistics:
    """Numbers of one store since it was opened.

    Attributes:
        commits: durable commits.
        commits_failed: commits that failed or whose outcome nobody knows.
        commits_pending: commits under way.
        groups: transactions of the file that held at least one durable commit.
        group_commits_max: most commits in one of them.
    """

    commits: int
    commits_failed: int
    commits_pending: int
    groups: int
    group_commits_max: int


class SqliteStore:
    """All objects of one host, in the file at *path* and nobody else's until `close`."""

    def __init__(self, path: Path | str, *, crashed: Callable[[BaseException], None]) -> None:
        """Open the file in this trio thread, and make it if it does not exist.

        Args:
            path: of the file; the folder must exist.
            crashed: called in the trio thread if a bug stops the store; no commit ends after it.

        Raises:
            StoreError: the file cannot be used; one class for each reason. It is as it was.
        """
        self.path = Path(path).resolve()
        check_path(self.path)
        self._lock = FileLock(self.path)
        try:
            writer = open_writer(self.path)
            try:
                self._reader = open_reader(self.path)
            except BaseException:
                writer.close()
                raise
        except BaseException:
            self._lock.release()
            raise
        self._overlays: dict[Address, Overlay] = {}
        self._crashed = crashed
        self._commits = self._commits_failed = self._pending = 0
        self._groups = self._group_commits_max = 0
        self._idle = trio.Event()
        self._untold: deque[Outcome] = deque()
        self._is_open = True
        self._writer = GroupWriter(writer, str(self.path), ended=self._ended, crashed=crashed)

    def open(self, address: Address) -> "SqliteObjectStore":
        """Return the stored state of *address*, empty if it has none.

        Commits of an earlier incarnation that are under way, as after a reset, are waited for: the
        new one must not answer from what a crash could take back. That blocks for one write.

        Raises:
            StoreError: the file cannot be written any more. Nothing was opened.
        """
        overlay = self._overlays.get(address)
        if overlay is not None and overlay.pending:
            self._writer.catch_up()
            self._absorb()
            overlay = self._overlays.get(address)
        if overlay is None:
            overlay = self._overlays[address] = Overlay(address)
        overlay.handles += 1
        return SqliteObjectStore(self, overlay)

    def alarms(self) -> Iterator[tuple[Address, int]]:
        """Yield every object that has an alarm, with its time, ordered by address.

        Raises:
            StoreError: the file cannot be read. Nothing changed.
        """
        found: dict[Address, int | None] = {}
        for kind, name, time, stored in self.select("SELECT kind, name, time, sum FROM alarms"):
            if alarm_sum(seed_sum(kind, name), time) != stored:
                raise HostFileCorrupt(f"{self.path}: the alarm of {kind}/{name} is damaged")
            found[Address(kind, name)] = time
        for address, overlay in self._overlays.items():
            if not isinstance(alarm := overlay.alarm(), Absent):
                found[address] = alarm
        for address in sorted(found):
            if (time := found[address]) is not None:
                yield address, time

    def statistics(self) -> StoreStatistics:
        """Return the numbers of this store now."""
        return StoreStatistics(
            commits=self._commits,
            commits_failed=self._commits_failed,
            commits_pending=self._pending,
            groups=self._groups,
            group_commits_max=self._group_commits_max,
        )

    async def flush(self) -> None:
        """Wait until no commit is under way."""
        while self._pending or self._untold:
            self._idle = trio.Event()
            await self._idle.wait()

    async def close(self) -> None:
        """Write what is queued, close the file and give it back. Nothing may be asked after it."""
        if self._is_open:
            self._is_open = False
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._writer.stop)
            self._reader.close()
            self._lock.release()

    def submit(self, job: Job) -> None:
        """Hand *job* to the writer."""
        self._pending += 1
        self._writer.submit(job)

    def release(self, overlay: Overlay) -> None:
        """One incarnation less has the object of *overlay* open."""
        overlay.handles -= 1
        self._forget(overlay)

    def select(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query.

        Raises:
            StoreError: the file could not be read. Nothing changed.
        """
        try:
            return self._reader.execute(sql, parameters).fetchall()
        except DATABASE_ERRORS as error:
            raise file_error(str(self.path), error) from error

    def _absorb(self) -> None:
        """Take over what has ended. Who waits for it is told later, in no task: by `_ended`."""
        for outcomes in self._writer.take():
            durable = 0
            for job, error in outcomes:
                overlay = job.overlay
                overlay.settle(job.commit, job.serial)
                self._pending -= 1
                if error is None:
                    durable += 1
                else:
                    self._commits_failed += 1
                    overlay.fail(job.epoch)
                self._forget(overlay)
            self._commits += durable
            self._groups += durable > 0
            self._group_commits_max = max(self._group_commits_max, durable)
            self._untold.extend(outcomes)

    def _ended(self) -> None:
        self._absorb()
        while self._untold:
            job, error = self._untold.popleft()
            try:
                job.done(error)
            except BaseException as bug:
                self._crashed(bug)
        if not self._pending:
            self._idle.set()

    def _forget(self, overlay: Overlay) -> None:
        if not overlay.handles and not overlay.pending:
            self._overlays.pop(overlay.address, None)


class SqliteObjectStore:
    """The stored state of one object, opened by one incarnation."""

    __slots__ = ("_epoch", "_is_open", "_overlay", "_store")

    def __init__(self, store: SqliteStore, overlay: Overlay) -> None:
        self._store = store
        self._overlay = overlay
        self._epoch = overlay.epoch
        self._is_open = True

    def get(self, key: str) -> bytes | None:
        """Return the value stored under *key*, or None.

        Raises:
            StorageFailed: it could not be read. Nothing changed; reading again may work.
        """
        laid = self._overlay.get(key)
        if not isinstance(laid, Absent):
            return laid
        kind, name = self._overlay.address
        for value, stored in self._select(
            "SELECT value, sum FROM entries WHERE kind = ? AND name = ? AND key = ?",
            kind, name, key,
        ):  # fmt: skip
            return self._verified(key, value, stored)
        return None

    def scan(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterator[tuple[str, bytes]]:
        """Yield keys from *start* (inclusive) to *end* (exclusive) in code point order.

        What is committed while it is read may or may not be seen.

        Raises:
            StorageFailed: as `get`.
        """
        overlay = self._overlay
        laid = overlay.entries(start, end, reverse=reverse)
        stored = iter(()) if overlay.hides_file else self._pages(start, end, reverse=reverse)
        return merged(stored, laid, reverse=reverse) if laid else stored

    def alarm(self) -> int | None:
        """Return the stored alarm, microseconds since 1970 UTC.

        Raises:
            StorageFailed: as `get`.
        """
        laid = self._overlay.alarm()
        if not isinstance(laid, Absent):
            return laid
        kind, name = self._overlay.address
        for time, stored in self._select(
            "SELECT time, sum FROM alarms WHERE kind = ? AND name = ?", kind, name
        ):
            if alarm_sum(self._overlay.sum, time) != stored:
                raise StorageFailed(self._overlay.address, "the stored alarm is damaged")
            return int(time)
        return None

    def commit(self, commit: Commit, done: Callable[[Exception | None], None]) -> None:
        """Make *commit* durable and call *done* later, in no task.

        *done* gets None after COMMIT has returned, CommitFailed if nothing of it is stored, and
        CommitUncertain if nobody can say. After an error every further commit fails.
        """
        overlay = self._overlay
        epoch = self._epoch
        if epoch == overlay.epoch:
            serial = overlay.add(commit)
        else:
            # It stands on a commit that failed: the writer will say so, in its order.
            overlay.serial = serial = overlay.serial + 1
        self._store.submit(Job(overlay, commit, serial, epoch, done))

    def close(self) -> None:
        """Give the object back. Commits under way still end; nothing else may be asked."""
        if self._is_open:
            self._is_open = False
            self._store.release(self._overlay)

    def _pages(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterator[tuple[str, bytes]]:
        # A page at a time, each in a statement of its own: a cursor left open by a reader that
        # stops early would keep the write-ahead log from being reset.
        kind, name = self._overlay.address
        order = "DESC" if reverse else "ASC"
        low, high = start, end
        low_sign = ">="
        while True:
            conditions = ["kind = ?", "name = ?"]
            bounds: list[object] = [kind, name]
            if low is not None:
                conditions.append(f"key {low_sign} ?")
                bounds.append(low)
            if high is not None:
                conditions.append("key < ?")
                bounds.append(high)
            rows = self._select(
                f"SELECT key, value, sum FROM entries WHERE {' AND '.join(conditions)}"
                f" ORDER BY key {order} LIMIT {PAGE_ENTRIES_MAX}",
                *bounds,
            )
            for key, value, stored in rows:
                yield key, self._verified(key, value, stored)
            if len(rows) < PAGE_ENTRIES_MAX:
                return
            if reverse:
                high = rows[-1][0]
            else:
                low, low_sign = rows[-1][0], ">"

    def _select(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        try:
            return self._store.select(sql, *parameters)
        except StoreError as error:
            raise StorageFailed(self._overlay.address, str(error)) from error

    def _verified(self, key: str, value: bytes, stored: int) -> bytes:
        if entry_sum(self._overlay.sum, key, value) != stored:
            raise StorageFailed(self._overlay.address, f"the value under {key!r} is damaged")
        return value

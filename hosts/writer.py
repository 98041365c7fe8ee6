"""One thread that makes commits durable, as many at a time as are waiting.

While one group is written the next one gathers: with an fsync of a millisecond a hundred busy
objects pay for one of them, not for a hundred (DeWitt and others, 1984: group commit). A commit is
reported when COMMIT has returned, never before, and each object's commits in the order made.

A group that fails is rolled back and its commits are tried each alone, so that a bad one does not
take others down. Only if COMMIT itself fails for another reason than a full disk is the outcome
unknown; then the next transaction is written over the doubtful bytes before anything is reported.
A file that was deleted or replaced under the host takes no commit.
"""

import contextlib
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Thread
from typing import NamedTuple

import trio

from ..actors import Commit
from ..wire import Absent
from .errors import CommitFailed, CommitUncertain, StoreError, file_error, primary_code
from .fileformat import FORMAT, alarm_sum, entry_sum
from .filepresence import FilePresence
from .overlay import Overlay

GROUP_COMMITS_MAX = 512
"""Commits in one transaction: the first of a group waits some milliseconds for the last."""

GROUP_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of values in one transaction, so that the write-ahead log stays near its usual size."""

CATCH_UP_LOOK_S = 1.0
"""Seconds between two looks at whether the thread still lives, while it is waited for."""


class Job(NamedTuple):
    """A commit on its way to the file."""

    overlay: Overlay
    commit: Commit
    serial: int
    epoch: int
    done: Callable[[Exception | None], None]


Outcome = tuple[Job, Exception | None]


class GroupWriter:
    """The thread, its connection and its queue. Made and used in the trio thread."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: str,
        *,
        ended: Callable[[], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        """Start the thread.

        Args:
            connection: belongs to the thread until `stop` returns, which closes it.
            path: for messages.
            ended: called in the trio thread when there is something to `take`.
            crashed: called in the trio thread if the thread dies of a bug.
        """
        self._connection = connection
        self._path = path
        self._presence = FilePresence(path)
        self._ended = ended
        self._crashed = crashed
        self._queue: SimpleQueue[Job | Event] = SimpleQueue()
        self._outcomes: deque[list[Outcome]] = deque()
        self._is_stopping = False
        self._token = trio.lowlevel.current_trio_token()
        self._thread = Thread(target=self._run, name=f"durasim writer of {path}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue *job* behind all others."""
        self._queue.put(job)

    def take(self) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each group that has ended and was not taken yet, in order."""
        while self._outcomes:
            yield self._outcomes.popleft()

    def catch_up(self) -> None:
        """Block until all that is queued has ended; the outcomes are there to `take`.

        Raises:
            StoreError: the thread has died of a bug. What had not ended may be stored or not.
        """
        mark = Event()
        self._queue.put(mark)
        while not mark.wait(CATCH_UP_LOOK_S):
            if not self._thread.is_alive():
                raise StoreError(f"{self._path}: the thread that writes has died; reopen the host")

    def stop(self) -> None:
        """Write what is queued, close the connection and end the thread. Blocks until then."""
        self._is_stopping = True
        self._queue.put(Event())
        self._thread.join()

    def _run(self) -> None:
        try:
            mark = None
            while mark is None or not self._is_stopping:
                group, mark = self._gather()
                if group:
                    self._report(self._write(group))
                if mark is not None:
                    mark.set()
        except BaseException as error:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._crashed, error)
        finally:
            self._connection.close()

    def _gather(self) -> tuple[list[Job], Event | None]:
        """Wait for a job; return it with those behind it, and the mark that ended them, if any."""
        group: list[Job] = []
        size = 0
        item = self._queue.get()
        while isinstance(item, Job):
            group.append(item)
            size += _size(item)
            if len(group) >= GROUP_COMMITS_MAX or size >= GROUP_BYTES_MAX or self._queue.empty():
                return group, None
            item = self._queue.get()
        return group, item

    def _report(self, outcomes: list[Outcome]) -> None:
        self._outcomes.append(outcomes)
        # After the run has ended nobody is left to be told; what is durable stays so.
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._ended)

    def _write(self, group: list[Job]) -> list[Outcome]:
        if len(group) > 1 and all(job.epoch > job.overlay.failed_epoch for job in group):
            error = self._transaction(group)
            if error is None:
                return [(job, None) for job in group]
            if isinstance(error, CommitUncertain):
                return [self._failed(job, error) for job in group]
        return [self._write_alone(job) for job in group]

    def _write_alone(self, job: Job) -> Outcome:
        if job.epoch <= job.overlay.failed_epoch:
            return job, CommitFailed(
                f"{self._path}: nothing of this commit of {job.overlay.address} is stored, since "
                "one before it failed"
            )
        error = self._transaction([job])
        return (job, None) if error is None else self._failed(job, error)

    def _failed(self, job: Job, error: CommitFailed | CommitUncertain) -> Outcome:
        job.overlay.failed_epoch = job.epoch
        return job, error

    def _transaction(self, jobs: list[Job]) -> CommitFailed | CommitUncertain | None:
        """Write *jobs* as one transaction; returns None when it is durable."""
        connection = self._connection
        is_whole = False
        missing = self._presence.look(log_exists=False)
        if missing is not None:
            return CommitFailed(f"{missing}; nothing of this commit is stored")
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                self._apply(job)
            is_whole = True
            connection.execute("COMMIT")
        except Exception as error:
            self._roll_back()
            reason: Exception = error
            if isinstance(error, sqlite3.Error) and primary_code(error) is not None:
                reason = file_error(self._path, error)
                if is_whole and primary_code(error) != sqlite3.SQLITE_FULL:
                    self._overwrite()
                    failure: CommitFailed | CommitUncertain = CommitUncertain(
                        f"{reason}; nobody can say whether this commit is stored"
                    )
                    failure.__cause__ = error
                    return failure
            failure = CommitFailed(f"{reason}; nothing of this commit is stored")
            failure.__cause__ = error
            return failure
        missing = self._presence.look(log_exists=True)
        if missing is not None:
            return CommitUncertain(f"{missing}; nobody can say whether this commit is stored")
        return None

    def _apply(self, job: Job) -> None:
        overlay, commit = job.overlay, job.commit
        kind, name = overlay.address
        execute = self._connection.execute
        if commit.clears:
            execute("DELETE FROM entries WHERE kind = ? AND name = ?", (kind, name))
            execute("DELETE FROM alarms WHERE kind = ? AND name = ?", (kind, name))
        for key, value in commit.writes.items():
            if value is None:
                execute(
                    "DELETE FROM entries WHERE kind = ? AND name = ? AND key = ?", (kind, name, key)
                )
            else:
                execute(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)",
                    (kind, name, key, value, entry_sum(overlay.sum, key, value)),
                )
        alarm = commit.alarm
        if isinstance(alarm, Absent):
            return
        if alarm is None:
            execute("DELETE FROM alarms WHERE kind = ? AND name = ?", (kind, name))
        else:
            execute(
                "INSERT OR REPLACE INTO alarms VALUES (?, ?, ?, ?)",
                (kind, name, alarm, alarm_sum(overlay.sum, alarm)),
            )

    def _roll_back(self) -> None:
        # SQLite itself has rolled back after some errors, a full disk among them.
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _overwrite(self) -> None:
        """Write a transaction over the frames of a doubtful one, so that no recovery finds them."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._connection.execute("COMMIT")
        self._roll_back()


def _size(job: Job) -> int:
    return sum(len(value) for value in job.commit.writes.values() if value is not None)

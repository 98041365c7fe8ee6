"""The shared database of a process: one SQLite file, one thread, one connection.

Whatever waits is made durable together, with one fsync, and answered when COMMIT has returned.
Other processes may have the file open as well: SQLite's own locks keep them apart, and who waits
too long for one is told.
"""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

import trio

from ..actors import DatabaseFailed, Queried, Statement, batch_label
from .errors import DATABASE_ERRORS, HostFileCorrupt, HostFileFailed, file_error
from .fileformat import CHECKED_BYTES_MAX, check_path
from .transactions import Outcome, Transactions

GROUP_QUERIES_MAX = 128
"""Queries in one transaction: the first of a group waits for the last."""

BUSY_S = 5.0
"""Seconds to wait for a lock that another process has on the file: a sixth of a call's deadline."""


class Asked(NamedTuple):
    """A query on its way to the file."""

    statements: tuple[Statement, ...]
    done: Queried


class SqliteDatabase:
    """The `DatabaseLink` of an embedded host. Made and used in the trio thread."""

    def __init__(self, path: Path | str, *, crashed: Callable[[BaseException], None]) -> None:
        """Open the file, make it if it does not exist, and start the thread.

        Args:
            path: of the file; the folder must exist.
            crashed: called in the trio thread if a bug ends the thread; every query fails then.

        Raises:
            StoreError: the file cannot be used; one class for each reason. It is as it was.
        """
        self.path = Path(path).resolve()
        check_path(self.path)
        self._transactions = opened(self.path)
        self._crashed = crashed
        self._queue: SimpleQueue[Asked | None] = SimpleQueue()
        self._is_open = True
        self._token = trio.lowlevel.current_trio_token()
        name = f"durasim database {self.path.name}"
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, caller: str, statements: tuple[Statement, ...], done: Queried) -> None:
        """Queue *statements* as one transaction; *done* is told in no task, once it is durable.

        An error that may go away with time (a lock, a full disk) says that nothing ran.
        """
        del caller
        if self._is_open:
            self._queue.put(Asked(statements, done))
            return
        closed = DatabaseFailed(
            f"{batch_label(statements)} was refused: {self.path} is closed", nothing_ran=True
        )
        self._token.run_sync_soon(done, None, closed)

    async def close(self) -> None:
        """Run what is queued, and close the file. What is asked after it fails."""
        self._is_open = False
        self._queue.put(None)
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._thread.join)

    def _run(self) -> None:
        group: list[Asked] = []
        try:
            while group := self._gather():
                outcomes = self._transactions.run_all([asked.statements for asked in group])
                self._soon(self._tell, group, outcomes)
        except BaseException as error:
            self._soon(self._died, group, error)
        finally:
            self._transactions.close()

    def _gather(self) -> list[Asked]:
        """Wait for a query; return it with those behind it, or nothing at the end."""
        group: list[Asked] = []
        while len(group) < GROUP_QUERIES_MAX:
            asked = self._queue.get()
            if asked is None:
                # Nothing is behind it: it is met again when the group is done.
                self._queue.put(None)
                break
            group.append(asked)
            if self._queue.empty():
                break
        return group

    def _soon(self, action: Callable[..., None], *arguments: object) -> None:
        # After the run has ended nobody is left to be told; what is durable stays so.
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(action, *arguments)

    def _tell(self, group: list[Asked], outcomes: list[Outcome]) -> None:
        for asked, outcome in zip(group, outcomes, strict=True):
            try:
                if isinstance(outcome, DatabaseFailed):
                    asked.done(None, outcome)
                else:
                    asked.done(outcome, None)
            except BaseException as bug:
                self._crashed(bug)

    def _died(self, group: list[Asked], error: BaseException) -> None:
        self._is_open = False
        while not self._queue.empty():
            asked = self._queue.get()
            if asked is not None:
                group.append(asked)
        failure = DatabaseFailed(f"{self.path}: its thread has died", nothing_ran=False)
        failure.__cause__ = error
        self._tell(group, [failure] * len(group))
        self._crashed(error)


def opened(path: Path) -> Transactions:
    """Open the file, and make it if it does not exist.

    Raises:
        StoreError: one class for each reason; the file is as it was.
    """
    connection = None
    try:
        connection = sqlite3.connect(
            path,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=0,
        )
        prepare(connection, path)
        return Transactions(connection, str(path))
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, DATABASE_ERRORS):
            raise file_error(str(path), error) from error
        raise


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that committed means durable, that the file can be written, and that it is sound.

    Raises:
        HostFileFailed: there is no way to make commits durable there.
        HostFileCorrupt: its bytes are damaged.
        sqlite3.Error: it is no database, or cannot be read or written.
    """
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise HostFileFailed(f"{path}: its file system allows no write-ahead log, only {mode!r}")
    connection.execute("PRAGMA synchronous = FULL")
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    if level != 2:
        raise HostFileFailed(f"{path}: SQLite syncs at level {level}, not FULL; committed needs it")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    # Only a write tells that a file is read-only; taken back, it writes nothing.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("ROLLBACK")
    if path.stat().st_size <= CHECKED_BYTES_MAX:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise HostFileCorrupt(f"{path}: its bytes are damaged ({verdict})")

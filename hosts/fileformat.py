"""The format of a host's file: an SQLite database with two tables, and how it is opened.

    entries(kind, name, key, value, sum)   the stored values, encoded; keys in code point order
    alarms(kind, name, time, sum)          microseconds since 1970 UTC

`application_id` tells whose file it is, `user_version` its format. SQLite keeps no checksums of
pages, so every row has one over all of its columns: a damaged row is an error, never another value.
The journal is a write-ahead log with `synchronous=FULL`: when COMMIT returns the bytes have been
through fsync. (The log has checksums of its own: a damaged tail of it ends it.)
"""

import sqlite3
import stat
from pathlib import Path
from zlib import crc32

from .errors import (
    DATABASE_ERRORS,
    HostFileCorrupt,
    HostFileFailed,
    HostFileForeign,
    HostFileMissing,
    HostFileVersion,
    file_error,
)

APPLICATION_ID = 0x64757261
"""The four bytes "dura" at offset 68 of the file."""

FORMAT = 1
"""Format of the tables below; a change of them counts it up."""

CHECKED_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of a file up to which opening it checks every page and row: about a second of reading."""

BUSY_S = 2.0
"""Seconds to wait for a lock that another program, such as the sqlite3 shell, has on the file."""

_SCHEMA = (
    """CREATE TABLE entries (
        kind TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
        sum INTEGER NOT NULL, PRIMARY KEY (kind, name, key)
    ) WITHOUT ROWID""",
    """CREATE TABLE alarms (
        kind TEXT NOT NULL, name TEXT NOT NULL, time INTEGER NOT NULL,
        sum INTEGER NOT NULL, PRIMARY KEY (kind, name)
    ) WITHOUT ROWID""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)


def seed_sum(kind: str, name: str) -> int:
    """Return what the sums of all rows of one object begin with."""
    return crc32(f"{len(kind)}/{kind}/{name}/".encode())


def entry_sum(seed: int, key: str, value: bytes) -> int:
    """Return the sum of an entry."""
    return crc32(value, crc32(f"{len(value)}/{key}/".encode(), seed))


def alarm_sum(seed: int, time: int) -> int:
    """Return the sum of an alarm."""
    return crc32(b"%d" % time, seed)


def check_path(path: Path) -> None:
    """Refuse what cannot be a host's file, before anything is opened.

    Raises:
        HostFileMissing: the folder does not exist.
        HostFileForeign: *path* is a folder or a device.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise HostFileMissing(
                f"{path}: its folder {path.parent} does not exist; nothing was made"
            ) from None
        return
    except NotADirectoryError:
        raise HostFileMissing(f"{path}: {path.parent} is not a folder; nothing was made") from None
    except OSError as error:
        raise HostFileFailed(f"{path}: {error}") from None
    if stat.S_ISDIR(mode):
        raise HostFileForeign(f"{path}: is a folder, not a host's file")
    if not stat.S_ISREG(mode):
        raise HostFileForeign(f"{path}: is not a regular file")


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the file for the one connection that writes, and make it if it does not exist.

    Raises:
        StoreError: one class for each reason; the file is as it was.
    """
    connection = None
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        _prepare(connection, path)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, DATABASE_ERRORS):
            raise file_error(str(path), error) from error
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for a connection of this thread that can only read."""
    try:
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
    except DATABASE_ERRORS as error:
        raise file_error(str(path), error) from error
    return connection


def check_format(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file holds a host's tables; False if it is new and empty.

    Raises:
        HostFileForeign: another program's database.
        HostFileVersion: a format that this version does not know.
    """
    application = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if (application, version, tables) == (0, 0, 0):
        return False
    if application != APPLICATION_ID:
        raise HostFileForeign(f"{path}: a database of another program; it was left as it is")
    if version != FORMAT:
        raise HostFileVersion(
            f"{path}: written in format {version}, this version reads format {FORMAT}"
        )
    return True


def check_content(connection: sqlite3.Connection, path: Path) -> None:
    """Read every page and row of the file.

    Raises:
        HostFileCorrupt: one of them is damaged; says where.
    """
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise HostFileCorrupt(f"{path}: its bytes are damaged ({verdict})")
    for kind, name, key, value, stored in connection.execute(
        "SELECT kind, name, key, value, sum FROM entries"
    ):
        if not (isinstance(value, bytes) and entry_sum(seed_sum(kind, name), key, value) == stored):
            raise HostFileCorrupt(f"{path}: the value {key!r} of {kind}/{name} is damaged")
    for kind, name, time, stored in connection.execute("SELECT kind, name, time, sum FROM alarms"):
        if not (isinstance(time, int) and alarm_sum(seed_sum(kind, name), time) == stored):
            raise HostFileCorrupt(f"{path}: the alarm of {kind}/{name} is damaged")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    is_ours = check_format(connection, path)
    if (mode := connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]) != "wal":
        raise HostFileFailed(f"{path}: its file system allows no write-ahead log, only {mode!r}")
    connection.execute("PRAGMA synchronous = FULL")
    if (level := _pragma(connection, "synchronous")) != 2:
        raise HostFileFailed(f"{path}: SQLite syncs at level {level}, not FULL; committed needs it")
    connection.execute("BEGIN IMMEDIATE")
    if is_ours:
        # Only a write tells that a file is read-only; taken back, it writes nothing.
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("ROLLBACK")
    else:
        # Identity and tables come in one transaction: a crash leaves an empty file or a whole one.
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("COMMIT")
    if is_ours and path.stat().st_size <= CHECKED_BYTES_MAX:
        check_content(connection, path)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)

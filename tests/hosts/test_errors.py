"""What SQLite's codes mean for a host's file."""

import sqlite3

import pytest

from durasim.hosts import (
    HostFileBusy,
    HostFileCorrupt,
    HostFileFailed,
    HostFileForeign,
    HostFileFull,
    HostFileReadOnly,
    StoreError,
)
from durasim.hosts.errors import file_error, primary_code


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (sqlite3.SQLITE_BUSY, HostFileBusy),
        (sqlite3.SQLITE_FULL, HostFileFull),
        (sqlite3.SQLITE_CORRUPT, HostFileCorrupt),
        (sqlite3.SQLITE_CORRUPT_INDEX, HostFileCorrupt),
        (sqlite3.SQLITE_NOTADB, HostFileForeign),
        (sqlite3.SQLITE_READONLY_DIRECTORY, HostFileReadOnly),
        (sqlite3.SQLITE_CANTOPEN, HostFileReadOnly),
        (sqlite3.SQLITE_PERM, HostFileReadOnly),
        (sqlite3.SQLITE_IOERR_FSYNC, HostFileFailed),
        (sqlite3.SQLITE_INTERNAL, HostFileFailed),
        (None, HostFileCorrupt),
    ],
)
def test_each_code_has_one_meaning(code: int | None, meaning: type[StoreError]) -> None:
    """Extended codes count as their primary ones; the message names the file."""
    error = sqlite3.OperationalError("told by SQLite")
    if code is not None:
        error.sqlite_errorcode = code

    told = file_error("/x/objects.db", error)

    assert type(told) is meaning
    assert str(told).startswith("/x/objects.db: ")
    assert "told by SQLite" in str(told)
    assert primary_code(error) == (None if code is None else code & 0xFF)

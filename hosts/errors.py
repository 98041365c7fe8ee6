"""What a host's file can refuse, each error with what is true now."""

import sqlite3


class StoreError(Exception):
    """The file of a host could not do what was asked. Nothing that was durable has been changed."""


class HostFileBusy(StoreError):
    """Another host has the file open. This one touched nothing; try again when it has closed."""


class HostFileMissing(StoreError):
    """The file, or the folder that it is to be made in, does not exist. Nothing was made.

    Also what a commit says when the file was deleted or replaced while a host had it open.
    """


class HostFileReadOnly(StoreError):
    """The file or its folder may not be written. Nothing was changed; it can still be inspected."""


class HostFileFull(StoreError):
    """There is no room on the disk. All that was durable is intact; it works again with room."""


class HostFileCorrupt(StoreError):
    """The bytes of the file are damaged. The file was left as it is: restore it from a copy."""


class HostFileForeign(StoreError):
    """This is no file of a host: a folder, a device or some other program's data. Left as it is."""


class HostFileVersion(StoreError):
    """The file has a format that this version cannot read. It was left as it is."""


class HostFileFailed(StoreError):
    """The operating system failed while it read or wrote. What was durable is still there."""


class CommitFailed(StoreError):
    """A commit did not happen: nothing of it is stored. The same writes may be made again."""


class CommitUncertain(StoreError):
    """A commit failed at its last step: nobody can say whether it will be there after a crash.

    What is read from now on is what is stored, with or without the commit as a whole.
    """


# Primary result codes of SQLite (sqlite.org/rescode.html) and what each means for a host's file.
_MEANINGS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_PERM: (HostFileReadOnly, "may not be written"),
    sqlite3.SQLITE_READONLY: (HostFileReadOnly, "may not be written"),
    sqlite3.SQLITE_CANTOPEN: (HostFileReadOnly, "its folder may not be written"),
    sqlite3.SQLITE_BUSY: (HostFileBusy, "another program holds a lock on it"),
    sqlite3.SQLITE_FULL: (HostFileFull, "no room on its disk"),
    sqlite3.SQLITE_CORRUPT: (HostFileCorrupt, "its bytes are damaged"),
    sqlite3.SQLITE_NOTADB: (HostFileForeign, "not a database"),
    sqlite3.SQLITE_IOERR: (HostFileFailed, "the operating system failed"),
}

FILE_CODES = frozenset(_MEANINGS)
"""The codes that speak of the file; the others speak of a statement."""

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What the `sqlite3` module raises; the latter when damaged text stands in SQLite's own message."""


def file_error(path: str, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
    """Return what *error* means for the file at *path*."""
    code = primary_code(error)
    if code is None:
        # The module itself raises without a code when text in the file is not UTF-8.
        return HostFileCorrupt(f"{path}: its bytes are damaged ({error})")
    meaning, words = _MEANINGS.get(code, (HostFileFailed, "SQLite failed"))
    return meaning(f"{path}: {words} ({error})")


def primary_code(error: Exception) -> int | None:
    """Return SQLite's primary result code of *error*, or None if it comes from the module."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


class HostCrashed(Exception):
    """The host stopped by an error of its own, which is chained.

    What was acknowledged is stored. Calls that were in flight ended as `OutcomeUnknown`.
    """


class SqlUnavailable(Exception):
    """The class asks for a database of its own (`sql=True`), which this host does not keep.

    Nothing was made and nothing ran.
    """

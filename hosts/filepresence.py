"""Whether a host's file is still where it was opened.

An open file outlives its name: SQLite would go on to write, and to sync, what nobody can open any
more (sqlite.org/howtocorrupt.html, section 2.4). So the names are looked up around each commit,
which costs microseconds beside an fsync.
"""

import os

from .errors import HostFileMissing

__all__ = ["FilePresence"]

Identity = tuple[int, int]


class FilePresence:
    """The database at a path, and its write-ahead log, as they were when first seen."""

    __slots__ = ("_path", "_seen")

    def __init__(self, path: str) -> None:
        """Remember the file at *path*, which is open."""
        self._path = path
        self._seen: dict[str, Identity] = {}
        self.look(log_exists=False)

    def look(self, *, log_exists: bool) -> HostFileMissing | None:
        """Return an error if what is at the path is not what was opened; None if it is.

        Args:
            log_exists: a commit was made, so there must be a write-ahead log.
        """
        for name in (self._path, f"{self._path}-wal"):
            try:
                status = os.stat(name)
            except (FileNotFoundError, NotADirectoryError):
                if name not in self._seen and not (log_exists and name != self._path):
                    continue
                return self._error("deleted", name)
            except OSError:
                # It may be there: whether it can be written is for SQLite to say.
                continue
            identity = status.st_dev, status.st_ino
            if self._seen.setdefault(name, identity) != identity:
                return self._error("replaced", name)
        return None

    def _error(self, what: str, name: str) -> HostFileMissing:
        return HostFileMissing(
            f"{self._path}: {name} was {what} while the host had it open; what is written now "
            "would be lost, so close the host and bring the file back"
        )

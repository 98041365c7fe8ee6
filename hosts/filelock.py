"""One host for one file, whoever opens it and however it ends.

The lock is `flock` on a file beside the database. It belongs to the open file description, so a
second host of the same process is kept out like one of another process, and the kernel gives it
back when its holder is killed. A forked child would keep it after that, so it closes its copy. The
database itself is never opened but by SQLite: closing any other descriptor of it would drop
SQLite's own locks (sqlite.org/howtocorrupt.html, section 2.2). The lock file stays: removing it
would let two hosts hold two locks of one name.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from .errors import HostFileBusy, HostFileFailed, HostFileFull, HostFileReadOnly

LOCK_SUFFIX = ".lock"


class FileLock:
    """The right to be the only host of a file, held from construction until `release`."""

    __slots__ = ("_descriptor",)

    def __init__(self, path: Path) -> None:
        """Take the lock of the database at *path*.

        Raises:
            HostFileBusy: another host holds it; says which process.
            HostFileReadOnly: the lock file can be neither opened nor made.
            HostFileFull: there is no room for it.
            HostFileFailed: the operating system failed.
        """
        lock = Path(f"{path}{LOCK_SUFFIX}")
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise HostFileFull(f"{path}: no room for its lock file ({error})") from None
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise HostFileFailed(f"{path}: no lock file can be opened ({error})") from None
            descriptor = _open_to_read(path, lock)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise HostFileBusy(
                f"{path}: open in another host (process {holder or 'unknown'}); "
                "nothing was touched, try again when it has closed"
            ) from None
        self._descriptor = descriptor
        _held[descriptor] = self
        # Who holds it is told to people only, so a full disk or a read-only lock file is no harm.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Give the lock back. Without effect the second time."""
        if self._descriptor >= 0:
            del _held[self._descriptor]
            os.close(self._descriptor)
            self._descriptor = -1


_held: dict[int, FileLock] = {}
"""Every lock of this process, by descriptor."""


def _leave_to_parent() -> None:
    # Closing a copy releases nothing while the parent has its own; LOCK_UN would.
    for lock in list(_held.values()):
        lock.release()


os.register_at_fork(after_in_child=_leave_to_parent)


def is_held(path: Path) -> bool:
    """Whether a host has the database at *path* open now."""
    try:
        descriptor = os.open(f"{path}{LOCK_SUFFIX}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _open_to_read(path: Path, lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise HostFileReadOnly(
            f"{path}: its folder may not be written ({error}); nothing was changed"
        ) from None

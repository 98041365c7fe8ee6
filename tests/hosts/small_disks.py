"""A disk that is really full, and gets room again."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

from durasim.hosts import SqliteStore

DISK_BYTES = 1024 * 1024


class SmallDisk:
    """A folder on a file system of its own, filled by a file that can be removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, store: SqliteStore) -> None:
        """Leave not one byte free."""
        del store
        descriptor = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (65536, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        os.write(descriptor, bytes(size))
        finally:
            os.close(descriptor)

    def free(self, store: SqliteStore) -> None:
        """Give the room back."""
        del store
        self._ballast.unlink()


class SmallFile(SmallDisk):
    """Where nothing can be mounted: SQLite itself refuses to let the file grow."""

    def fill(self, store: SqliteStore) -> None:
        """Allow no page more."""
        self._limit(store, 1)

    def free(self, store: SqliteStore) -> None:
        """Allow pages again."""
        self._limit(store, 1_000_000)

    def _limit(self, store: SqliteStore, pages: int) -> None:
        connection = store._writer._connection  # pyright: ignore[reportPrivateUsage]
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()


@contextlib.contextmanager
def small_disk() -> Generator[SmallDisk]:
    """Mount a small file system, or imitate one where that is not allowed."""
    folder = Path(tempfile.mkdtemp(prefix="durasim-disk-"))
    mounted = (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)],
            check=False,
            capture_output=True,
        ).returncode
        == 0
    )
    try:
        yield SmallDisk(folder) if mounted else SmallFile(folder)
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


@contextlib.contextmanager
def unprivileged(*paths: Path) -> Generator[None]:
    """Without the power of root to write everywhere. *paths* are given to who remains."""
    if os.geteuid() != 0:
        yield
        return
    for path in paths:
        os.chown(path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)

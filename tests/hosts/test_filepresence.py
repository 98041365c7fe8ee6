"""A file that is deleted or replaced under its host takes no commit that would be lost."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from durasim.hosts import CommitFailed, CommitUncertain
from durasim.hosts.filepresence import FilePresence

from .test_writer import Bench


def log(path: Path) -> Path:
    """Return the write-ahead log of *path*."""
    return path.with_name(f"{path.name}-wal")


def delete(path: Path) -> None:
    """As `rm` does."""
    path.unlink()


def replace(path: Path) -> None:
    """As an editor or a restored copy does."""
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").rename(path)


def move(path: Path) -> None:
    """As `mv` of its folder does."""
    path.parent.rename(path.parent.with_name("elsewhere"))


def delete_log(path: Path) -> None:
    """What is in the log is not in the file yet."""
    log(path).unlink()


@pytest.mark.parametrize("harm", [delete, replace, move, delete_log])
async def test_no_commit_is_acknowledged_after_it(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """Each fails with one clear error, until the file is back."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "objects.db"
    bench = Bench(path)
    bench.put("a", "k1")
    await bench.settled()
    harm(path)
    bench.put("b", "k2")
    bench.put("c", "k3")
    await bench.stop()

    assert bench.outcomes() == [
        ("a", "k1", None), ("b", "k2", CommitFailed), ("c", "k3", CommitFailed)
    ]  # fmt: skip
    said = [str(error) for group in bench.groups for _, error in group if error is not None]
    assert all("while the host had it open; what is written now would be lost" in t for t in said)
    assert all(text.endswith("; nothing of this commit is stored") for text in said)
    assert bench.crashes == []


async def test_what_is_deleted_during_a_commit_leaves_it_uncertain(tmp_path: Path) -> None:
    """It was written to a file that nobody can open any more."""
    path = tmp_path / "objects.db"
    bench = Bench(path)

    def trouble(sql: str) -> None:
        if sql == "COMMIT":
            path.unlink()

    bench.connection.trouble = trouble
    bench.put("a", "k1")
    await bench.stop()

    assert bench.outcomes() == [("a", "k1", CommitUncertain)]


def test_a_file_that_comes_back_is_there(tmp_path: Path) -> None:
    """The same one, by its inode; and a file that may not be looked up is for SQLite to judge."""
    path = tmp_path / "objects.db"
    path.touch()
    presence = FilePresence(str(path))
    assert presence.look(log_exists=False) is None

    os.rename(path, tmp_path / "aside")
    assert "deleted" in str(presence.look(log_exists=False))

    os.rename(tmp_path / "aside", path)
    assert presence.look(log_exists=False) is None
    assert "objects.db-wal was deleted" in str(presence.look(log_exists=True))

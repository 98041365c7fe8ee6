"""One host for one file."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from durasim.hosts import (
    HostFileBusy,
    HostFileFailed,
    HostFileFull,
    HostFileReadOnly,
    StoreError,
)
from durasim.hosts.filelock import FileLock, is_held

HOLD = """
import sys, time
from pathlib import Path
from durasim.hosts.filelock import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_lock_in_one_process_is_refused(tmp_path: Path) -> None:
    """And says who holds it; after a release the file can be had again."""
    path = tmp_path / "objects.db"
    first = FileLock(path)
    assert is_held(path)

    with pytest.raises(HostFileBusy, match=rf"process {os.getpid()}\b"):
        FileLock(path)

    first.release()
    first.release()
    assert not is_held(path)
    FileLock(path).release()


def test_the_lock_of_another_process_is_respected_until_it_is_killed(tmp_path: Path) -> None:
    """A kill gives the file back without any cleaning."""
    path = tmp_path / "objects.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(HostFileBusy, match=re.escape(f"process {holder.pid}")):
            FileLock(path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()

    FileLock(path).release()


FORK = """
import os, sys, time
from pathlib import Path
from durasim.hosts.filelock import FileLock, is_held
path = Path(sys.argv[1])
lock = FileLock(path)
child = os.fork()
if child == 0:
    time.sleep(60)
print(child, is_held(path), flush=True)
time.sleep(60)
"""


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Its parent holds it alone: when that is killed the file can be had again."""
    path = tmp_path / "objects.db"
    with subprocess.Popen(
        [sys.executable, "-c", FORK, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        child, held = holder.stdout.readline().split()
        try:
            time.sleep(0.2)
            assert held == "True"
            assert is_held(path)
            holder.kill()
            holder.wait()
            os.kill(int(child), 0)
            FileLock(path).release()
        finally:
            holder.kill()
            os.kill(int(child), signal.SIGKILL)


def test_a_file_without_a_lock_file_is_held_by_nobody(tmp_path: Path) -> None:
    """Asking makes no file."""
    assert not is_held(tmp_path / "objects.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, HostFileFull),
        (errno.EROFS, HostFileReadOnly),
        (errno.EACCES, HostFileReadOnly),
        (errno.EIO, HostFileFailed),
    ],
)
def test_a_lock_file_that_cannot_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[StoreError]
) -> None:
    """One clear error for each reason of the operating system."""

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("durasim.hosts.filelock.os.open", refuse)
    with pytest.raises(expected) as caught:
        FileLock(tmp_path / "objects.db")
    monkeypatch.undo()

    assert type(caught.value) is expected
    assert os.strerror(number) in str(caught.value)

"""Reading a host's file without changing it."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from enum import Enum
from pathlib import Path

import pytest
import trio

from durasim.hosts import (
    HostFileCorrupt,
    HostFileForeign,
    HostFileMissing,
    SqliteStore,
    StoreError,
    inspect_file,
)
from durasim.hosts.inspect import VALUE_CHARACTERS_MAX
from durasim.wire import Address, encode, register

from ..conformance.arms import loudly
from ..conformance.test_store import committed
from .small_disks import unprivileged


async def fill(path: Path) -> None:
    """Make a file with two objects and an alarm."""
    store = SqliteStore(path, crashed=loudly)
    writes = {"total": encode(7), "names": encode(["é", b"\0"]), "long": encode("x" * 1000)}
    assert await committed(store.open(Address("Cart", "b")), 1, writes) is None
    assert await committed(store.open(Address("Cart", "a")), 1, {}, alarm=1_000_000) is None
    await store.close()


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of *folder*, with its content and time of change."""
    return {
        entry.name: (entry.read_bytes(), entry.stat().st_mtime_ns) for entry in folder.iterdir()
    }


async def test_objects_keys_and_alarms_are_shown_in_order(tmp_path: Path) -> None:
    """Values as Python writes them, long ones shortened; not a byte beside it changes."""
    path = tmp_path / "objects.db"
    await fill(path)
    before = snapshot(tmp_path)

    found = inspect_file(path)

    assert [str(one.address) for one in found.objects] == ["Cart/a", "Cart/b"]
    assert [one.alarm for one in found.objects] == [1_000_000, None]
    assert found.objects[0].keys == ()
    keys = found.objects[1].keys
    assert [(one.key, one.is_readable) for one in keys] == [
        ("long", True), ("names", True), ("total", True),
    ]  # fmt: skip
    assert [one.text for one in keys[1:]] == ["['é', b'\\x00']", "7"]
    assert keys[0].text.startswith("'xxx")
    assert keys[0].text.endswith(f"… ({1002 - VALUE_CHARACTERS_MAX} more characters)")
    assert keys[2].size == len(encode(7))
    assert not found.is_open
    assert snapshot(tmp_path) == before


async def test_the_same_as_plain_values(tmp_path: Path) -> None:
    """For JSON."""
    path = tmp_path / "objects.db"
    await fill(path)

    found = json.loads(json.dumps(inspect_file(str(path)).as_json()))

    assert found["path"] == str(path)
    assert found["open"] is False
    assert found["objects"][0] == {"class": "Cart", "name": "a", "alarm": 1_000_000, "keys": []}
    assert found["objects"][1]["keys"][2] == {
        "key": "total", "size": len(encode(7)), "value": "7", "readable": True,
    }  # fmt: skip


async def test_a_file_that_a_host_has_open_can_be_read(tmp_path: Path) -> None:
    """As of one moment; the host goes on, and commits under way are not shown."""
    path = tmp_path / "objects.db"
    store = SqliteStore(path, crashed=loudly)
    held = store.open(Address("Cart", "a"))
    assert await committed(held, 1, {"x": encode(1)}) is None

    found = inspect_file(path)
    assert found.is_open
    assert [(key.key, key.text) for key in found.objects[0].keys] == [("x", "1")]

    assert await committed(held, 2, {"x": encode(2)}) is None
    assert inspect_file(path).objects[0].keys[0].text == "2"
    await store.close()


KILLED = """
import os, signal, sys, trio
from durasim.actors import Commit
from durasim.hosts import SqliteStore
from durasim.wire import Address, encode
async def main():
    store = SqliteStore(sys.argv[1], crashed=print)
    store.open(Address("Cart", "a")).commit(Commit(number=1, writes={"x": encode(5)}), print)
    await store.flush()
    os.kill(os.getpid(), signal.SIGKILL)
trio.run(main)
"""


def test_a_file_whose_host_was_killed_shows_what_was_committed(tmp_path: Path) -> None:
    """The write-ahead log counts, and stays as it is."""
    path = tmp_path / "objects.db"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True)
    assert killed.returncode == -9
    before = snapshot(tmp_path)
    assert before["objects.db-wal"][0]

    found = inspect_file(path)

    assert [(key.key, key.text) for key in found.objects[0].keys] == [("x", "5")]
    assert snapshot(tmp_path) == before


def test_a_file_may_be_read_where_nothing_may_be_written(open_folder: Path) -> None:
    """By somebody who can only read."""
    path = open_folder / "objects.db"
    trio.run(fill, path)
    open_folder.chmod(0o555)

    with unprivileged():
        found = inspect_file(path)

    assert len(found.objects) == 2


class Colour(Enum):
    """Registered for one test only."""

    RED = 1


async def test_a_value_of_an_unknown_class_is_told_not_shown(
    tmp_path: Path,
) -> None:
    """Its own program knows the class; this one need not."""
    path = tmp_path / "objects.db"
    register(Colour, name="tests.inspect.Colour")
    data = encode(Colour.RED).replace(b"tests.inspect.Colour", b"tests.inspect.Colouq")
    store = SqliteStore(path, crashed=loudly)
    assert await committed(store.open(Address("Cart", "a")), 1, {"x": data}) is None
    await store.close()

    (shown,) = inspect_file(path).objects[0].keys

    assert not shown.is_readable
    assert "tests.inspect.Colouq" in shown.text


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("UPDATE entries SET value = x'00' WHERE key = 'total'", HostFileCorrupt),
        ("UPDATE alarms SET time = 5", HostFileCorrupt),
        ("PRAGMA application_id = 5", HostFileForeign),
    ],
)
async def test_a_damaged_file_is_refused(
    tmp_path: Path, damage: str, expected: type[StoreError]
) -> None:
    """Rather than shown wrongly."""
    path = tmp_path / "objects.db"
    await fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as shell:
        shell.execute(damage)

    with pytest.raises(expected):
        inspect_file(path)


def test_what_is_no_file_of_a_host_is_refused(tmp_path: Path) -> None:
    """Missing, empty, text, a folder, half of a file."""
    path = tmp_path / "objects.db"
    with pytest.raises(HostFileMissing):
        inspect_file(path)
    with pytest.raises(HostFileMissing):
        inspect_file(tmp_path / "none" / "objects.db")
    with pytest.raises(HostFileForeign):
        inspect_file(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(HostFileForeign, match="holds nothing"):
        inspect_file(path)
    path.write_bytes(b"only text" * 1000)
    with pytest.raises(HostFileForeign, match="not a database"):
        inspect_file(path)
    path.unlink()
    trio.run(fill, path)
    os.truncate(path, 6000)
    with pytest.raises(HostFileCorrupt):
        inspect_file(path)

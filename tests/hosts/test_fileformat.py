"""The format of a host's file, and what is refused as one."""

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from durasim.hosts import (
    HostFileBusy,
    HostFileCorrupt,
    HostFileFailed,
    HostFileForeign,
    HostFileMissing,
    HostFileReadOnly,
    HostFileVersion,
    StoreError,
)
from durasim.hosts.fileformat import (
    APPLICATION_ID,
    alarm_sum,
    check_content,
    check_path,
    entry_sum,
    open_reader,
    open_writer,
    seed_sum,
)

from .small_disks import unprivileged


def filled(path: Path, entries: int = 200) -> dict[tuple[str, str, str], bytes]:
    """Make a host's file and return what is in it."""
    seed = seed_sum("Cart", "a")
    values = {("Cart", "a", f"key-{number:04}"): b"%d" % number * 20 for number in range(entries)}
    with closing(open_writer(path)) as connection:
        connection.execute("BEGIN")
        for (kind, name, key), value in values.items():
            connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?)",
                (kind, name, key, value, entry_sum(seed, key, value)),
            )
        connection.execute("INSERT INTO alarms VALUES ('Cart', 'a', 77, ?)", (alarm_sum(seed, 77),))
        connection.execute("COMMIT")
    return values


def test_a_file_is_marked_as_ours_and_synced_fully(tmp_path: Path) -> None:
    """FULL sync and a write-ahead log: committed means durable."""
    path = tmp_path / "objects.db"
    with closing(open_writer(path)) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)

    assert path.read_bytes()[68:72] == b"dura"


def test_the_sums_are_those_of_every_version() -> None:
    """They stand in files: another sum would make every file corrupt."""
    seed = seed_sum("Counter", "cart-7")

    assert seed == 0xBCE153BD
    assert entry_sum(seed, "total", b"\x02") == 0x86DAE95C
    assert alarm_sum(seed, 1_000_000) == 0x92549EA9
    assert seed_sum("A", "B/c") != seed_sum("A/B", "c")


def test_reading_connections_cannot_write(tmp_path: Path) -> None:
    """A bug in a read can change nothing."""
    path = tmp_path / "objects.db"
    filled(path)
    with (
        closing(open_reader(path)) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        connection.execute("DELETE FROM entries")


def test_what_cannot_be_a_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """A folder, a missing folder, a file as folder, a device."""
    (tmp_path / "file").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(HostFileForeign, match="is a folder"):
        check_path(tmp_path)
    with pytest.raises(HostFileMissing, match="does not exist; nothing was made"):
        check_path(tmp_path / "missing" / "objects.db")
    with pytest.raises(HostFileMissing, match="is not a folder"):
        check_path(tmp_path / "file" / "objects.db")
    with pytest.raises(HostFileForeign, match="not a regular file"):
        check_path(tmp_path / "pipe")
    with pytest.raises(HostFileFailed, match="too long"):
        check_path(tmp_path / ("x" * 300))
    check_path(tmp_path / "new.db")
    check_path(tmp_path / "file")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "pipe"]


def refused(path: Path, expected: type[StoreError]) -> str:
    """Opening is refused as *expected* and changes no byte; returns the message."""
    before = path.read_bytes()
    with pytest.raises(expected) as caught:
        open_writer(path)
    assert type(caught.value) is expected
    assert path.read_bytes() == before
    return str(caught.value)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    """Tables of somebody else, with and without a mark of its own."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.commit()
    assert "another program" in refused(path, HostFileForeign)

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")
    assert "another program" in refused(path, HostFileForeign)


def test_text_is_no_database(tmp_path: Path) -> None:
    """Garbage from the first byte on."""
    path = tmp_path / "objects.db"
    path.write_bytes(b"These are notes, not a database.\n" * 200)

    assert "not a database" in refused(path, HostFileForeign)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """Rather than read as if it were this one."""
    path = tmp_path / "objects.db"
    filled(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    assert "format 2, this version reads format 1" in refused(path, HostFileVersion)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_a_truncated_file_is_corrupt(tmp_path: Path, share: float) -> None:
    """Wherever it ends."""
    path = tmp_path / "objects.db"
    filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])

    assert "damaged" in refused(path, HostFileCorrupt)


def test_no_mutated_byte_gives_another_value(tmp_path: Path) -> None:
    """Any byte changed: the file is refused as a whole, or everything in it is as it was."""
    path = tmp_path / "objects.db"
    values = filled(path)
    whole = path.read_bytes()
    chance = random.Random(20)
    outcomes: dict[str, int] = {}

    for _ in range(400):
        place = chance.randrange(len(whole))
        mutated = bytearray(whole)
        mutated[place] ^= 1 << chance.randrange(8)
        path.write_bytes(mutated)
        for rest in ("-wal", "-shm"):
            Path(f"{path}{rest}").unlink(missing_ok=True)
        try:
            connection = open_writer(path)
        except StoreError as error:
            outcome = type(error).__name__
        else:
            with closing(connection):
                found = {
                    (kind, name, key): value
                    for kind, name, key, value in connection.execute(
                        "SELECT kind, name, key, value FROM entries"
                    )
                }
                assert found == values, f"byte {place}"
                assert connection.execute("SELECT time FROM alarms").fetchall() == [(77,)]
            outcome = "unharmed"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1

    assert outcomes["HostFileCorrupt"] > 100
    assert outcomes["unharmed"] > 10


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET value = x'00' WHERE key = 'key-0007'",
        "UPDATE entries SET key = 'key-0007x' WHERE key = 'key-0007'",
        "UPDATE entries SET name = 'b' WHERE key = 'key-0007'",
        "UPDATE entries SET value = 'text' WHERE key = 'key-0007'",
        "UPDATE alarms SET time = 78",
        "UPDATE alarms SET time = 'soon'",
        "UPDATE alarms SET name = 'b'",
    ],
)
def test_a_row_that_is_not_as_it_was_written_is_damaged(tmp_path: Path, damage: str) -> None:
    """Each column counts in the sum of its row."""
    path = tmp_path / "objects.db"
    filled(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(damage)
        connection.commit()
        with pytest.raises(HostFileCorrupt, match="is damaged"):
            check_content(connection, path)

    with pytest.raises(HostFileCorrupt, match="is damaged"):
        open_writer(path)


def read_only_file(path: Path) -> None:
    """The file may be read only."""
    path.chmod(0o444)


def read_only_folder(path: Path) -> None:
    """The file might be written; nothing can be made beside it."""
    path.parent.chmod(0o555)


@pytest.mark.parametrize("protect", [read_only_file, read_only_folder])
def test_what_may_not_be_written_is_refused(
    open_folder: Path, protect: Callable[[Path], None]
) -> None:
    """A file or a folder; its content stays as it is."""
    path = open_folder / "objects.db"
    filled(path)
    before = path.read_bytes()
    protect(path)

    with unprivileged(open_folder, path), pytest.raises(HostFileReadOnly):
        open_writer(path)

    open_folder.chmod(0o755)
    path.chmod(0o644)
    assert path.read_bytes() == before


def test_a_lock_of_another_program_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For instance a shell in the middle of a transaction."""
    monkeypatch.setattr("durasim.hosts.fileformat.BUSY_S", 0.01)
    path = tmp_path / "objects.db"
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as shell:
        shell.execute("BEGIN IMMEDIATE")
        with pytest.raises(HostFileBusy):
            open_writer(path)


def test_a_file_left_empty_by_a_crash_is_begun_anew(tmp_path: Path) -> None:
    """Zero bytes, or a database without a table: nothing was acknowledged from it."""
    path = tmp_path / "objects.db"
    path.write_bytes(b"")
    filled(path)
    bare = tmp_path / "bare.db"
    with closing(sqlite3.connect(bare)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")

    filled(bare)

    for made in (path, bare):
        with closing(open_reader(made)) as connection:
            assert connection.execute("SELECT count(*) FROM entries").fetchone() == (200,)


def test_a_file_system_without_a_log_or_a_sync_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed would not mean durable there."""

    class Weak(sqlite3.Connection):
        """A connection whose answers are those of a file system without shared memory."""

        answer = ""

        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            """Answer as told to the one question."""
            if sql == "PRAGMA journal_mode = WAL":
                return super().execute(self.answer)
            return super().execute(sql, parameters)

    connect = sqlite3.connect

    def connect_weakly(*positional: Any, **named: Any) -> sqlite3.Connection:
        return connect(*positional, factory=Weak, **named)

    monkeypatch.setattr("durasim.hosts.fileformat.sqlite3.connect", connect_weakly)
    Weak.answer = "SELECT 'delete'"
    with pytest.raises(HostFileFailed, match="no write-ahead log, only 'delete'"):
        open_writer(tmp_path / "objects.db")
    Weak.answer = "SELECT 'wal'"

    def level(_connection: sqlite3.Connection, name: str) -> int:
        return 1 if name == "synchronous" else 0

    monkeypatch.setattr("durasim.hosts.fileformat._pragma", level)
    with pytest.raises(HostFileFailed, match="syncs at level 1, not FULL"):
        open_writer(tmp_path / "objects.db")


def test_a_reader_that_cannot_open_the_file_says_so(tmp_path: Path) -> None:
    """As the writer does."""
    path = tmp_path / "objects.db"
    path.mkdir()
    with pytest.raises(HostFileReadOnly):
        open_reader(path)

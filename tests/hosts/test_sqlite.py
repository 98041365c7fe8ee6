"""The store of an embedded host, beyond what every store promises."""

import contextlib
import sqlite3
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import trio

from durasim.actors import Commit, StorageFailed
from durasim.hosts import (
    CommitFailed,
    HostFileBusy,
    HostFileCorrupt,
    HostFileForeign,
    HostFileFull,
    HostFileMissing,
    HostFileReadOnly,
    SqliteStore,
    StoreError,
)
from durasim.wire import Address

from ..conformance.arms import loudly
from ..conformance.test_store import committed
from .small_disks import small_disk, unprivileged

CART = Address("Cart", "a")


@contextlib.asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[SqliteStore]:
    """A store that is closed in the end."""
    store = SqliteStore(path, crashed=loudly)
    try:
        yield store
    finally:
        await store.close()


async def test_commits_are_synced_fully(tmp_path: Path) -> None:
    """The connection that writes has `synchronous=FULL` and a write-ahead log."""
    async with opened(tmp_path / "objects.db") as store:
        connection = store._writer._connection  # pyright: ignore[reportPrivateUsage]
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_second_host_of_one_process_is_refused(tmp_path: Path) -> None:
    """Also by another name of the file; the first one goes on, and leaves the file free."""
    path = tmp_path / "objects.db"
    (tmp_path / "link.db").symlink_to(path)
    async with opened(path) as store:
        for name in (path, tmp_path / "link.db", tmp_path / "." / "objects.db"):
            with pytest.raises(HostFileBusy):
                SqliteStore(name, crashed=loudly)
        assert await committed(store.open(CART), 1, {"x": b"1"}) is None
    async with opened(path) as store:
        assert store.open(CART).get("x") == b"1"


SECOND = """
import sys, trio
from durasim.hosts import SqliteStore, HostFileBusy
async def main():
    try:
        SqliteStore(sys.argv[1], crashed=print)
    except HostFileBusy as error:
        print("busy:", error)
trio.run(main)
"""


async def test_a_second_process_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    """One clear error there, no difference here."""
    path = tmp_path / "objects.db"
    async with opened(path) as store:
        held = store.open(CART)
        assert await committed(held, 1, {"x": b"1"}) is None
        second = await trio.run_process(
            [sys.executable, "-c", SECOND, str(path)], capture_stdout=True
        )
        assert second.stdout.startswith(b"busy: ")
        assert b"open in another host (process " in second.stdout
        assert await committed(held, 2, {"y": b"2"}) is None
    async with opened(path) as store:
        held = store.open(CART)
        assert (held.get("x"), held.get("y")) == (b"1", b"2")


async def test_a_refused_file_stays_free(tmp_path: Path) -> None:
    """The lock of a host that could not be opened is given back."""
    path = tmp_path / "objects.db"
    path.write_bytes(b"no database at all, but some text" * 100)
    for _ in range(2):
        with pytest.raises(HostFileForeign):
            SqliteStore(path, crashed=loudly)
    path.unlink()
    async with opened(path) as store:
        assert store.open(CART).get("x") is None


@pytest.mark.parametrize(
    ("name", "expected"), [("", HostFileForeign), ("none/objects.db", HostFileMissing)]
)
def test_no_place_for_a_file_is_told_at_once(
    tmp_path: Path, name: str, expected: type[StoreError]
) -> None:
    """A folder or a missing folder; not even a lock file is made."""

    async def main() -> None:
        SqliteStore(tmp_path / name, crashed=loudly)

    with pytest.raises(expected):
        trio.run(main)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_written_is_read_only(open_folder: Path) -> None:
    """With and without the lock file of an earlier host."""
    path = open_folder / "objects.db"

    async def write() -> None:
        async with opened(path) as store:
            assert await committed(store.open(CART), 1, {"x": b"1"}) is None

    for _ in range(2):
        open_folder.chmod(0o555)
        with unprivileged(), pytest.raises(HostFileReadOnly):
            trio.run(write)
        open_folder.chmod(0o755)
        trio.run(write)


async def test_a_disk_that_fills_fails_commits_and_works_again_with_room() -> None:
    """What was durable is intact throughout, the store stays open, nothing failed is kept."""
    with small_disk() as disk:
        path = disk.folder / "objects.db"
        async with opened(path) as store:
            held = store.open(CART)
            assert await committed(held, 1, {"kept": b"1"}, alarm=9) is None
            disk.fill(store)
            errors = [
                await committed(store.open(Address("Cart", f"{number}")), 1, {"big": bytes(50_000)})
                for number in range(3)
            ]
            assert {type(error) for error in errors} == {CommitFailed}
            assert all("no room on its disk" in str(error) for error in errors)
            error = await committed(held, 2, {"kept": bytes(50_000)})
            assert isinstance(error, CommitFailed)
            fresh = store.open(CART)
            assert (fresh.get("kept"), fresh.alarm()) == (b"1", 9)
            assert store.open(Address("Cart", "0")).get("big") is None

            disk.free(store)
            assert isinstance(await committed(held, 3, {"late": b""}), CommitFailed)
            assert await committed(fresh, 1, {"after": b"2"}) is None
            statistics = store.statistics()
            assert (statistics.commits, statistics.commits_failed) == (2, 5)
        async with opened(path) as store:
            held = store.open(CART)
            found = list(held.scan(None, None, reverse=False))
            assert found == [("after", b"2"), ("kept", b"1")]
            assert list(store.alarms()) == [(CART, 9)]


async def test_a_file_that_is_made_on_a_full_disk_is_refused() -> None:
    """And can be made when there is room."""
    with small_disk() as disk:
        path = disk.folder / "objects.db"
        async with opened(disk.folder / "other.db") as other:
            disk.fill(other)
            if type(disk).__name__ == "SmallDisk":
                with pytest.raises((HostFileFull, HostFileReadOnly)):
                    SqliteStore(path, crashed=loudly)
            disk.free(other)
        async with opened(path) as store:
            assert await committed(store.open(CART), 1, {"x": b"1"}) is None


async def test_a_failed_commit_breaks_every_handle_that_stood_on_it(tmp_path: Path) -> None:
    """Also that of an incarnation which only read it; one opened afterwards works."""
    async with opened(tmp_path / "objects.db") as store:
        held = store.open(CART)
        assert await committed(held, 1, {"x": b"1"}) is None
        outcomes: list[Exception | None] = []
        beside = store.open(CART)
        held.commit(Commit(number=2, writes={"x": b"2", "bad \ud800": b""}), outcomes.append)
        assert beside.get("x") == b"2"
        fresh = store.open(CART)
        assert fresh.get("x") == b"1"
        assert outcomes == []
        with trio.fail_after(5):
            await store.flush()
        assert [type(error) for error in outcomes] == [CommitFailed]
        assert isinstance(await committed(beside, 1, {"y": b"1"}), CommitFailed)
        assert (fresh.get("x"), fresh.get("y")) == (b"1", None)
        assert await committed(fresh, 1, {"x": b"3"}) is None
        assert fresh.get("x") == b"3"


async def test_an_object_opened_anew_shows_only_what_is_durable(tmp_path: Path) -> None:
    """The commit of its last incarnation is in the file before anything can be answered from it."""
    path = tmp_path / "objects.db"
    async with opened(path) as store:
        held = store.open(CART)
        ended: list[Exception | None] = []
        for number in range(20):
            held.commit(Commit(number=number + 1, writes={"x": b"%d" % number}), ended.append)
        held.close()
        assert ended == []
        fresh = store.open(CART)
        with contextlib.closing(sqlite3.connect(path)) as shell:
            assert shell.execute("SELECT value FROM entries").fetchall() == [(b"19",)]
        assert fresh.get("x") == b"19"
        assert ended == []
        await store.flush()
        assert ended == [None] * 20


async def test_damage_found_while_reading_is_a_failed_read(tmp_path: Path) -> None:
    """Not another value; other keys can still be read."""
    path = tmp_path / "objects.db"
    async with opened(path) as store:
        held = store.open(CART)
        assert await committed(held, 1, {"x": b"1", "y": b"2"}, alarm=5) is None
        with contextlib.closing(sqlite3.connect(path)) as shell:
            shell.execute("UPDATE entries SET value = x'00' WHERE key = 'x'")
            shell.execute("UPDATE alarms SET time = 6")
            shell.commit()
        with pytest.raises(StorageFailed, match="the value under 'x' is damaged"):
            held.get("x")
        with pytest.raises(StorageFailed, match="damaged"):
            list(held.scan(None, None, reverse=False))
        with pytest.raises(StorageFailed, match="the stored alarm is damaged"):
            held.alarm()
        with pytest.raises(HostFileCorrupt, match="alarm of Cart/a is damaged"):
            list(store.alarms())
        assert held.get("y") == b"2"


async def test_a_read_that_fails_says_so(tmp_path: Path) -> None:
    """The table is gone: StorageFailed with SQLite's words, not SQLite's error."""
    path = tmp_path / "objects.db"
    async with opened(path) as store:
        held = store.open(CART)
        with contextlib.closing(sqlite3.connect(path)) as shell:
            shell.execute("DROP TABLE entries")
            shell.commit()
        with pytest.raises(StorageFailed, match="no such table") as caught:
            held.get("x")
        assert caught.value.address == CART


async def test_an_error_of_whoever_is_told_stops_nobody_else(tmp_path: Path) -> None:
    """It is given to the host; the others of the group are told."""
    crashes: list[BaseException] = []
    store = SqliteStore(tmp_path / "objects.db", crashed=crashes.append)
    told: list[Exception | None] = []

    def broken(_: Exception | None) -> None:
        raise ValueError("a bug")

    held = store.open(CART)
    held.commit(Commit(number=1, writes={"x": b"1"}), broken)
    held.commit(Commit(number=2, writes={"x": b"2"}), told.append)
    await store.flush()
    await store.close()

    assert [str(crash) for crash in crashes] == ["a bug"]
    assert told == [None]


async def test_statistics_count_commits_and_groups(tmp_path: Path) -> None:
    """A hundred commits at once need few transactions."""
    async with opened(tmp_path / "objects.db") as store:
        held = [store.open(Address("Cart", str(number))) for number in range(100)]
        for one in held:
            one.commit(Commit(number=1, writes={"x": b"1"}), lambda _: None)
        assert store.statistics().commits_pending == 100
        await store.flush()
        found = store.statistics()
        assert (found.commits, found.commits_failed, found.commits_pending) == (100, 0, 0)
        assert found.groups < 50
        assert found.group_commits_max > 1
        await store.flush()


async def test_what_nobody_uses_is_forgotten(tmp_path: Path) -> None:
    """Memory is that of the open objects, not of all that ever were."""
    async with opened(tmp_path / "objects.db") as store:
        overlays = store._overlays  # pyright: ignore[reportPrivateUsage]
        for number in range(10):
            held = store.open(Address("Cart", str(number)))
            held.commit(Commit(number=1, writes={"x": b"1"}), lambda _: None)
            held.close()
            held.close()
        assert len(overlays) == 10
        await store.flush()
        assert overlays == {}
        held, twice = store.open(CART), store.open(CART)
        held.close()
        assert len(overlays) == 1
        twice.close()
        assert overlays == {}


async def test_closing_writes_what_is_queued(tmp_path: Path) -> None:
    """Also if the one who closes is cancelled; closing again has no effect."""
    path = tmp_path / "objects.db"
    store = SqliteStore(path, crashed=loudly)
    held = store.open(CART)
    for number in range(50):
        held.commit(Commit(number=number + 1, writes={str(number): b"v"}), lambda _: None)
    with trio.CancelScope() as scope:
        scope.cancel()
        await store.close()
    await store.close()
    async with opened(path) as again:
        assert len(list(again.open(CART).scan(None, None, reverse=False))) == 50


def test_the_shell_can_read_it(tmp_path: Path) -> None:
    """Keys are text: a person with sqlite3 finds them."""
    path = tmp_path / "objects.db"

    async def main() -> None:
        async with opened(path) as store:
            assert await committed(store.open(CART), 1, {"total": b"\x02"}) is None

    trio.run(main)
    with contextlib.closing(sqlite3.connect(path)) as shell:
        assert shell.execute("SELECT kind, name, key, value FROM entries").fetchall() == [
            ("Cart", "a", "total", b"\x02")
        ]

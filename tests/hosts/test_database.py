"""The shared database of a process: its file, its thread, and what is told when they fail."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trio
import trio.testing

from durasim.actors import (
    DatabaseFailed,
    DurableObject,
    Queried,
    Query,
    QueryRows,
    Statement,
)
from durasim.hosts import (
    EmbeddedHost,
    HostCrashed,
    HostFileBusy,
    HostFileCorrupt,
    HostFileFailed,
    HostFileForeign,
    HostFileMissing,
    HostFileReadOnly,
    SqliteDatabase,
    StoreError,
    Transactions,
    database,
)
from durasim.hosts.database import GROUP_QUERIES_MAX
from durasim.hosts.transactions import Outcome
from durasim.wire import HostClosed

from .small_disks import unprivileged

TABLE = "CREATE TABLE kept (key TEXT PRIMARY KEY)"


class Keeper(DurableObject):
    """Keeps keys in the shared database."""

    async def keep(self, key: str) -> int:
        """Keep *key*."""
        return (await self.database.execute("INSERT INTO kept VALUES (?)", key)).changes


def keys(path: Path) -> list[str]:
    """Read the file as anybody could."""
    with closing(sqlite3.connect(path)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM kept ORDER BY key")]


def loudly(error: BaseException) -> None:
    """Fail the test."""
    raise error


async def test_what_is_answered_is_in_the_file(tmp_path: Path) -> None:
    """Others can read it, and the next host finds it."""
    path = tmp_path / "runs.db"
    async with EmbeddedHost(tmp_path / "objects.db", database=path) as host:
        await host.database.execute(TABLE)
        assert await host.get(Keeper, "k").keep("a") == 1
        assert keys(path) == ["a"]
    async with EmbeddedHost(tmp_path / "objects.db", database=str(path)) as host:
        assert await host.get(Keeper, "k").keep("b") == 1
        assert (await host.database.execute("SELECT count(*) FROM kept")).one() == (2,)


async def test_two_hosts_share_one_file(tmp_path: Path) -> None:
    """In this process or in another one: SQLite's own locks keep them apart."""
    path = tmp_path / "runs.db"
    async with (
        EmbeddedHost(tmp_path / "a.db", database=path) as one,
        EmbeddedHost(tmp_path / "b.db", database=path) as two,
    ):
        await one.database.execute(TABLE)

        async def keeps(host: EmbeddedHost, prefix: str) -> None:
            for number in range(10):
                await host.get(Keeper, "k").keep(f"{prefix}{number}")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(keeps, one, "a")
            nursery.start_soon(keeps, two, "b")
    assert len(keys(path)) == 20


async def test_a_host_without_a_database_says_so(tmp_path: Path) -> None:
    """To objects and to the program; closed it refuses."""
    host = EmbeddedHost(tmp_path / "objects.db")
    with pytest.raises(HostClosed):
        _ = host.database
    async with host:
        with pytest.raises(DatabaseFailed, match="the host has no database"):
            await host.database.execute("SELECT 1")
        with pytest.raises(Exception, match="the host has no database; nothing ran"):
            await host.get(Keeper, "k").keep("a")
    with pytest.raises(HostClosed):
        _ = host.database


async def test_what_is_asked_before_the_end_is_answered_and_nothing_after(tmp_path: Path) -> None:
    """Closing runs what is queued; later queries are refused, certainly."""
    path = tmp_path / "runs.db"
    host = EmbeddedHost(tmp_path / "objects.db", database=path)
    async with host:
        kept = host.database
        await kept.execute(TABLE)
        last = kept.execute("INSERT INTO kept VALUES ('last')")
    assert (await last).changes == 1
    with pytest.raises(DatabaseFailed, match="is closed; nothing ran") as caught:
        await kept.execute("INSERT INTO kept VALUES ('late')")
    assert caught.value.nothing_ran
    assert keys(path) == ["last"]


class Slowly(Transactions):
    """Transactions that note how many queries came at once."""

    groups: list[int]

    def run_all(self, queries: Sequence[Sequence[Statement]]) -> list[Outcome]:
        """Note and run them."""
        self.groups.append(len(queries))
        return super().run_all(queries)


async def test_what_waits_is_made_durable_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In groups of bounded size, each answered in its order."""
    monkeypatch.setattr(Slowly, "groups", [], raising=False)
    monkeypatch.setattr(database, "Transactions", Slowly)
    shared = SqliteDatabase(tmp_path / "runs.db", crashed=loudly)
    answered: list[int] = []
    over = trio.Event()

    def done(number: int) -> Queried:
        def told(rows: list[QueryRows] | None, error: Exception | None) -> None:
            assert rows is not None, error
            answered.append(number)
            if number == 299:
                over.set()

        return told

    shared.submit("a", (Statement(TABLE),), done(-1))
    for number in range(300):
        shared.submit(
            "a", (Statement("INSERT INTO kept VALUES (?)", (f"{number}",)),), done(number)
        )
    await over.wait()
    await shared.close()

    assert answered == list(range(-1, 300))
    assert sum(Slowly.groups) == 301
    assert max(Slowly.groups) <= GROUP_QUERIES_MAX
    assert len(Slowly.groups) < 301
    assert len(keys(tmp_path / "runs.db")) == 300


async def refused(path: Path, reason: type[StoreError]) -> StoreError:
    """Return why a host with the database at *path* does not start."""
    with pytest.raises(reason) as caught:
        async with EmbeddedHost(path.parent / "objects.db", database=path):
            pass
    return caught.value


async def test_a_file_that_cannot_be_used_is_refused_by_name(tmp_path: Path) -> None:
    """One error for each reason, before anything runs; the objects' own file is given back."""
    damaged = tmp_path / "damaged.db"
    with closing(sqlite3.connect(damaged)) as connection:
        connection.execute(TABLE)
        connection.execute("CREATE TABLE filler (a)")
        connection.executemany("INSERT INTO filler VALUES (?)", [(bytes(3000),)] * 20)
        connection.commit()
    content = damaged.read_bytes()
    damaged.write_bytes(content[:4096] + b"\xa5" * 4096 + content[8192:])
    foreign = tmp_path / "foreign.db"
    foreign.write_bytes(b"no database at all, " * 500)

    assert str(damaged) in str(await refused(damaged, HostFileCorrupt))
    await refused(foreign, HostFileForeign)
    await refused(tmp_path, HostFileForeign)
    await refused(tmp_path / "nowhere" / "runs.db", HostFileMissing)
    assert foreign.read_bytes() == b"no database at all, " * 500
    async with EmbeddedHost(tmp_path / "objects.db", database=tmp_path / "runs.db") as host:
        assert (await host.database.execute("SELECT 1")).one() == (1,)


def test_a_file_that_may_not_be_written_is_refused(open_folder: Path) -> None:
    """At the start, not at the first write; nor can one be made where none may be."""
    path = open_folder / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(TABLE)
    path.chmod(0o444)
    open_folder.chmod(0o555)

    with unprivileged(open_folder, path):
        for name in ("runs.db", "new.db"):
            with pytest.raises(HostFileReadOnly):
                database.opened(open_folder / name)


class Weak(sqlite3.Connection):
    """A connection whose answer to one question is that of a file system that keeps nothing."""

    question = answer = ""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Answer as told to the one question."""
        return super().execute(self.answer if sql == self.question else sql, parameters)


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        ("PRAGMA journal_mode = WAL", "SELECT 'delete'", "no write-ahead log, only 'delete'"),
        ("PRAGMA synchronous", "SELECT 1", "syncs at level 1, not FULL"),
    ],
)
def test_where_committed_would_not_mean_durable_it_is_refused(
    tmp_path: Path, question: str, answer: str, words: str
) -> None:
    """Rather than acknowledged and lost."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path, factory=Weak)) as connection:
        connection.question, connection.answer = question, answer
        with pytest.raises(HostFileFailed, match=words):
            database.prepare(connection, path)


def test_a_large_file_is_not_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only smaller ones are checked page by page when they are opened."""
    monkeypatch.setattr(database, "CHECKED_BYTES_MAX", 0)
    path = tmp_path / "runs.db"
    asked: list[str] = []
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(TABLE)
        connection.set_trace_callback(asked.append)
        database.prepare(connection, path)

    assert not any("quick_check" in sql for sql in asked)


async def test_a_lock_held_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing ran, and it may be asked again."""
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    path = tmp_path / "runs.db"
    async with EmbeddedHost(tmp_path / "objects.db", database=path) as host:
        await host.database.execute(TABLE)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DatabaseFailed, match="nothing ran") as caught:
                await host.database.execute("INSERT INTO kept VALUES ('a')")
            assert isinstance(caught.value.__cause__, HostFileBusy)
            other.execute("ROLLBACK")
        await host.database.execute("INSERT INTO kept VALUES ('a')")
    assert keys(path) == ["a"]


class Broken(Transactions):
    """Transactions with a bug, met when it is time."""

    time = Event()

    def run_all(self, queries: Sequence[Sequence[Statement]]) -> list[Outcome]:
        """Meet it."""
        del queries
        self.time.wait(10)
        raise ZeroDivisionError("a bug of the thread")


async def test_a_bug_of_the_thread_fails_all_and_ends_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it had and those that waited: nobody waits for ever."""
    monkeypatch.setattr(database, "Transactions", Broken)
    host = EmbeddedHost(tmp_path / "objects.db", database=tmp_path / "runs.db")
    queries: list[Query] = []

    async def asks() -> None:
        async with host:
            queries.append(host.database.execute("SELECT 1"))
            await trio.sleep(0.05)
            queries.append(host.database.execute("SELECT 2"))
            Broken.time.set()
            await trio.sleep(10)

    with pytest.raises(HostCrashed, match="a bug of the thread"):
        await asks()
    for query in queries:
        with pytest.raises(DatabaseFailed, match="its thread has died; nobody can tell"):
            await query


async def test_a_bug_of_who_is_told_ends_the_host(tmp_path: Path) -> None:
    """The others are told all the same."""
    crashes: list[BaseException] = []
    told: list[object] = []
    shared = SqliteDatabase(tmp_path / "runs.db", crashed=crashes.append)

    def breaks(*_: object) -> None:
        raise ZeroDivisionError("a bug of who is told")

    shared.submit("a", (Statement("SELECT 1"),), breaks)
    shared.submit("a", (Statement("SELECT 2"),), lambda rows, _: told.append(rows))
    await shared.close()
    await trio.testing.wait_all_tasks_blocked()

    assert [str(each) for each in crashes] == ["a bug of who is told"]
    assert len(told) == 1


async def test_after_the_end_of_the_run_nobody_is_told(tmp_path: Path) -> None:
    """What had been asked is stored all the same."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(TABLE)
    told: list[object] = []

    async def main() -> SqliteDatabase:
        shared = SqliteDatabase(path, crashed=loudly)
        insert = Statement("INSERT INTO kept VALUES ('a')")
        shared.submit("a", (insert,), lambda rows, _: told.append(rows))
        return shared

    def run() -> SqliteDatabase:
        shared = trio.run(main)
        shared._queue.put(None)  # pyright: ignore[reportPrivateUsage]
        shared._thread.join()  # pyright: ignore[reportPrivateUsage]
        return shared

    await trio.to_thread.run_sync(run)
    assert keys(path) == ["a"]
    assert len(told) <= 1

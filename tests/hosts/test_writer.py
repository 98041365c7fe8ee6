"""Group commit: what is reported, in which order, and what one bad commit does to others."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trio
import trio.testing

from durasim.actors import Commit
from durasim.hosts import CommitFailed, CommitUncertain, HostFileFailed, HostFileFull, StoreError
from durasim.hosts.fileformat import open_writer
from durasim.hosts.overlay import Overlay
from durasim.hosts.writer import GROUP_COMMITS_MAX, GroupWriter, Job, Outcome
from durasim.wire import Address

from .waiting import until


class FaultyConnection(sqlite3.Connection):
    """Fails as told: `trouble` is asked before each statement."""

    trouble: Callable[[str], sqlite3.Error | None] | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run *sql*, unless it is to fail."""
        error = None if self.trouble is None else self.trouble(sql)
        if error is not None:
            raise error
        return super().execute(sql, parameters)


def nobody(_: Exception | None) -> None:
    """Told of the end of a commit."""


class Bench:
    """A writer with its outcomes, and a gate that holds it back so that a group can gather."""

    def __init__(self, path: Path) -> None:
        self.path = path
        open_writer(path).close()
        self.connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=FaultyConnection
        )
        self.connection.execute("PRAGMA synchronous = FULL")
        self.groups: list[list[Outcome]] = []
        self.crashes: list[BaseException] = []
        self.overlays: dict[str, Overlay] = {}
        self.writer = GroupWriter(
            self.connection, str(path), ended=self.take, crashed=self.crashes.append
        )

    def take(self) -> None:
        """Keep what has ended."""
        self.groups.extend(self.writer.take())

    def put(self, name: str, key: str, value: bytes | None = b"v", *, epoch: int = 1) -> None:
        """Queue a commit of the object *name*."""
        overlay = self.overlays.setdefault(name, Overlay(Address("Cart", name)))
        commit = Commit(number=1, writes={key: value})
        serial = overlay.add(commit)
        self.writer.submit(Job(overlay, commit, serial, epoch, nobody))

    async def stop(self) -> None:
        """End the writer and let what it reported arrive."""
        await trio.to_thread.run_sync(self.writer.stop)
        await trio.testing.wait_all_tasks_blocked(0.001)

    async def settled(self) -> None:
        """Wait until all that is queued has ended."""
        await trio.to_thread.run_sync(self.writer.catch_up)
        await trio.testing.wait_all_tasks_blocked(0.001)

    def outcomes(self) -> list[tuple[str, str, type[Exception] | None]]:
        """Name, key and kind of error of each commit, in the order reported."""
        return [
            (
                job.overlay.address.name,
                next(iter(job.commit.writes)),
                None if error is None else type(error),
            )
            for group in self.groups
            for job, error in group
        ]

    def stored(self) -> list[tuple[str, str]]:
        """Name and key of everything that the file holds, in order."""
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute("SELECT name, key FROM entries ORDER BY 1, 2").fetchall()


def failing(connection: FaultyConnection, statement: str, code: int, *, times: int = 1) -> None:
    """Let the next *times* statements that begin with *statement* fail with *code*."""
    left = [times]

    def trouble(sql: str) -> sqlite3.Error | None:
        if not sql.startswith(statement) or not left[0]:
            return None
        left[0] -= 1
        error = sqlite3.OperationalError("planned")
        error.sqlite_errorcode = code
        return error

    connection.trouble = trouble


async def held_back(bench: Bench) -> Event:
    """Queue a commit, and stop the writer in it until the returned event is set."""
    entered, gate = Event(), Event()

    def trouble(sql: str) -> None:
        if sql.startswith("BEGIN"):
            bench.connection.trouble = None
            entered.set()
            gate.wait(10)

    bench.connection.trouble = trouble
    bench.put("a", "first")
    assert await trio.to_thread.run_sync(entered.wait, 10)
    return gate


async def test_what_gathers_while_one_commit_is_written_goes_together(tmp_path: Path) -> None:
    """The first alone, the rest as one transaction, all in order."""
    bench = Bench(tmp_path / "objects.db")
    gate = await held_back(bench)
    for number in range(20):
        bench.put("ab"[number % 2], f"{number:02}")
    gate.set()
    await bench.stop()

    assert [len(group) for group in bench.groups] == [1, 20]
    assert [key for _, key, _ in bench.outcomes()] == [
        "first",
        *(f"{number:02}" for number in range(20)),
    ]
    assert {error for _, _, error in bench.outcomes()} == {None}
    assert len(bench.stored()) == 21


async def test_a_group_is_bounded_in_commits_and_bytes(tmp_path: Path) -> None:
    """So that nobody waits for all others, and the log does not grow without end."""
    bench = Bench(tmp_path / "objects.db")
    gate = await held_back(bench)
    for number in range(GROUP_COMMITS_MAX + 1):
        bench.put("a", str(number))
    for number in range(3):
        bench.put("a", f"large-{number}", bytes(9 * 1024 * 1024))
    gate.set()
    await bench.stop()

    assert [len(group) for group in bench.groups] == [1, GROUP_COMMITS_MAX, 3, 1]
    assert {error for _, _, error in bench.outcomes()} == {None}


async def test_one_bad_commit_takes_no_other_down(tmp_path: Path) -> None:
    """A key that is no text: its group is tried one by one. Later commits of its object fail."""
    bench = Bench(tmp_path / "objects.db")
    gate = await held_back(bench)
    bench.put("b", "good")
    bench.put("c", "bad \ud800")
    bench.put("c", "after")
    bench.put("d", "good")
    gate.set()
    await bench.stop()

    assert bench.outcomes() == [
        ("a", "first", None),
        ("b", "good", None),
        ("c", "bad \ud800", CommitFailed),
        ("c", "after", CommitFailed),
        ("d", "good", None),
    ]
    assert bench.stored() == [("a", "first"), ("b", "good"), ("d", "good")]
    messages = [str(error) for group in bench.groups for _, error in group if error is not None]
    assert all("nothing of this commit" in message for message in messages)
    assert "one before it failed" in messages[1]


async def test_commits_of_a_new_epoch_are_stored_again(tmp_path: Path) -> None:
    """An object whose commit failed is not broken for ever."""
    bench = Bench(tmp_path / "objects.db")
    failing(bench.connection, "INSERT", sqlite3.SQLITE_FULL)
    bench.put("a", "lost")
    bench.writer.catch_up()
    bench.put("a", "also lost", epoch=1)
    bench.put("a", "kept", epoch=2)
    await bench.stop()

    assert bench.outcomes() == [
        ("a", "lost", CommitFailed),
        ("a", "also lost", CommitFailed),
        ("a", "kept", None),
    ]
    assert bench.stored() == [("a", "kept")]
    first = bench.groups[0][0][1]
    assert isinstance(first, CommitFailed)
    assert HostFileFull.__name__ in repr(first.__cause__) or "no room" in str(first)


async def test_a_full_disk_at_commit_is_certain(tmp_path: Path) -> None:
    """SQLite has rolled back: each is tried alone, and fails or is stored."""
    bench = Bench(tmp_path / "objects.db")
    failing(bench.connection, "COMMIT", sqlite3.SQLITE_FULL)
    bench.put("a", "lost")
    bench.writer.catch_up()
    bench.put("b", "kept")
    await bench.stop()

    assert bench.outcomes() == [("a", "lost", CommitFailed), ("b", "kept", None)]
    assert bench.stored() == [("b", "kept")]


async def test_a_commit_that_fails_at_its_last_step_is_uncertain(tmp_path: Path) -> None:
    """Nothing of its group is tried again, and its bytes are overwritten before it is told."""
    bench = Bench(tmp_path / "objects.db")
    gate = await held_back(bench)
    bench.put("b", "doubtful")
    bench.put("c", "doubtful")
    log = trio.Path(f"{bench.path}-wal")
    failing(bench.connection, "COMMIT", sqlite3.SQLITE_IOERR, times=0)
    gate.set()
    bench.writer.catch_up()
    size = (await log.stat()).st_size
    failing(bench.connection, "COMMIT", sqlite3.SQLITE_IOERR)
    bench.put("d", "doubtful")
    bench.writer.catch_up()
    assert (await log.stat()).st_size > size
    bench.put("e", "kept")
    await bench.stop()

    assert bench.outcomes() == [
        ("a", "first", None),
        ("b", "doubtful", None),
        ("c", "doubtful", None),
        ("d", "doubtful", CommitUncertain),
        ("e", "kept", None),
    ]
    assert bench.stored() == [("a", "first"), ("b", "doubtful"), ("c", "doubtful"), ("e", "kept")]
    error = bench.groups[-2][0][1]
    assert "nobody can say" in str(error)
    assert HostFileFailed.__name__ not in str(error)


async def test_all_of_an_uncertain_group_are_uncertain(tmp_path: Path) -> None:
    """They were one transaction: none is tried again."""
    bench = Bench(tmp_path / "objects.db")
    gate = await held_back(bench)
    bench.put("b", "doubtful")
    bench.put("c", "doubtful")
    begun: list[str] = []

    def trouble(sql: str) -> sqlite3.Error | None:
        if sql.startswith("BEGIN"):
            begun.append(sql)
        if sql.startswith("COMMIT") and len(begun) == 1:
            error = sqlite3.OperationalError("planned")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            return error
        return None

    bench.connection.trouble = trouble
    gate.set()
    await bench.stop()

    assert bench.outcomes()[1:] == [
        ("b", "doubtful", CommitUncertain),
        ("c", "doubtful", CommitUncertain),
    ]
    assert bench.stored() == [("a", "first")]


async def test_nothing_is_reported_before_commit_has_returned(tmp_path: Path) -> None:
    """Committed means durable: while COMMIT is under way nobody is told."""
    bench = Bench(tmp_path / "objects.db")
    entered, gate = Event(), Event()

    def trouble(sql: str) -> None:
        if sql == "COMMIT":
            entered.set()
            gate.wait(10)

    bench.connection.trouble = trouble
    bench.put("a", "x")
    assert await trio.to_thread.run_sync(entered.wait, 10)
    await trio.sleep(0.02)
    assert bench.groups == []
    gate.set()
    await bench.stop()
    assert bench.outcomes() == [("a", "x", None)]


async def test_a_bug_in_the_thread_is_told(tmp_path: Path) -> None:
    """Rather than leaving every later commit without an end."""
    bench = Bench(tmp_path / "objects.db")

    def trouble(sql: str) -> None:
        raise KeyboardInterrupt(sql)

    bench.connection.trouble = trouble
    bench.put("a", "x")
    await until(lambda: bool(bench.crashes))
    assert isinstance(bench.crashes[0], KeyboardInterrupt)
    assert bench.groups == []
    await trio.to_thread.run_sync(bench.writer.stop)


def test_a_writer_outlives_the_run_that_made_it(tmp_path: Path) -> None:
    """After trio has ended nobody is told, and what was queued is stored all the same."""
    benches: list[Bench] = []

    async def main() -> None:
        bench = Bench(tmp_path / "objects.db")
        benches.append(bench)
        bench.put("a", "x", bytes(100_000))

    trio.run(main)
    benches[0].put("a", "y")
    benches[0].writer.stop()

    assert benches[0].stored() == [("a", "x"), ("a", "y")]
    assert benches[0].crashes == []


async def test_catching_up_blocks_until_all_that_is_queued_has_ended(tmp_path: Path) -> None:
    """The outcomes are there to take before anybody is told."""
    bench = Bench(tmp_path / "objects.db")
    for number in range(10):
        bench.put("a", f"{number:02}")
    assert bench.groups == []
    bench.writer.catch_up()
    bench.take()
    assert [key for _, key, _ in bench.outcomes()] == [f"{number:02}" for number in range(10)]
    bench.writer.catch_up()
    await bench.stop()


async def test_catching_up_with_a_dead_thread_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than waited for without end."""
    monkeypatch.setattr("durasim.hosts.writer.CATCH_UP_LOOK_S", 0.01)
    bench = Bench(tmp_path / "objects.db")
    await trio.to_thread.run_sync(bench.writer.stop)
    with pytest.raises(StoreError, match="has died"):
        bench.writer.catch_up()


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
async def test_an_alarm_beyond_all_time_fails_alone(tmp_path: Path, number: int) -> None:
    """SQLite's integers have 64 bits."""
    bench = Bench(tmp_path / "objects.db")
    overlay = Overlay(Address("Cart", "a"))
    commit = Commit(number=1, writes={}, alarm=number)
    bench.writer.submit(Job(overlay, commit, overlay.add(commit), 1, nobody))
    bench.put("b", "kept")
    await bench.stop()

    errors = [error for group in bench.groups for _, error in group]
    assert [type(error) for error in errors] == [CommitFailed, type(None)]

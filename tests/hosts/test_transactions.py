"""Queries as transactions of SQLite: alone and together, refused, failed, in doubt."""

import sqlite3
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from durasim.actors import DatabaseFailed, QueryRows, Statement
from durasim.hosts import HostFileBusy, HostFileFailed, HostFileFull, Transactions
from durasim.hosts.transactions import LOOK_STEPS, Outcome

from .test_writer import FaultyConnection


class Bench:
    """Transactions on a file, which fail as told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(
            path, timeout=0, isolation_level=None, cached_statements=0, factory=FaultyConnection
        )
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA user_version = 7")
        self.transactions = Transactions(self.connection, str(path), steps_max=100 * LOOK_STEPS)
        self.ask("CREATE TABLE kept (key TEXT PRIMARY KEY, value)")

    def ask(self, *statements: str) -> list[QueryRows]:
        """Run *statements* as one query."""
        return self.transactions.run([Statement(each) for each in statements])

    def ask_all(self, *queries: str) -> list[Outcome]:
        """Run each statement as a query, all in one go."""
        return self.transactions.run_all([[Statement(each)] for each in queries])

    def keys(self) -> list[object]:
        """Return what is stored, by another connection."""
        other = sqlite3.connect(self.path)
        try:
            return [key for (key,) in other.execute("SELECT key FROM kept ORDER BY key")]
        finally:
            other.close()

    def fail(self, trouble: Callable[[str], sqlite3.Error | None]) -> None:
        """Let statements fail as *trouble* says."""
        self.connection.trouble = trouble


@pytest.fixture
def bench(tmp_path: Path) -> Generator[Bench]:
    """A bench, closed at the end."""
    made = Bench(tmp_path / "shared.db")
    yield made
    made.transactions.close()


def error(code: int, text: str) -> sqlite3.Error:
    """Return an error as SQLite's own."""
    made = sqlite3.OperationalError(text)
    made.sqlite_errorcode = code
    made.sqlite_errorname = text.upper()
    return made


def facts(outcomes: list[Outcome]) -> list[Any]:
    """Return changes, or whether it is certain that nothing ran."""
    return [
        each.nothing_ran if isinstance(each, DatabaseFailed) else each[0].changes
        for each in outcomes
    ]


def insert(key: str) -> str:
    """Return a statement that stores *key*."""
    return f"INSERT INTO kept VALUES ('{key}', 1)"


def test_queries_together_are_durable_together(bench: Bench) -> None:
    """One COMMIT for all; each sees what those before it wrote."""
    seen: list[str] = []
    bench.fail(lambda sql: seen.append(sql))
    outcomes = bench.ask_all(insert("a"), "SELECT count(*) FROM kept", insert("b"))

    assert facts(outcomes) == [1, 0, 1]
    assert isinstance(outcomes[1], list)
    assert outcomes[1][0].one() == (1,)
    assert seen.count("COMMIT") == 1
    assert bench.keys() == ["a", "b"]


def test_what_fails_falls_alone(bench: Bench) -> None:
    """A constraint, a wrong statement, a refused one, too many rows: the others are stored."""
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100001)"
    outcomes = bench.ask_all(
        insert("a"), insert("a"), "SELECT nope FROM kept", "BEGIN", f"{many} SELECT 1 FROM n",
        insert("b"),
    )  # fmt: skip

    assert facts(outcomes) == [1, True, True, True, True, 1]
    assert bench.keys() == ["a", "b"]


def test_a_statement_that_undoes_everything_undoes_itself_only(bench: Bench) -> None:
    """ROLLBACK at a conflict takes the shared transaction along: all run again, each alone."""
    outcomes = bench.ask_all(
        insert("a"), "INSERT OR ROLLBACK INTO kept VALUES ('a', 2)", insert("b")
    )

    assert facts(outcomes) == [1, True, 1]
    assert bench.keys() == ["a", "b"]
    assert bench.ask("SELECT value FROM kept WHERE key = 'a'")[0].one() == (1,)


def test_a_constraint_that_is_judged_at_commit_fells_its_own_query(bench: Bench) -> None:
    """The shared COMMIT fails; alone, each shows whose it was."""
    bench.ask("CREATE TABLE child (key REFERENCES kept DEFERRABLE INITIALLY DEFERRED)")
    outcomes = bench.ask_all(insert("a"), "INSERT INTO child VALUES ('z')", insert("b"))

    assert facts(outcomes) == [1, True, 1]
    assert "SQLITE_CONSTRAINT_FOREIGNKEY" in str(outcomes[1])
    assert bench.keys() == ["a", "b"]


def test_a_lock_of_another_program_is_told_once_for_all(bench: Bench) -> None:
    """Nothing ran; when it is gone everything works again."""
    other = sqlite3.connect(bench.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcomes = bench.ask_all(insert("a"), insert("b"))
    with pytest.raises(DatabaseFailed, match="SQLITE_BUSY; nothing ran") as caught:
        bench.ask(insert("a"))
    other.execute("ROLLBACK")
    other.close()

    assert facts(outcomes) == [True, True]
    meaning = caught.value.__cause__
    assert isinstance(meaning, HostFileBusy)
    assert str(meaning.__cause__) == "database is locked"
    bench.ask(insert("a"))
    assert bench.keys() == ["a"]


def test_a_full_disk_is_certain(bench: Bench) -> None:
    """Nothing ran, in a group as alone; with room it works again."""
    bench.ask(insert("a"))
    bench.connection.set_authorizer(None)
    bench.connection.execute("PRAGMA max_page_count = 1")
    big = "INSERT INTO kept VALUES ('big', zeroblob(100000))"
    outcomes = bench.ask_all(big, big)
    with pytest.raises(DatabaseFailed, match="SQLITE_FULL; nothing ran") as caught:
        bench.ask(big)
    bench.connection.execute("PRAGMA max_page_count = 100000")

    assert facts(outcomes) == [True, True]
    assert isinstance(caught.value.__cause__, HostFileFull)
    bench.ask(insert("b"))
    assert bench.keys() == ["a", "b"]


@pytest.mark.parametrize("together", [False, True])
def test_a_commit_that_breaks_is_in_doubt(bench: Bench, together: bool) -> None:
    """Nobody can tell; what failed before it is certain, and a transaction is written over it."""
    seen: list[str] = []

    def trouble(sql: str) -> sqlite3.Error | None:
        seen.append(sql)
        first = sql == "COMMIT" and seen.count("COMMIT") == 1
        return error(sqlite3.SQLITE_IOERR | 4 << 8, "sqlite_ioerr_fsync") if first else None

    bench.fail(trouble)
    queries = [insert("a"), "SELECT nope FROM kept"] if together else [insert("a")]
    outcomes = bench.ask_all(*queries)

    assert facts(outcomes) == [False, True][: len(queries)]
    failure = outcomes[0]
    assert isinstance(failure, DatabaseFailed)
    assert str(failure).endswith("SQLITE_IOERR_FSYNC; nobody can tell whether it ran")
    assert isinstance(failure.__cause__, HostFileFailed)
    assert seen[-2:] == ["PRAGMA user_version = 7", "COMMIT"]
    assert bench.ask("SELECT 1")[0].one() == (1,)


def test_a_doubt_that_cannot_be_overwritten_is_still_told(bench: Bench) -> None:
    """The disk fails on and on."""
    bench.fail(lambda sql: error(sqlite3.SQLITE_IOERR, "sqlite_ioerr") if sql == "COMMIT" else None)

    assert facts(bench.ask_all(insert("a"))) == [False]
    assert not bench.connection.in_transaction


def test_a_query_without_end_is_ended(bench: Bench) -> None:
    """By the steps that it takes; the one behind it has its own."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(DatabaseFailed, match="SQLITE_INTERRUPT; nothing ran"):
        bench.ask(insert("a"), endless)
    outcomes = bench.ask_all(insert("b"), endless, insert("c"))

    assert facts(outcomes) == [1, True, 1]
    assert bench.keys() == ["b", "c"]


def test_looking_needs_no_transaction_and_writes_nothing(bench: Bench) -> None:
    """What would write is refused before it does."""
    bench.ask(insert("a"))
    looked = bench.transactions.look(Statement("SELECT key FROM kept WHERE key = ?", ("a",)))

    assert looked.rows == [("a",)]
    assert bench.transactions.look(Statement("PRAGMA table_info(kept)")).rows != []
    for sql in ("DELETE FROM kept", "DROP TABLE kept", "WITH x AS (SELECT 1) DELETE FROM kept"):
        with pytest.raises(DatabaseFailed, match="only reading is allowed here; nothing ran"):
            bench.transactions.look(Statement(sql))
    assert bench.ask("DELETE FROM kept")[0].changes == 1

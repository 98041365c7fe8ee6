"""What a statement of the shared database promises, in a file and in a world."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from durasim.actors import DatabaseFailed, SqlValue

from .databases import Desk, Tell, cents, opened

NOTED = """CREATE TRIGGER noted AFTER INSERT ON runs
    BEGIN INSERT INTO log VALUES ('a'), ('b'); END"""


COUNTING = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000)
    SELECT i FROM n"""


def chain(error: BaseException) -> list[BaseException]:
    """Return *error* and its causes."""
    found = [error]
    while found[-1].__cause__ is not None:
        found.append(found[-1].__cause__)
    return found


def test_rows_come_with_their_columns(tell: Tell) -> None:
    """In the order asked for, as tuples, by name, or the only one."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        given = await database.execute("SELECT name AS who, cents FROM accounts ORDER BY name")
        assert given.columns == ("who", "cents")
        assert given.rows == [("a", 100), ("b", 100), ("c", 0)]
        assert list(given) == given.rows
        assert len(given) == 3
        assert given.dicts()[0] == {"who": "a", "cents": 100}
        nobody = await database.execute("SELECT 1 AS one WHERE 0")
        assert (nobody.columns, nobody.rows, nobody.changes) == (("one",), [], 0)
        with pytest.raises(LookupError):
            given.one()
        assert (await database.execute("SELECT 7")).one() == (7,)

    tell(story)


@pytest.mark.parametrize(
    ("sql", "changes"),
    [
        ("INSERT INTO accounts VALUES ('d', 1), ('e', 2)", 2),
        ("INSERT OR IGNORE INTO accounts VALUES ('a', 1)", 0),
        ("INSERT OR IGNORE INTO accounts VALUES ('a', 1), ('d', 1)", 1),
        ("INSERT INTO accounts VALUES ('a', 5) ON CONFLICT (name) DO UPDATE SET cents = 5", 1),
        ("REPLACE INTO accounts VALUES ('a', 1)", 1),
        ("UPDATE accounts SET cents = 7 WHERE name = 'a' AND cents = 100", 1),
        ("UPDATE accounts SET cents = 7 WHERE name = 'a' AND cents = 99", 0),
        ("UPDATE accounts SET cents = cents", 3),
        ("-- first\nUPDATE accounts SET cents = 1", 3),
        ("UPDATE accounts SET cents = 7 WHERE cents = 100 RETURNING name", 2),
        ("WITH x(n) AS (SELECT 'a') UPDATE accounts SET cents = 1 WHERE name IN x", 1),
        ("WITH x(n) AS (SELECT 'z') DELETE FROM accounts WHERE name IN x", 0),
        ("WITH x(n) AS (SELECT 'z') SELECT * FROM x", 0),
        ("DELETE FROM accounts", 3),
        ("DELETE FROM accounts WHERE name = 'z'", 0),
        ("SELECT * FROM accounts", 0),
        ("CREATE TABLE more (a)", 0),
        ("ALTER TABLE accounts RENAME COLUMN cents TO pennies", 0),
        ("DROP TABLE accounts", 0),
    ],
)
def test_a_statement_tells_how_many_rows_it_changed(tell: Tell, sql: str, changes: int) -> None:
    """This is what a conditional update is won by."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        await database.execute("UPDATE accounts SET cents = cents WHERE name = 'a'")
        assert (await database.execute(sql)).changes == changes

    tell(story)


def test_changes_of_triggers_and_cascades_do_not_count(tell: Tell) -> None:
    """Nor do those of the statement before."""

    async def story(desk: Desk) -> None:
        database = desk.database
        given = await database.batch(
            [
                ("CREATE TABLE runs (id TEXT PRIMARY KEY)", ()),
                ("CREATE TABLE steps (run TEXT REFERENCES runs ON DELETE CASCADE)", ()),
                ("CREATE TABLE log (what TEXT)", ()),
                (NOTED, ()),
                ("INSERT INTO runs VALUES ('r')", ()),
                ("INSERT INTO steps VALUES ('r'), ('r')", ()),
                ("WITH x AS (SELECT 'r') DELETE FROM runs WHERE id IN (SELECT * FROM x)", ()),
                ("SELECT count(*) FROM steps", ()),
                ("SELECT count(*) FROM log", ()),
            ]
        )
        assert [each.changes for each in given] == [0, 0, 0, 0, 1, 2, 1, 0, 0]
        assert [each.one() for each in given[-2:]] == [(0,), (2,)]

    tell(story)


VALUES: list[tuple[SqlValue, str]] = [
    (None, "null"),
    (True, "integer"),
    (0, "integer"),
    (2**63 - 1, "integer"),
    (-(2**63), "integer"),
    (0.1, "real"),
    (-0.0, "real"),
    (1e308, "real"),
    (math.inf, "real"),
    ("", "text"),
    ("naïve \U0001f600\0after", "text"),
    (b"", "blob"),
    (b"\0\xff", "blob"),
]


@pytest.mark.parametrize(("value", "kind"), VALUES, ids=[repr(value) for value, _ in VALUES])
def test_a_value_comes_back_as_it_was(tell: Tell, value: SqlValue, kind: str) -> None:
    """Every type that SQLite has, stored and read in another query."""

    async def story(desk: Desk) -> None:
        await desk.database.execute("CREATE TABLE kept (value)")
        await desk.database.execute("INSERT INTO kept VALUES (?)", value)
        (back, stored) = (
            await desk.database.execute("SELECT value, typeof(value) FROM kept")
        ).one()
        assert (back, stored) == (value, kind)
        if isinstance(value, float):
            assert math.copysign(1, value) == math.copysign(1, float(str(back)))

    tell(story)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), TypeError),
        (bytearray(b"x"), TypeError),
        ([1], TypeError),
        (2**63, ValueError),
        (-(2**63) - 1, ValueError),
        (math.nan, ValueError),
        ("\ud800", ValueError),
    ],
)
def test_a_value_that_would_not_come_back_is_refused(
    tell: Tell, value: Any, error: type[Exception]
) -> None:
    """At the call, before anything leaves; the message names its place."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        with pytest.raises(error, match=r"value 2 of INSERT accounts .*; nothing was sent"):
            _ = database.execute("INSERT INTO accounts VALUES (?, ?)", "d", value)
        with pytest.raises(error, match="nothing was sent"):
            _ = database.batch(
                [("DELETE FROM accounts", ()), ("INSERT INTO accounts VALUES (?, ?)", ("d", value))]
            )
        assert len(await cents(database)) == 3

    tell(story)


@pytest.mark.parametrize(
    ("sql", "name", "root"),
    [
        ("SELECT * FROM Missing", "SELECT Missing failed: SQLITE_ERROR", "no such table: Missing"),
        ("SELECT nope FROM accounts", "SELECT accounts failed: SQLITE_ERROR", "no such column"),
        ("SELEKT 1", "SELEKT failed: SQLITE_ERROR", "syntax error"),
        ("INSERT INTO accounts VALUES ('a', 1)", "SQLITE_CONSTRAINT_PRIMARYKEY", "UNIQUE"),
        ("INSERT INTO accounts VALUES ('d', NULL)", "SQLITE_CONSTRAINT_NOTNULL", "NOT NULL"),
        ("SELECT ?", "SELECT failed: ProgrammingError", "Incorrect number of bindings"),
        ("SELECT 1; SELECT 2", "SELECT failed: ProgrammingError", "one statement at a time"),
        ("SELECT CAST(x'ff' AS TEXT)", "SELECT failed: OperationalError", "decode to UTF-8"),
    ],
)
def test_an_error_names_itself_and_its_root_speaks(
    tell: Tell, sql: str, name: str, root: str
) -> None:
    """SQLite's text stands at the root of the causes only: it is SQLite's own."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        with pytest.raises(DatabaseFailed) as caught:
            await database.execute(sql)
        assert caught.value.nothing_ran
        assert name in str(caught.value)
        assert str(caught.value).endswith("; nothing ran")
        causes = chain(caught.value)
        assert root in str(causes[-1])
        assert root not in str(caught.value)
        assert len(causes) <= 8
        assert (await database.execute("SELECT count(*) FROM accounts")).one() == (3,)

    tell(story)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("BEGIN", "a batch is the only transaction"),
        ("COMMIT", "a batch is the only transaction"),
        ("ROLLBACK", "a batch is the only transaction"),
        ("SAVEPOINT mine", "a batch is the only transaction"),
        ("RELEASE query", "a batch is the only transaction"),
        ("ATTACH ':memory:' AS other", "there is no other file"),
        ("PRAGMA synchronous = OFF", "PRAGMA synchronous would change the connection"),
        ("PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys would change the connection"),
        ("CREATE TEMP TABLE mine (a)", "nothing is temporary"),
        (COUNTING, "more than 100000 rows; use LIMIT"),
    ],
)
def test_what_would_touch_everybody_is_refused(tell: Tell, sql: str, reason: str) -> None:
    """One connection serves all: it is nobody's own. A batch with such a statement is undone."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        with pytest.raises(DatabaseFailed, match=reason) as caught:
            await database.batch([("DELETE FROM accounts", ()), (sql, ())])
        assert caught.value.nothing_ran
        assert len(await cents(database)) == 3

    tell(story)


def test_a_schema_can_be_looked_at(tell: Tell) -> None:
    """By the pragmas that change nothing, and their tables."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        given = await database.execute("PRAGMA table_info(accounts)")
        assert [row[1] for row in given] == ["name", "cents"]
        names = await database.execute("SELECT name FROM pragma_table_info('accounts')")
        assert names.rows == [("name",), ("cents",)]

    tell(story)

"""What a statement is called, and which values it may carry."""

from enum import IntEnum

import pytest

from durasim.actors import QueryRows, Rows, Statement, batch_label


@pytest.mark.parametrize(
    ("sql", "label"),
    [
        ("SELECT * FROM claims", "SELECT claims"),
        ("select 1", "SELECT"),
        ("SELECT(1)", "SELECT"),
        ("  \n\tUPDATE\n claims SET a = 1", "UPDATE claims"),
        ("UPDATE OR IGNORE claims SET a = 1", "UPDATE claims"),
        ("INSERT INTO claims VALUES (1)", "INSERT claims"),
        ("INSERT OR REPLACE INTO main.claims VALUES (1)", "INSERT main.claims"),
        ("INSERT INTO a SELECT * FROM b", "INSERT a"),
        ("DELETE FROM claims;", "DELETE claims"),
        ("CREATE TABLE IF NOT EXISTS claims (a)", "CREATE claims"),
        ("CREATE TABLE claims(a)", "CREATE claims"),
        ("CREATE UNIQUE INDEX i ON claims (a)", "CREATE claims"),
        ("DROP TABLE IF EXISTS claims", "DROP claims"),
        ("ALTER TABLE claims RENAME TO c", "ALTER claims"),
        ("WITH x AS (SELECT * FROM claims) SELECT * FROM x", "WITH claims"),
        ('SELECT * FROM "odd ""name"""', 'SELECT odd "name"'),
        ("SELECT * FROM [odd name]", "SELECT odd name"),
        ("SELECT * FROM `odd name`", "SELECT odd name"),
        ("/* FROM nowhere */ SELECT 1 -- FROM nowhere\n FROM claims", "SELECT claims"),
        ("SELECT '-- no comment' FROM claims", "SELECT claims"),
        ("SELECT 'it''s -- no comment' FROM claims", "SELECT claims"),
        ("-- nothing", ""),
        ("", ""),
        ("COMMIT;", "COMMIT"),
        ("/* never closed", ""),
        ("SELECT 'never closed FROM claims", "SELECT claims"),
        (f"SELECT * FROM {'a' * 200}", f"SELECT {'a' * 73}"),
    ],
)
def test_a_label_is_the_first_word_and_the_first_table(sql: str, label: str) -> None:
    """Whatever values, comments and line breaks stand in it."""
    assert Statement(sql).label == label


def test_a_batch_is_called_by_its_first_statement() -> None:
    """One statement is no batch."""
    statements = [Statement("DELETE FROM a"), Statement("DELETE FROM b")]

    assert batch_label(statements) == "batch DELETE a"
    assert batch_label(statements[:1]) == "DELETE a"


class Level(IntEnum):
    """An integer by name."""

    HIGH = 3


def test_whatever_sqlite_gives_back_may_be_sent() -> None:
    """A bool and a member of an IntEnum are integers there."""
    values = (None, True, Level.HIGH, -(2**63), 2**63 - 1, -0.0, float("inf"), "é\0", b"\xff")

    assert all(Statement("SELECT ?", (value,)).check() is None for value in values)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (2**63, ValueError, "has more than 64 bits"),
        (-(2**63) - 1, ValueError, "has more than 64 bits"),
        (float("nan"), ValueError, "is NaN, which SQLite stores as NULL"),
        ("a\udfff", ValueError, "holds half of a surrogate pair"),
        (memoryview(b"x"), TypeError, "is of type memoryview"),
        ({"a": 1}, TypeError, "is of type dict"),
    ],
)
def test_what_would_come_back_changed_is_refused(
    value: object, error: type[Exception], words: str
) -> None:
    """With the number of the value and the statement."""
    statement = Statement("UPDATE claims SET a = ?, b = ?", (1, value))  # type: ignore[arg-type]

    with pytest.raises(error, match=f"value 2 of UPDATE claims {words}.*; nothing was sent"):
        statement.check()


def test_rows_of_a_query_are_rows() -> None:
    """With the number of changes beside."""
    given = QueryRows(("a",), [(1,)], 2)

    assert isinstance(given, Rows)
    assert (given.one(), given.changes) == ((1,), 2)
    assert QueryRows((), []).changes == 0

"""SQL data of an object in a world: one transaction between commits, durable as an image."""

from collections.abc import Callable, Iterator

import pytest

from durasim.actors import ConstraintsViolated, SqlFailed, TransactionByStatement
from durasim.sim.sqldata import SqlData

Opener = Callable[..., SqlData]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens data, of an image, and executes statements in it; closes all of it at the end."""
    every: list[SqlData] = []

    def opener(*statements: str, image: bytes = b"") -> SqlData:
        data = SqlData(image)
        every.append(data)
        for statement in statements:
            data.execute(statement, ())
        return data

    yield opener
    for data in every:
        data.close()


def numbers(data: SqlData) -> list[object]:
    """What the table t holds."""
    return [row[0] for row in data.execute("SELECT x FROM t ORDER BY x", ())[1]]


def test_an_image_holds_what_was_committed(opened: Opener) -> None:
    """What came after it is not in it."""
    data = opened("CREATE TABLE t(x)", "INSERT INTO t VALUES (1)")
    image = data.commit()
    data.execute("INSERT INTO t VALUES (?)", (2,))

    assert numbers(data) == [1, 2]
    assert numbers(opened(image=image)) == [1]


def test_nothing_has_an_image_of_no_bytes(opened: Opener) -> None:
    """And no bytes are an empty database."""
    assert opened().commit() == b""


def test_columns_and_whether_anything_was_written_are_told(opened: Opener) -> None:
    """Reading writes nothing; everything else may have."""
    data = opened("CREATE TABLE t(x)")

    assert data.execute("SELECT x, count(*) AS n FROM t", ()) == (("x", "n"), [(None, 0)], False)
    assert data.execute("INSERT INTO t VALUES (1)", ()) == ((), [], True)
    assert data.execute("DROP TABLE t", ())[2]


def test_a_violated_constraint_undoes_everything_since_the_last_commit(opened: Opener) -> None:
    """And the data can be used on."""
    data = opened(
        "CREATE TABLE p(x PRIMARY KEY)",
        "CREATE TABLE t(x REFERENCES p(x) DEFERRABLE INITIALLY DEFERRED)",
    )
    data.commit()
    data.execute("INSERT INTO t VALUES (1)", ())

    with pytest.raises(ConstraintsViolated) as caught:
        data.commit()

    assert str(caught.value) == "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT_FOREIGNKEY"
    assert numbers(data) == []


def test_savepoints_nest_and_fall_alone(opened: Opener) -> None:
    """What is kept of the inner one falls with the outer one."""
    data = opened("CREATE TABLE t(x)")
    data.save(1)
    data.execute("INSERT INTO t VALUES (1)", ())
    data.save(2)
    data.execute("INSERT INTO t VALUES (2)", ())
    data.end_save(2, keep=False)
    assert numbers(data) == [1]
    data.save(2)
    data.execute("INSERT INTO t VALUES (3)", ())
    data.end_save(2, keep=True)
    assert numbers(data) == [1, 3]
    data.end_save(1, keep=False)
    assert numbers(data) == []


@pytest.mark.parametrize("statement", ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s1", "RELEASE s1"])
def test_statements_that_begin_or_end_a_transaction_are_refused(
    opened: Opener, statement: str
) -> None:
    """Every time, and without an effect."""
    data = opened("CREATE TABLE t(x)")
    data.save(1)
    data.execute("INSERT INTO t VALUES (1)", ())

    for _ in range(2):
        with pytest.raises(TransactionByStatement):
            data.execute(statement, ())

    data.end_save(1, keep=True)
    assert numbers(data) == [1]


@pytest.mark.parametrize(
    ("statement", "bindings", "message"),
    [
        ("ATTACH ':memory:' AS other", (), "SQLITE_AUTH"),
        ("PRAGMA foreign_keys = OFF", (), "SQLITE_AUTH"),
        ("SELECT missing", (), "no such column: missing: SQLITE_ERROR"),
        ("SELECT 1; SELECT 2", (), "one statement at a time"),
        ("SELECT ?", (1, 2), "number of bindings"),
        ("SELECT ?", (2**70,), "too large"),
        ("SELECT ?", (object(),), "type"),
    ],
)
def test_what_fails_says_why(
    opened: Opener, statement: str, bindings: tuple[object, ...], message: str
) -> None:
    """In SQLite's words, with its name of the error."""
    with pytest.raises(SqlFailed, match=message):
        opened().execute(statement, bindings)


def test_clearing_takes_effect_at_once_and_is_stored_by_the_commit(opened: Opener) -> None:
    """The tables are gone; later statements find an empty database."""
    data = opened("CREATE TABLE t(x)")
    data.commit()
    data.clear()

    with pytest.raises(SqlFailed, match="no such table"):
        numbers(data)
    data.execute("CREATE TABLE t(x)", ())
    assert numbers(opened(image=data.commit())) == []

"""Tables of a surface: made by an insert, empty where missing, unreadable otherwise."""

import pytest

from durasim.actors.runs.tables import Tables, TablesUnreadableError

from .local import LOCKED, LocalDatabase, always_locked


def things(database: LocalDatabase) -> Tables:
    """Return a small surface's tables."""
    return Tables(database, ("things",), ("CREATE TABLE IF NOT EXISTS things (name TEXT)",))


async def test_reading_and_changing_make_no_table(database: LocalDatabase) -> None:
    """Case 54: whoever looks leaves the schema as it was, and finds nothing."""
    tables = things(database)

    assert await tables.read("SELECT name FROM things") == []
    assert (await tables.change("DELETE FROM things")).changes == 0
    assert database.tables() == []


async def test_the_first_insert_makes_the_table(database: LocalDatabase) -> None:
    """Together with its row, in one transaction; the second one needs no second try."""
    tables = things(database)

    for name in ("a", "b"):
        (inserted,) = await tables.insert(("INSERT INTO things VALUES (?)", (name,)))
        assert inserted.changes == 1
    assert await tables.read("SELECT name FROM things") == [("a",), ("b",)]
    assert len(database.asked) == 4


@pytest.mark.parametrize("made", [False, True])
async def test_a_failure_is_never_taken_for_empty(database: LocalDatabase, made: bool) -> None:
    """Whether the table is there or not: what cannot be read is unreadable."""
    tables = things(database)
    if made:
        await tables.insert(("INSERT INTO things VALUES ('a')", ()))
    database.failing = always_locked

    with pytest.raises(TablesUnreadableError) as raised:
        await tables.read("SELECT name FROM things")
    assert raised.value.status == 503
    with pytest.raises(TablesUnreadableError):
        await tables.insert(("INSERT INTO things VALUES ('b')", ()))
    database.failing = lambda label: LOCKED if "CREATE" in label else None
    if not made:
        with pytest.raises(TablesUnreadableError):
            await tables.insert(("INSERT INTO things VALUES ('b')", ()))
        assert database.tables() == []

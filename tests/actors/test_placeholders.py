"""Placeholders by order and by number mean the same on every Python."""

import sqlite3
from collections.abc import Sequence

import pytest

from durasim.actors import placed


@pytest.mark.parametrize(
    ("sql", "values", "row"),
    [
        ("SELECT 1", (), (1,)),
        ("SELECT ?, ?", (1, 2), (1, 2)),
        ("SELECT ?1, ?2", (1, 2), (1, 2)),
        ("SELECT ?2, ?1, ?2", (1, 2), (2, 1, 2)),
        ("SELECT ?1, '?2', '''?3' -- ?4\n", (1,), (1, "?2", "'?3")),
        ('SELECT ?1 /* ? */ AS "?" -- ?', (1,), (1,)),
        ("SELECT ?, '?1'", (1,), (1, "?1")),
    ],
)
def test_values_find_their_places(
    sql: str, values: Sequence[object], row: tuple[object, ...]
) -> None:
    """What looks like a placeholder in a text, a name or a comment is none."""
    connection = sqlite3.connect(":memory:")

    assert connection.execute(sql, placed(sql, values)).fetchone() == row
    connection.close()


@pytest.mark.parametrize(
    ("sql", "values"),
    [("SELECT ?1", ()), ("SELECT ?1", (1, 2)), ("SELECT ?1, ?2", (1,)), ("SELECT ?", (1, 2))],
)
def test_a_wrong_number_of_values_is_refused(sql: str, values: Sequence[object]) -> None:
    """None is left out, and none is left over."""
    connection = sqlite3.connect(":memory:")

    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute(sql, placed(sql, values))
    connection.close()


@pytest.mark.parametrize("sql", ["SELECT ?1, ?", "SELECT ?1, ?3"])
def test_a_mixture_is_left_to_sqlite(sql: str) -> None:
    """Its numbers have no names for all of its places."""
    assert placed(sql, (1, 2, 3)) == (1, 2, 3)

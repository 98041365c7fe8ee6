"""SQL functions of a world's database: no clock, no chance, and times that are given."""

import pytest

from durasim.sim import Job, Ordinary, Scenario, World, run_once

from ..actors.stage import tell

UNKNOWABLE: tuple[tuple[str, str], ...] = (
    ("SELECT random()", "random"),
    ("SELECT randomblob(4)", "randomblob"),
    ("SELECT * FROM claims ORDER BY random()", "random"),
    ("SELECT CURRENT_TIMESTAMP", "current_timestamp"),
    ("SELECT CURRENT_DATE", "current_date"),
    ("SELECT CURRENT_TIME", "current_time"),
    ("SELECT date('now')", "date"),
    ("SELECT datetime()", "datetime"),
    ("SELECT time('NOW', '+1 hour')", "time"),
    ("SELECT julianday('2026-01-01', 'localtime')", "julianday"),
    ("SELECT unixepoch('subsec')", "unixepoch"),
    ("SELECT strftime('%s')", "strftime"),
    ("INSERT INTO stamped (key) VALUES ('k')", "current_timestamp"),
    ("INSERT INTO claims VALUES ('triggered', 'a')", "random"),
)


@pytest.mark.parametrize(("sql", "name"), UNKNOWABLE, ids=[sql for sql, _ in UNKNOWABLE])
def test_the_database_has_no_clock_and_no_chance(sql: str, name: str) -> None:
    """Also where a column's default or a trigger would ask for them; the run fails and says why."""

    async def story(world: World) -> None:
        await asks(world, sql)

    result = run_once(Job(scenario=Scenario("told", story), seed=1, source=Ordinary()))

    assert [each.property for each in result.failures] == ["determinism", "scenario"]
    assert f"{name}() of SQL" in result.failures[0].message
    assert "use a parameter with self.now()" in result.failures[0].message
    assert "NotDeterministic" in result.failures[1].message


async def asks(world: World, sql: str) -> None:
    """Ask for *sql*."""
    world.database.prepare(
        "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT)",
        "INSERT INTO claims VALUES ('k', 'a')",
        "CREATE TABLE stamped (key TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP)",
        "CREATE TABLE drawn (n)",
        "CREATE TRIGGER draws AFTER INSERT ON claims WHEN new.key = 'triggered' "
        "BEGIN INSERT INTO drawn VALUES (random()); END",
    )
    await world.client("alice").database.execute(sql)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT date('2024-01-31', '+1 month')", "2024-03-02"),
        ("SELECT strftime('%Y', '2020-05-05')", "2020"),
        ("SELECT unixepoch('1970-01-02')", 86400),
        ("SELECT datetime(86400, 'unixepoch')", "1970-01-02 00:00:00"),
        ("SELECT date(NULL)", None),
        ("SELECT time('nonsense')", None),
    ],
)
def test_times_that_are_given_are_calculated_with(sql: str, value: object) -> None:
    """They are the same in every run."""

    async def story(world: World) -> None:
        for _ in range(2):
            assert (await world.client("alice").database.execute(sql)).one() == (value,)

    assert tell(story).ok

"""Faults of the shared database: each really applied, shown by reading the table."""

from typing import Any

import attrs
import pytest
import trio

from durasim.actors import DatabaseFailed, QueryRows
from durasim.sim import (
    FailQuery,
    Fault,
    Job,
    LoseQuery,
    LoseQueryReply,
    Ordinary,
    RunResult,
    Scenario,
    SlowQuery,
    World,
    run_once,
)

from ..actors.stage import tell

TABLE = "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT)"
CLAIM = "INSERT OR IGNORE INTO claims VALUES (?, ?)"


@attrs.frozen
class Asked:
    """What one claim of alice came to: what she was told and when, and what is stored."""

    told: QueryRows | DatabaseFailed
    at_s: float
    stored: list[tuple[object, ...]]
    result: RunResult


def asked_under(fault: Fault, option: str) -> Asked:
    """Let *fault* strike one claim."""
    told: list[Any] = []

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        try:
            told.append(await world.client("alice").database.execute(CLAIM, "k", "alice"))
        except DatabaseFailed as error:
            told.append(error)
        told.extend((world.now_s, world.database.look("SELECT * FROM claims").rows))

    result = tell(story, ("query 1 of INSERT claims by alice", option), faults=[fault])
    return Asked(told[0], told[1], told[2], result)


def root(error: BaseException) -> BaseException | None:
    """Return the innermost cause, as run-claims.md 1.4 finds it: None if there is none within 8."""
    seen: list[BaseException] = []
    while len(seen) < 8:
        seen.append(error)
        if error.__cause__ is None:
            return error
        error = error.__cause__
        if error in seen:
            return None
    return None


def test_a_lost_query_and_a_lost_answer_look_the_same() -> None:
    """To whoever asked; the table and the trace tell them apart."""
    lost = asked_under(LoseQuery(), "lost")
    unheard = asked_under(LoseQueryReply(), "answer lost")

    assert lost.stored == []
    assert unheard.stored == [("k", "alice")]
    for each in (lost, unheard):
        assert isinstance(each.told, DatabaseFailed)
        assert not each.told.nothing_ran
        assert str(each.told) == (
            "INSERT claims failed: the connection was lost; nobody can tell whether it ran"
        )
        assert isinstance(each.told.__cause__, ConnectionResetError)
        assert each.at_s == 5
    rows = ("query", "queried", "told")
    assert [row.kind for row in lost.result.rows if row.kind in rows] == ["query", "told"]
    assert [row.kind for row in unheard.result.rows if row.kind in rows] == list(rows)


def test_a_slow_query_runs_at_once_and_answers_a_second_later() -> None:
    """Others see what it wrote before its asker knows."""
    seen: list[object] = []

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        query = world.client("alice").database.execute(CLAIM, "k", "alice")
        await trio.sleep(0.5)
        seen.extend((await world.client("bob").database.execute("SELECT owner FROM claims")).one())
        seen.append((await query).changes)
        seen.append(world.now_s)

    tell(story, ("query 1 of INSERT claims by alice", "slow"), faults=[SlowQuery()])
    assert seen == ["alice", 1, 1.0]


def test_a_locked_database_says_so_at_the_root() -> None:
    """Nothing ran, and it is certain."""
    asked = asked_under(FailQuery(), "locked")

    assert isinstance(asked.told, DatabaseFailed)
    assert asked.told.nothing_ran
    assert str(root(asked.told)) == "database is locked"
    assert (asked.stored, asked.at_s) == ([], 0)


def test_a_missing_table_on_the_way_is_not_the_root() -> None:
    """Whoever searches the whole chain for it is misled."""
    asked = asked_under(FailQuery(), "masked")

    assert isinstance(asked.told, DatabaseFailed)
    assert str(asked.told.__cause__) == "no such table: claims"
    assert str(root(asked.told)) == "database is locked"
    assert asked.stored == []


@pytest.mark.parametrize("option", ["cyclic", "deep"])
def test_a_chain_may_have_no_root(option: str) -> None:
    """It goes round, or is deeper than anyone may follow."""
    asked = asked_under(FailQuery(), option)

    assert isinstance(asked.told, DatabaseFailed)
    assert root(asked.told) is None
    assert asked.stored == []


def test_a_deep_chain_lies_at_its_end() -> None:
    """Whoever follows it without a bound believes in a missing table, which is there."""
    told = asked_under(FailQuery(causes=("deep",)), "deep").told
    assert isinstance(told, DatabaseFailed)
    error: BaseException = told
    causes = [str(error)]
    while error.__cause__ is not None:
        error = error.__cause__
        causes.append(str(error))

    assert causes[-1] == "no such table: claims"
    assert len(causes) == 11


def test_causes_are_asked_for_by_name() -> None:
    """Only those are options."""
    names = [name for name, _ in FailQuery(causes=("cyclic", "locked")).strikes("query")]

    assert names == ["locked", "cyclic"]


def test_a_fault_is_aimed_at_a_table_a_verb_or_a_participant() -> None:
    """Elsewhere it cannot strike."""
    log = run_once(
        Job(scenario=Scenario("aimed", aimed, AIMED), seed=1, source=Ordinary(), log=True)
    ).log
    aimable = ("lost", "answer lost", "slow")
    options = {name: [each for each in found if each in aimable] for name, found in log}

    assert options["query 1 of INSERT claims by alice"] == ["lost", "slow"]
    assert options["query 1 of UPDATE claims by alice"] == ["lost", "answer lost", "slow"]
    assert options["query 1 of UPDATE claims by bob"] == ["lost", "answer lost"]
    assert options["query 1 of batch DELETE other by bob"] == []


AIMED = (LoseQuery("claims"), LoseQueryReply("claims.UPDATE"), SlowQuery(caller="alice"))


async def aimed(world: World) -> None:
    """Ask for this and that."""
    world.database.prepare(TABLE, "CREATE TABLE other (a)")
    alice, bob = world.client("alice").database, world.client("bob").database
    await alice.execute(CLAIM, "k", "alice")
    await alice.execute("UPDATE claims SET owner = ?", "alice")
    await bob.execute("update claims set owner = ?", "bob")
    await bob.batch([("DELETE FROM other", ()), ("DELETE FROM claims", ())])

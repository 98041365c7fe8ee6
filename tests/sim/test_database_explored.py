"""Exploration over a shared database: its races and losses are found, and told in one fact."""

import os
import subprocess
import sys

import pytest
import trio

from durasim.actors import DurableObject
from durasim.sim import (
    Job,
    LoseQuery,
    LoseQueryReply,
    Ordinary,
    Scenario,
    World,
    every_fault,
    run_once,
    scenario,
)
from durasim.sim.explore import explore
from durasim.sim.ordinary import OrdinaryLog

from ..tidy import ROOT

TABLE = "CREATE TABLE claims (key TEXT, owner TEXT)"
IF_FREE = "INSERT INTO claims SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM claims WHERE key = ?1)"


class Starter(DurableObject):
    """Starts what nobody has started yet, three ways."""

    async def check_then_insert(self, key: str) -> None:
        """Two queries: another one may come between them."""
        found = await self.database.execute("SELECT owner FROM claims WHERE key = ?", key)
        if not found.rows:
            await self.database.execute("INSERT INTO claims VALUES (?, ?)", key, self.address.name)
            self.env["ledger"].note("started", key)  # type: ignore[attr-defined]

    async def insert_if_free(self, key: str) -> None:
        """One query; a claim whose answer is lost is nobody's for ever."""
        if (await self.database.execute(IF_FREE, key, self.address.name)).changes:
            self.env["ledger"].note("started", key)  # type: ignore[attr-defined]

    async def claim_and_look(self, key: str) -> None:
        """One query that decides, and one that tells who has it; the owner starts, once."""
        await self.database.execute(IF_FREE, key, self.address.name)
        (owner,) = (
            await self.database.execute("SELECT owner FROM claims WHERE key = ?", key)
        ).one()
        if owner == self.address.name and await self.storage.get("started", None) != key:
            await self.storage.put("started", key)
            self.env["ledger"].note("started", key)  # type: ignore[attr-defined]


async def tries(world: World, name: str, method: str) -> None:
    """Try to start until there is an answer."""
    for _ in range(3):
        try:
            await getattr(world.client(f"client of {name}").get(Starter, name), method)("run")
        except Exception:
            continue
        return


async def contest(world: World, method: str) -> None:
    """Let two try at once."""
    world.database.prepare(TABLE)
    async with trio.open_nursery() as nursery:
        for name in ("a", "b"):
            nursery.start_soon(tries, world, name, method)
    assert world.ledger.count("started", "run") == 1


@scenario()
async def checked(world: World) -> None:
    """Check, then act."""
    await contest(world, "check_then_insert")


@scenario(faults=(LoseQuery(at_most=1), LoseQueryReply(at_most=1)))
async def inserted(world: World) -> None:
    """Act if free."""
    await contest(world, "insert_if_free")


@scenario(faults=(LoseQuery(at_most=1), LoseQueryReply(at_most=1)))
async def looked(world: World) -> None:
    """Act if free, and look who has it."""
    await contest(world, "claim_and_look")


@pytest.mark.parametrize("seed", range(5))
def test_a_query_between_a_check_and_its_act_is_found(seed: int) -> None:
    """Within 40 runs, as one event that came behind another."""
    (found,) = explore(checked, runs=40, seed=seed).found

    assert [each.sentence for each in found.deviations] == [
        "query 1 of INSERT claims by Starter/a comes after everything else of that moment"
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_claim_whose_answer_is_lost_is_found(seed: int) -> None:
    """Within 40 runs, as one lost answer."""
    (found,) = explore(inserted, runs=40, seed=seed).found

    assert [each.sentence for each in found.deviations] == [
        "query 1 of INSERT claims by Starter/a runs, and its answer is lost"
    ]


def test_the_repaired_one_holds() -> None:
    """And both faults did strike."""
    exploration = explore(looked, runs=300)

    assert exploration.found == ()
    assert min(exploration.faults.values()) > 10


def test_lost_answers_and_the_steps_between_queries_are_aimed_at() -> None:
    """A lost answer is a loss as a lost reply is; queries are steps of whoever asks."""
    log = OrdinaryLog.of(run_once(Job(scenario=looked, seed=0, source=Ordinary(), log=True)).log)

    assert log.losses[0] == ("query 1 of INSERT claims by Starter/a", "answer lost")
    assert ("query 1 of INSERT claims by Starter/a", "lost") in log.others
    assert any("query 1 of SELECT claims by Starter/a" in actor for actor in log.steps)


@scenario(faults=every_fault())
async def ordinary(world: World) -> None:
    """Everything may happen, and nothing does."""
    await contest(world, "claim_and_look")


def digest_of(story: Scenario) -> str:
    """Return the digest of the ordinary run."""
    return run_once(Job(scenario=story, seed=1, source=Ordinary())).digest


def test_a_run_with_queries_is_the_same_in_every_process() -> None:
    """Whatever the order of hashes."""
    program = (
        "from tests.sim.test_database_explored import digest_of, ordinary\n"
        "print(digest_of(ordinary))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert digests == {digest_of(ordinary)}

"""Runs that came to a stop between two steps: no answer, and no second execution."""

from collections.abc import Generator
from typing import Any

import pytest
import trio

from durasim.actors import OutcomeUnknown
from durasim.actors.runs import (
    AgentTopology,
    Snapshot,
    Snapshots,
    StartReservations,
    ThreadObject,
)
from durasim.actors.runs.errors import StartReservationUnreadableError
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.sim import World

from .agents import DESIGNS, AgentStage
from .stage import ANN, WAYS, Stage, Topology, play, told
from .test_thread_object import request


@pytest.fixture
def stopping() -> Generator[pytest.MonkeyPatch]:
    """Let nothing be persisted of a run behind its first step, until the patch is undone."""
    write = Snapshots.write

    async def fails(self: Snapshots, snapshot: Snapshot) -> None:
        if snapshot.revision > 1:
            raise RunStateUnreadableError("the run cannot be persisted")
        await write(self, snapshot)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshots, "write", fails)
        yield patch


def status_of(stage: Stage) -> str:
    """Return the status of the one run."""
    (run,) = stage.query("SELECT status FROM flowsafe_runs")
    return str(run["status"])


@pytest.mark.parametrize(("topology", "design"), WAYS)
def test_a_run_that_stops_between_two_steps_is_no_answer(
    topology: Topology, design: str, stopping: pytest.MonkeyPatch
) -> None:
    """Its caller hears that nobody can tell, its key is for a person, who ends the run."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, design).open()
        status, body = await stage.start("k1", "pair")
        assert (status, body) == (503, {"error": "the run cannot be persisted"})
        assert status_of(stage) == "running"
        assert all(owner["is_settled"] for owner in stage.owners().values())
        stopping.undo()
        status, body = await stage.start("k1", "pair")
        assert (status, body["reason"]["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
        path = f"/runs/pair/{body['reason']['runId']}"
        assert told(await stage.send("GET", path))[1]["status"] == "running"
        status, ended = told(await stage.send("POST", f"{path}/terminate", {}))
        assert (status, ended["status"]) == (200, "cancelled")
        assert await stage.start("k1", "pair") == (200, ended)
        assert stage.executions() == 1

    play(story)


@pytest.mark.parametrize("design", DESIGNS)
def test_nor_is_one_of_an_agent(design: str, stopping: pytest.MonkeyPatch) -> None:
    """The same in a thread."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        status, error = await stage.ask("k1", "pair", "t1")
        assert (status, str(error)) == (503, "the run cannot be persisted")
        assert status_of(stage) == "running"
        stopping.undo()
        status, error = await stage.ask("k1", "pair")
        assert (status, error.reason["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
        run_id: Any = error.reason["runId"]
        ended = await stage.work(
            lambda services: AgentTopology(services).terminate("t1", "pair", run_id, ANN.owner)
        )
        assert ended["status"] == "cancelled"
        assert await stage.ask("k1", "pair") == (200, ended)
        assert stage.executions() == 1

    play(story)


@pytest.mark.parametrize("verb", ["terminate", "resume"])
@pytest.mark.parametrize(("topology", "design"), WAYS)
def test_case_5_whoever_ends_a_run_that_has_ended_spends_its_key(
    topology: Topology, design: str, verb: str
) -> None:
    """Settling it was lost when it ended: the key counts as work till then."""

    async def fails(*_args: object) -> int:
        raise StartReservationUnreadableError("lost")

    async def story(world: World) -> None:
        stage = await Stage(world, topology, design).open()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StartReservations, "settle_run", fails)
            _, first = await stage.start("k1")
        assert stage.log.kinds[-1] == "start-reservation-settle-failed"
        assert (stage.row("k1") or {})["state"] == "started"
        assert await stage.start("k1") == (200, first)
        path = f"/runs/order/{first['runId']}/{verb}"
        assert (await stage.send("POST", path, {})).status == 409
        assert (stage.row("k1") or {})["state"] == "terminal"
        assert await stage.start("k1") == (200, first)

    play(story)


def test_in_process_nobody_meets_a_deadline() -> None:
    """The process has no alarm: the run stays parked until somebody goes on with it."""

    async def story(world: World) -> None:
        stage = await Stage(world, "process", "router").open()
        _, parked = await stage.start("k1", "timed")
        await trio.sleep(1000)
        assert status_of(stage) == "suspended"
        path = f"/runs/timed/{parked['runId']}/resume"
        status, ended = told(await stage.send("POST", path, {"data": 7}))
        assert (status, ended["result"]) == (200, 7)

    play(story)


@pytest.mark.parametrize("design", DESIGNS)
def test_what_a_process_that_died_has_begun_stays_until_somebody_ends_it(design: str) -> None:
    """Nobody knows how far it came: the key is for a person, also when another process is there."""

    async def story(world: World) -> None:
        stage = await Stage(world, "process", design).open()

        async def first() -> None:
            with pytest.raises(OutcomeUnknown):
                await stage.start("k1", "slow")

        world.spawn("first", first)
        await trio.sleep(5)
        world.default().crash("on purpose")
        await trio.sleep(300)
        assert status_of(stage) == "pending"
        status, body = await stage.start("k1", "slow")
        assert (status, body["reason"]["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
        path = f"/runs/slow/{body['reason']['runId']}/terminate"
        status, ended = told(await stage.send("POST", path, {}))
        assert (status, ended["status"]) == (200, "cancelled")
        assert await stage.start("k1", "slow") == (200, ended)
        assert stage.executions() == 1

    play(story)


@pytest.mark.parametrize("design", DESIGNS)
def test_whoever_ends_what_died_in_a_thread_ends_nothing_and_harms_nothing(design: str) -> None:
    """What it has left is settled first: the thread can be asked, and its alarm serves the rest."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()

        async def first() -> None:
            await stage.ask("k1", "slow", "t1", by="first")

        world.spawn("first", first)
        await trio.sleep(5)
        world.default().crash("on purpose")
        await trio.sleep(1)
        path = f"/runs/slow/{(stage.row('k1') or {})['run_id']}"
        assert (await request(world, "t1", "POST", f"{path}/terminate"))[0] == 404
        assert (await request(world, "t1", "GET", f"{path}/dispatch-status"))[0] == 404
        await trio.sleep(61)
        assert world.stored(ThreadObject, "t1") == {}
        assert "thread-alarm-failed" not in stage.log.kinds
        status, error = await stage.ask("k1", "slow")
        assert (status, error.reason["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
        assert stage.executions() == 1

    play(story)

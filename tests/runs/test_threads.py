"""The agents' topology: keyed starts in threads, given back when the fence refuses."""

from typing import Any

import pytest
import trio

from durasim.actors.runs import Owner, Services, ThreadObject, is_execution_fence_refusal
from durasim.actors.runs.reservations import StartRequest, Target
from durasim.sim import World
from durasim.wire import RunRouteError

from .agents import DESIGNS, AgentStage
from .stage import play

each_design = pytest.mark.parametrize("design", DESIGNS)
BOT = Owner("agent", "bot")


@each_design
def test_an_agent_is_started_once_under_its_key(design: str) -> None:
    """The next call is shown the same, whatever it asks for and wherever."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        status, first = await stage.ask("k1", thread="t1")
        assert (status, first["status"], first["threadId"]) == (200, "success", "t1"), first
        assert await stage.ask("k1", prompt="other") == (200, first)
        assert stage.executions() == 1
        row = stage.row("k1")
        assert row is not None
        assert (row["state"], row["thread_id"], row["target_kind"]) == ("terminal", "t1", "agent")

    play(story)


@each_design
def test_case_12_a_retry_without_a_thread_goes_to_the_recorded_one(design: str) -> None:
    """It mints another thread; status, probe and start are asked of the one in the row."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        stage.close_between_claim_and_start()
        status, _ = await stage.ask("k1")
        assert status == 503
        row = stage.row("k1")
        assert row is not None
        assert row["state"] == "reserved"
        stage.log.hooks.clear()
        stage.put_fence("open")

        status, summary = await stage.ask("k1")
        assert (status, summary["threadId"]) == (200, row["thread_id"])
        assert summary["runId"] == row["run_id"]
        again = await stage.ask("k1", thread="elsewhere")
        assert again == (200, summary)
        assert stage.executions() == 1

    play(story)


@each_design
def test_case_21_a_refusal_arrives_as_a_route_error_and_the_claim_goes_back(design: str) -> None:
    """Status, message and reason survive, the class does not; what the thread wrote is undone."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        stage.close_between_claim_and_start()
        status, error = await stage.ask("k1", thread="t1")
        assert status == 503
        assert type(error) is RunRouteError
        assert is_execution_fence_refusal(error)
        assert error.reason == {"code": "EXECUTION_FENCED", "state": "draining"}
        row = stage.row("k1")
        assert row is not None
        assert row["state"] == "reserved"
        assert stage.executions() == 0
        assert world.stored(ThreadObject, "t1") == {}

    play(story)


def test_case_26_what_a_refused_start_of_a_second_run_wrote_is_undone() -> None:
    """The thread is bound by its first run and stays so; active is the one before."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        status, first = await stage.ask("k1", "chatter", "t1")
        assert (status, first["status"]) == (200, "suspended")
        before = world.stored(ThreadObject, "t1")
        stage.put_fence("migration-locked")

        status, _ = await stage.ask("k2", "chatter", "t1")
        assert status == 503
        assert world.stored(ThreadObject, "t1") == before
        assert before["flowsafe:thread-active:v1"] == f"chatter:{first['runId']}"
        assert [row["run_id"] for row in stage.query("SELECT * FROM flowsafe_runs")] == [
            first["runId"]
        ]

    play(story)


def test_case_10_and_11_a_key_of_another_principal_is_refused_without_a_word() -> None:
    """Whether a human on the router or an agent's caller came first; the target is not told."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        assert (await stage.ask("k1", owner=BOT))[0] == 200
        status, body = await stage.start("k1")
        assert (status, body["reason"]) == (403, {"code": "IDEMPOTENT_START_OWNER_MISMATCH"})

        assert (await stage.start("k2"))[0] == 200
        status, error = await stage.ask("k2", owner=BOT)
        assert (status, error.reason) == (403, {"code": "IDEMPOTENT_START_OWNER_MISMATCH"})

    play(story)


def test_a_key_of_another_agent_or_of_a_workflow_is_another_target() -> None:
    """The same owner is told which."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        assert (await stage.ask("k1"))[0] == 200
        status, error = await stage.ask("k1", "chatter")
        assert (status, error.reason["targetId"]) == (409, "helper")
        status, body = await stage.start("k1")
        assert (status, body["reason"]["targetKind"]) == (409, "agent")

    play(story)


def test_case_6_a_live_run_is_pending() -> None:
    """The probe is answered from memory, beside the leg; when it has ended the run is shown."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        answers: list[Any] = []

        async def first() -> None:
            answers.append(await stage.ask("k1", "slow", "t1", by="first"))

        world.spawn("first", first)
        await trio.sleep(5)
        status, error = await stage.ask("k1", "slow", by="second")
        assert (status, error.reason["code"]) == (503, "IDEMPOTENT_START_PENDING")
        await trio.sleep(20)
        ((status, summary),) = answers
        assert status == 200
        assert await stage.ask("k1", "slow") == (200, summary)
        assert stage.executions() == 1

    play(story)


@each_design
def test_case_7_a_claim_that_left_nothing_is_unresolvable_unless_it_can_be_sealed(
    design: str,
) -> None:
    """Claimed by somebody who died: only the sealer can tell that it never began."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()

        async def claim(services: Services) -> None:
            asked = StartRequest("k1", Owner("human", "ann"), Target("agent", "helper"), "t1")
            reserved = await services.store.reserve(asked, services.mint)
            row = reserved.reservation
            assert await services.store.claim(row.key, row.run_id) is not None

        await stage.work(claim)
        status, answer = await stage.ask("k1")
        if design == "sealer":
            assert (status, answer["threadId"]) == (200, "t1")
            assert stage.executions() == 1
        else:
            assert (status, answer.reason["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
            assert stage.executions() == 0

    play(story)


def test_a_thread_is_its_owners() -> None:
    """A stranger starts nothing in it, and learns nothing of it."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        assert (await stage.ask(thread="t1"))[0] == 200
        status, error = await stage.ask(thread="t1", owner=BOT)
        assert (status, str(error)) == (403, "this thread is not yours")
        status, error = await stage.ask("k1", thread="t1", owner=BOT)
        assert status == 403
        assert stage.query("SELECT name FROM sqlite_master WHERE name LIKE '%idempotency'") == []

    play(story)


def test_an_agent_that_nobody_knows_is_not_started() -> None:
    """404 before a thread is asked; a thread without a path-safe name is 400."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        assert (await stage.ask(agent="nobody"))[0] == 404
        assert (await stage.ask(thread="a/b"))[0] == 400

    play(story)


def test_a_host_without_reservations_takes_no_key() -> None:
    """503, never silently ignored; a thread without reservations refuses to serve at all."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, reservations="none").open()
        status, error = await stage.ask("k1")
        assert (status, error.reason["code"]) == (503, "IDEMPOTENT_START_UNSUPPORTED")
        status, _ = await stage.ask()
        assert status == 500

    play(story)

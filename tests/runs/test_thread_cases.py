"""Numbered cases of spec/run-claims.md 5 that are told of threads."""

from typing import Any

import pytest
import trio

from durasim.actors.runs import REGISTRY, RunOwners, ThreadObject
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.sim import World

from .agents import DESIGNS, AgentStage
from .stage import play
from .test_thread_object import request

each_design = pytest.mark.parametrize("design", DESIGNS)
DEADLINE = "flowsafe:thread-deadline:v1/"
ATTEMPT = "flowsafe:thread-run-recovery:v1/"
PROOF = "proof-key"


def proof(stage: AgentStage, key: str = PROOF) -> None:
    """Put the fence into proof-only for *key*, with no run yet."""
    stage.world.database.prepare(
        "UPDATE flowsafe_execution_fence SET state = 'proof-only', "
        f"proof_key = '{key}', proof_run_id = NULL"
    )


def slot(stage: AgentStage) -> Any:
    """Return the run in the slot for proofs."""
    return stage.query("SELECT proof_run_id FROM flowsafe_execution_fence")[0]["proof_run_id"]


def test_case_33_a_deadline_under_a_lock_is_neither_charged_nor_lost() -> None:
    """It is tried every minute, counts no attempt, and is met after the reopening."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        _, summary = await stage.ask(agent="timed", thread="t1")
        key = f"{DEADLINE}timed:{summary['runId']}"
        stage.put_fence("migration-locked")
        await trio.sleep(101 + 20 * 60)
        assert world.stored(ThreadObject, "t1")[key]["attempts"] == 0
        assert stage.log.kinds.count("thread-deadline-failed") == 21
        assert world.ledger.count("resumed") == 0
        stage.put_fence("draining")
        await trio.sleep(61)
        assert world.ledger.count("resumed") == 1
        assert key not in world.stored(ThreadObject, "t1")

    play(story)


def test_a_deadline_that_ends_the_run_asks_no_fence() -> None:
    """Timing out is ungated; the thread has no active run then."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        _, summary = await stage.ask(agent="cut", thread="t1")
        stage.put_fence("migration-locked")
        await trio.sleep(101)
        _, run = await request(world, "t1", "GET", f"/runs/cut/{summary['runId']}")
        assert run["status"] == "timed_out"
        assert (await request(world, "t1", "GET", "/thread"))[1]["activeRunId"] is None

    play(story)


def test_a_deadline_that_keeps_failing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five tries that count; the alarm itself never fails."""

    async def fails(*_args: Any) -> None:
        raise RunStateUnreadableError("lost")

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        _, summary = await stage.ask(agent="timed", thread="t1")
        key = f"{DEADLINE}timed:{summary['runId']}"
        monkeypatch.setattr(RunnerRuntime, "resume", fails)
        await trio.sleep(101 + 60 * (1 + 2 + 4))
        assert world.stored(ThreadObject, "t1")[key]["attempts"] == 4
        await trio.sleep(3600)
        assert key not in world.stored(ThreadObject, "t1")
        assert stage.log.kinds.count("thread-deadline-failed") == 5

    play(story)


def test_a_deadline_of_a_run_that_has_ended_is_dropped() -> None:
    """Whoever ended it did so in the shared database alone."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        await stage.ask(agent="timed", thread="t1")
        world.database.prepare("UPDATE flowsafe_runs SET status = 'success'")
        await trio.sleep(101)
        assert not [key for key in world.stored(ThreadObject, "t1") if key.startswith(DEADLINE)]
        assert stage.log.kinds == []

    play(story)


@each_design
def test_case_34_only_the_nominated_key_starts_and_binds(design: str) -> None:
    """No key and another key are refused; what was claimed for them goes back."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        proof(stage)
        for key in (None, "another"):
            assert (await stage.ask(key))[0] == 503
        assert slot(stage) is None
        status, summary = await stage.ask(PROOF)
        assert (status, slot(stage)) == (200, summary["runId"])
        row = stage.row("another")
        assert row is not None
        assert row["state"] == "reserved"

    play(story)


def test_case_35_a_second_start_with_the_proof_key_is_refused() -> None:
    """A trusted caller posts a run id of its own: the slot is another run's."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        proof(stage)
        status, summary = await stage.ask(PROOF, thread="t1")
        assert status == 200
        body = f'{{"workflowId":"helper","runId":"own","threadId":"t2","idempotencyKey":"{PROOF}"}}'
        status, answer = await request(world, "t2", "POST", "/runs", body.encode())
        assert (status, answer["reason"]) == (
            503, {"code": "EXECUTION_FENCED", "state": "proof-only"},
        )  # fmt: skip
        assert slot(stage) == summary["runId"]
        assert stage.executions() == 1
        assert world.stored(ThreadObject, "t2") == {}

    play(story)


def test_case_37_the_proof_run_goes_on_and_no_other() -> None:
    """By signal and by resume."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        await stage.ask("before", "chatter", "t1")
        proof(stage)
        status, proven = await stage.ask(PROOF, "chatter", "t2")
        assert (status, proven["status"]) == (200, "suspended")
        assert (await stage.signal("t1"))[0] == 503
        status, answer = await stage.signal("t2")
        assert (status, answer["woken"]["status"]) == (202, "success")

    play(story)


def test_case_40_a_start_that_is_refused_before_the_runtime_leaves_the_slot_alone() -> None:
    """The thread binds nothing: only what has come through the runtime's gate does."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        proof(stage)
        assert (await stage.ask(PROOF, "nobody"))[0] == 404
        body = f'{{"workflowId":"nobody","runId":"r","threadId":"t1","idempotencyKey":"{PROOF}"}}'
        assert (await request(world, "t1", "POST", "/runs", body.encode()))[0] == 404
        assert slot(stage) is None
        assert (await stage.ask(PROOF))[0] == 200

    play(story)


@each_design
def test_case_43_a_refused_start_that_is_still_registered_is_pending(
    monkeypatch: pytest.MonkeyPatch, design: str
) -> None:
    """The row is free again while the thread cleans up: nobody claims it before that has ended."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        stage.put_fence("draining")
        recover = RunnerRuntime.recover_start_attempt

        async def slowly(runtime: RunnerRuntime, *names: str) -> Any:
            await trio.sleep(10)
            return await recover(runtime, *names)

        monkeypatch.setattr(RunnerRuntime, "recover_start_attempt", slowly)
        answers: list[Any] = []

        async def first() -> None:
            answers.append(await stage.ask("k1", thread="t1", by="first"))

        world.spawn("first", first)
        await trio.sleep(5)
        stage.put_fence("open")
        world.database.prepare("UPDATE flowsafe_start_idempotency SET state = 'reserved'")
        status, error = await stage.ask("k1", by="second")
        assert (status, error.reason["code"]) == (503, "IDEMPOTENT_START_PENDING")
        await trio.sleep(20)
        assert answers[0][0] == 503
        assert (await stage.ask("k1", by="third"))[0] == 200
        assert stage.executions() == 1

    play(story)


@each_design
def test_case_44_a_refusal_from_inside_of_a_run_ends_it_as_failed(design: str) -> None:
    """The body of a task that cannot park raises one: the run had begun, the claim is spent."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        status, summary = await stage.ask("k1", "nested")
        assert (status, summary["status"]) == (200, "failed")
        assert summary["error"]["name"] == "ExecutionFencedError"
        assert await stage.ask("k1", "nested") == (200, summary)
        row = stage.row("k1")
        assert row is not None
        assert row["state"] == "terminal"
        assert stage.executions() == 1

    play(story)


@each_design
def test_case_47_a_recovery_that_fails_leaves_the_refusal_and_is_made_up_for(
    monkeypatch: pytest.MonkeyPatch, design: str
) -> None:
    """The claim goes back, the records stay; the next start settles them first."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        stage.close_between_claim_and_start()

        async def fails(*_args: Any) -> None:
            raise RunStateUnreadableError("lost")

        with monkeypatch.context() as patch:
            patch.setattr(RunnerRuntime, "recover_start_attempt", fails)
            status, error = await stage.ask("k1", thread="t1")
        assert (status, error.reason["code"]) == (503, "EXECUTION_FENCED")
        row = stage.row("k1")
        assert row is not None
        assert row["state"] == "reserved"
        name = f"helper:{row['run_id']}"
        assert ATTEMPT + name in world.stored(ThreadObject, "t1")
        assert f"run/{name}" in world.stored(RunOwners, REGISTRY)

        stage.log.hooks.clear()
        stage.put_fence("open")
        status, summary = await stage.ask("k1")
        assert (status, summary["runId"]) == (200, row["run_id"])
        assert world.stored(RunOwners, REGISTRY)[f"run/{name}"]["is_settled"] is True
        assert stage.executions() == 1

    play(story)


def test_case_47_the_alarm_makes_up_for_it_too() -> None:
    """What a refused start left behind is gone a minute later."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        stage.put_fence("draining")

        async def fails(*_args: Any) -> None:
            raise RunStateUnreadableError("lost")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunnerRuntime, "recover_start_attempt", fails)
            await stage.ask("k1", thread="t1")
            await trio.sleep(61)
            assert world.stored(ThreadObject, "t1") != {}
            assert "thread-alarm-failed" in stage.log.kinds
        await trio.sleep(61)
        assert world.stored(ThreadObject, "t1") == {}
        assert not [key for key in world.stored(RunOwners, REGISTRY) if key.startswith("run/")]

    play(story)


def test_a_start_whose_owner_cannot_be_settled_is_settled_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It came to something and is answered; the record stays until the registry answers."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()

        async def fails(*_args: Any) -> None:
            raise ConnectionError("nobody there")

        with monkeypatch.context() as patch:
            patch.setattr(RunOwners, "settle", fails)
            status, _ = await stage.ask(thread="t1")
        assert status == 200
        assert stage.log.kinds == ["thread-run-settle-failed"]
        assert any(key.startswith(ATTEMPT) for key in world.stored(ThreadObject, "t1"))
        await trio.sleep(61)
        assert not any(key.startswith(ATTEMPT) for key in world.stored(ThreadObject, "t1"))

    play(story)


@each_design
def test_case_4_a_run_that_died_with_its_thread_runs_no_more(design: str) -> None:
    """Its leg had begun: the shell goes, the claim stays, and nothing is charged again."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, design).open()
        answers: list[Any] = []

        async def first() -> None:
            answers.append(await stage.ask("k1", "slow", "t1", by="first"))

        world.spawn("first", first)
        await trio.sleep(5)
        world.default().crash("on purpose")
        await trio.sleep(40)
        assert answers[0][0] == 500
        assert stage.executions() == 1
        status, error = await stage.ask("k1", "slow")
        assert (status, error.reason["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
        await trio.sleep(61)
        assert world.stored(ThreadObject, "t1") == {}
        assert stage.query("SELECT * FROM flowsafe_runs") == []
        assert (await stage.ask("k1", "slow"))[0] == 409
        assert stage.executions() == 1

    play(story)

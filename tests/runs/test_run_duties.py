"""What the object of a run does behind a start: recovery, deadlines, the proof, seals, cuts."""

from typing import Any

import pytest
import trio

from durasim.actors import OutcomeUnknown
from durasim.actors.runs import RunObject, RunOwners, StepContext, Workflow
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.sim import World

from .run_objects import DEADLINE, JOURNAL, RUN, nothing_is_left, tell
from .stage import Stage, play


def test_case_4_what_a_dead_attempt_has_left_is_settled_by_the_alarm() -> None:
    """The shell is deleted, the owner released; the key stays claimed, and runs no second time."""

    async def story(stage: Stage) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lost, stage)
            await trio.sleep(10)
            assert stage.query("SELECT status FROM flowsafe_runs") == [{"status": "pending"}]
            stage.world.default().crash("on purpose")
        row = stage.row("k1")
        assert row is not None
        assert JOURNAL in stage.stored(f"slow:{row['run_id']}")
        await trio.sleep(61)
        assert nothing_is_left(stage, f"slow:{row['run_id']}")
        status, body = await stage.start("k1", "slow")
        assert (status, body["reason"]["code"]) == (409, "IDEMPOTENT_START_UNRESOLVABLE")
        assert stage.executions() == 1

    async def lost(stage: Stage) -> None:
        with pytest.raises(OutcomeUnknown):
            await stage.start("k1", "slow")

    tell(story)


def test_an_attempt_that_has_persisted_is_settled_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An owner that could not be settled at once is settled by the next question."""

    async def story(stage: Stage) -> None:
        settle = RunOwners.settle

        async def fails(*_args: Any) -> bool:
            raise OSError("lost")

        monkeypatch.setattr(RunOwners, "settle", fails)
        status, summary = await stage.start_at_object(RUN)
        assert (status, summary["status"]) == (200, "success")
        assert JOURNAL in stage.stored(RUN)
        monkeypatch.setattr(RunOwners, "settle", settle)
        assert await stage.ask_object("GET", RUN, "dispatch-status") == (200, summary)
        assert JOURNAL not in stage.stored(RUN)
        ((owner,),) = [stage.owners().values()]
        assert owner["is_settled"]

    tell(story)


def test_a_journal_that_cannot_be_settled_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the alarm each minute, and by whoever asks, who is told that nobody can tell."""

    async def story(stage: Stage) -> None:
        settle = RunOwners.settle

        async def fails(*_args: Any) -> bool:
            raise OSError("lost")

        monkeypatch.setattr(RunOwners, "settle", fails)
        assert (await stage.start_at_object(RUN))[0] == 200
        await trio.sleep(121)
        assert stage.log.kinds.count("run-alarm-failed") == 2
        assert (await stage.ask_object("GET", RUN, "dispatch-status"))[0] == 503
        monkeypatch.setattr(RunOwners, "settle", settle)
        await trio.sleep(60)
        assert JOURNAL not in stage.stored(RUN)
        assert stage.log.kinds.count("run-alarm-failed") == 2

    tell(story)


def test_a_start_that_takes_longer_than_a_minute_is_left_alone() -> None:
    """The alarm of its journal comes by, and looks again later."""

    async def story(world: World) -> None:
        async def long(run: StepContext) -> str:
            await run.sleep(100)
            return run.run_id

        stage = Stage(world, "objects", "router", workflows=(Workflow("long", (long,)),))
        await stage.open()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(unanswered, stage)
            await trio.sleep(90)
            (run,) = stage.query("SELECT status FROM flowsafe_runs")
            assert run["status"] == "pending"
        await trio.sleep(20)
        assert (await stage.start("k1", "long"))[1]["status"] == "success"
        assert stage.log.kinds.count("run-alarm-failed") == 0

    async def unanswered(stage: Stage) -> None:
        with pytest.raises(OutcomeUnknown):
            await stage.start("k1", "long")

    play(story)


def test_an_attempt_whose_answer_was_lost_in_the_object_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What bears its token is its own: the start answers with it, and its owner is settled."""

    async def story(stage: Stage) -> None:
        start = RunnerRuntime.start

        async def dies(self: RunnerRuntime, *args: Any) -> Any:
            await start(self, *args)
            raise RunStateUnreadableError("the answer was lost")

        monkeypatch.setattr(RunnerRuntime, "start", dies)
        status, summary = await stage.start_at_object(RUN)
        assert (status, summary["status"]) == (200, "success")
        assert JOURNAL not in stage.stored(RUN)

    tell(story)


def test_a_parked_run_goes_on_when_the_fence_lets_it() -> None:
    """Draining lets what exists complete; a lock does not."""

    async def story(stage: Stage) -> None:
        status, summary = await stage.start("k1", "pair")
        assert (status, summary["status"]) == (200, "suspended")
        path = f"/runs/pair/{summary['runId']}"
        stage.put_fence("migration-locked")
        refused = await stage.send("POST", f"{path}/resume", {"data": 1})
        assert refused.status == 503
        stage.put_fence("draining")
        assert (await stage.send("POST", f"{path}/resume", {"data": 1})).status == 200
        assert (await stage.send("POST", f"{path}/resume", {"data": 1})).status == 409
        assert (await stage.send("POST", f"{path}/terminate")).status == 409
        assert (await stage.start("k1", "pair"))[1]["result"] == 1
        assert stage.executions() == 1

    tell(story)


def test_a_live_leg_is_cut_and_stays_cut() -> None:
    """Terminating is ungated, cancels the leg first, and can be said again."""

    async def story(stage: Stage) -> None:
        answers: list[Any] = []

        async def first() -> None:
            answers.append(await stage.start("k1", "slow"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(first)
            await trio.sleep(10)
            stage.put_fence("migration-locked")
            run = f"slow:{(stage.row('k1') or {})['run_id']}"
            status, body = await stage.ask_object("POST", run, "terminate", {})
            assert (status, body["status"]) == (200, "cancelled")
        assert answers == [(200, body)]
        for verb in ("terminate", "deadline", "terminate-replay"):
            assert await stage.ask_object("POST", run, verb, {}) == (200, body)
        assert stage.query("SELECT cleaned FROM flowsafe_runs") == [{"cleaned": 1}]
        assert (stage.row("k1") or {})["state"] == "terminal"
        assert (await stage.ask_object("POST", run, "resume", {}))[0] == 503
        stage.put_fence("open")
        assert (await stage.ask_object("POST", run, "resume", {}))[0] == 409

    tell(story)


def test_case_33_a_deadline_under_a_lock_is_neither_charged_nor_lost() -> None:
    """It is tried every minute, counts no attempt, and is met after the reopening."""

    async def story(stage: Stage) -> None:
        _, summary = await stage.start("k1", "timed")
        run = f"timed:{summary['runId']}"
        stage.put_fence("migration-locked")
        await trio.sleep(101 + 20 * 60)
        assert stage.stored(run)[DEADLINE]["attempts"] == 0
        assert stage.log.kinds.count("run-deadline-failed") == 21
        assert stage.world.ledger.count("resumed") == 0
        stage.put_fence("draining")
        await trio.sleep(61)
        assert stage.world.ledger.count("resumed") == 1
        assert DEADLINE not in stage.stored(run)
        assert (await stage.ask_object("GET", run))[1]["result"] == {"deadline": True}

    tell(story)


def test_a_deadline_that_ends_the_run_asks_no_fence() -> None:
    """Timing out is ungated."""

    async def story(stage: Stage) -> None:
        _, summary = await stage.start("k1", "cut")
        stage.put_fence("migration-locked")
        await trio.sleep(101)
        assert (await stage.start("k1", "cut"))[1]["status"] == "timed_out"
        assert DEADLINE not in stage.stored(f"cut:{summary['runId']}")

    tell(story)


def test_a_deadline_that_keeps_failing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five tries that count, each later than the one before; the alarm itself never fails."""

    async def story(stage: Stage) -> None:
        _, summary = await stage.start("k1", "timed")
        run = f"timed:{summary['runId']}"

        async def fails(*_args: Any) -> None:
            raise RunStateUnreadableError("lost")

        monkeypatch.setattr(RunnerRuntime, "resume", fails)
        await trio.sleep(101 + 60 * (1 + 2 + 4))
        assert stage.stored(run)[DEADLINE]["attempts"] == 4
        await trio.sleep(60 * 8 + 1)
        assert DEADLINE not in stage.stored(run)
        assert stage.log.kinds.count("run-deadline-failed") == 5

    tell(story)


def test_a_deadline_of_a_run_that_has_gone_on_is_dropped() -> None:
    """Nothing is resumed twice."""

    async def story(stage: Stage) -> None:
        _, summary = await stage.start("k1", "timed")
        run = f"timed:{summary['runId']}"
        assert (await stage.ask_object("POST", run, "resume", {"data": "early"}))[0] == 200
        assert DEADLINE not in stage.stored(run)
        await trio.sleep(200)
        assert stage.world.ledger.count("resumed") == 1
        _, summary = await stage.start("k2", "timed")
        stage.world.database.prepare("DELETE FROM flowsafe_runs")
        await trio.sleep(101)
        assert DEADLINE not in stage.stored(f"timed:{summary['runId']}")
        assert stage.log.kinds.count("run-deadline-failed") == 0

    tell(story)


def test_cases_34_35_37_one_proof_through_the_lock() -> None:
    """The nominated key alone starts, binds its run, and that run alone goes on."""

    async def story(stage: Stage) -> None:
        _, other = await stage.start("before", "ask")
        assert await stage.move("open", "proof-only", "k1") == 200
        assert (await stage.start(None, "ask"))[0] == 503
        assert (await stage.start("k2", "ask"))[0] == 503
        status, proof = await stage.start("k1", "ask")
        assert (status, proof["status"]) == (200, "suspended")
        second = await stage.start_at_object("ask:r9", idempotencyKey="k1")
        assert (second[0], second[1]["reason"]["state"]) == (503, "proof-only")
        paths = [f"/runs/ask/{summary['runId']}/resume" for summary in (other, proof)]
        assert [(await stage.send("POST", path, {})).status for path in paths] == [503, 200]

    tell(story)


def test_case_40_the_objects_own_gate_leaves_the_proof_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start that is refused behind it has not burnt the one proof."""

    async def story(stage: Stage) -> None:
        async def unreadable(*_args: Any) -> None:
            raise RunStateUnreadableError("lost")

        assert await stage.move("open", "proof-only", "k1") == 200
        monkeypatch.setattr(RunObject, "_settle_pending", unreadable)
        assert (await stage.start_at_object("order:r1", idempotencyKey="k1"))[0] == 503
        monkeypatch.undo()
        (row,) = stage.query("SELECT proof_run_id FROM flowsafe_execution_fence")
        assert row["proof_run_id"] is None
        assert (await stage.start_at_object("order:r2", idempotencyKey="k1"))[0] == 200
        (row,) = stage.query("SELECT proof_run_id FROM flowsafe_execution_fence")
        assert row["proof_run_id"] == "r2"

    tell(story)


def test_a_sealed_claim_executes_nothing_however_late_it_comes() -> None:
    """Also behind a crash of the object; a later claim of the key is another one."""

    async def story(stage: Stage) -> None:
        sealed = await stage.ask_object("POST", RUN, "seal", {"stamp": 5})
        assert sealed == (200, {"sealed": True})
        stage.world.default().crash("on purpose")
        for stamp in (4, 5):
            late = await stage.start_at_object(RUN, idempotencyKey="k1", claimStamp=stamp)
            assert (late[0], late[1]["reason"]["conflict"]) == (409, "claim-sealed")
        assert nothing_is_left(stage)
        assert stage.executions() == 0
        assert (await stage.ask_object("POST", RUN, "seal", {"stamp": "5"}))[0] == 400
        assert (await stage.start_at_object(RUN))[0] == 200
        assert await stage.ask_object("POST", RUN, "seal", {"stamp": 6}) == (
            200,
            {"sealed": False},
        )

    tell(story, "sealer")


@pytest.mark.parametrize("design", ["holder", "sealer"])
def test_a_start_whose_claim_is_not_the_row_executes_nothing(design: str) -> None:
    """The bind fails with the first snapshot: no step, no shell, no owner."""

    async def story(stage: Stage) -> None:
        late = await stage.start_at_object(RUN, idempotencyKey="k1", claimStamp=5)
        assert late[0] == 503, late
        stage.close_between_claim_and_start()
        await stage.start("k1")
        stage.log.hooks.clear()
        stage.put_fence("open")
        row = stage.row("k1")
        assert row is not None
        run = f"order:{row['run_id']}"
        late = await stage.start_at_object(run, idempotencyKey="k1", claimStamp=1)
        assert (late[0], late[1]["reason"]["conflict"]) == (409, "reservation-changed")
        assert nothing_is_left(stage, run)
        assert stage.executions() == 0

    tell(story, design)

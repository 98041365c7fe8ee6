"""The object of a run: the order of its start, what it leaves behind, and what it does later."""

from typing import Any

import pytest
import trio

from durasim.actors import WebRequest
from durasim.actors.runs import RunObject, StepContext, Workflow
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.identity import IDENTITY_HEADER
from durasim.actors.runs.journal import Journal
from durasim.actors.runs.requests import PRINCIPAL_HEADER, principal_header
from durasim.actors.runs.reservations import Owner
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.sim import World

from .run_objects import JOURNAL, RUN, nothing_is_left, tell
from .stage import ANN, IDENTITY, Stage, charge, play


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({}, {IDENTITY_HEADER: ""}, 503),
        ({}, {IDENTITY_HEADER: "another deployment"}, 503),
        ({}, {PRINCIPAL_HEADER: ""}, 403),
        ({}, {PRINCIPAL_HEADER: '["nobody", "ann"]'}, 403),
        ({"workflowId": 7}, {}, 400),
        ({"workflowId": "a/b"}, {}, 400),
        ({"runId": None}, {}, 400),
        ({"runId": "r2"}, {}, 500),
        ({"idempotencyKey": "a b"}, {}, 400),
        ({"runId": "r2", "idempotencyKey": "a b"}, {}, 500),
        ({"runId": None}, {PRINCIPAL_HEADER: ""}, 403),
        ({"payload": "x" * (2 << 20)}, {}, 413),
        ({"payload": "x" * (2 << 20)}, {PRINCIPAL_HEADER: ""}, 403),
        ({"claimStamp": 5}, {}, 400),
        ({"scheduleId": "a b"}, {}, 400),
        ({"workflowId": "order"}, {}, 200),
    ],
)
def test_a_start_is_checked_before_anything_is_written(
    body: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    """Identity, principal, body, names, key: each with its status, the first that is wrong."""

    async def story(stage: Stage) -> None:
        asked = {"workflowId": "order", "runId": "r1", **body}
        answer = await stage.ask_object("POST", RUN, "start", asked, **headers)
        assert answer[0] == status, answer
        assert nothing_is_left(stage) == (status != 200)

    tell(story)


def test_a_deployment_that_is_not_provisioned_answers_nothing() -> None:
    """503 before the request is looked at; so does one on another deployment's database."""

    async def story(world: World) -> None:
        stage = Stage(world, "objects", "router")
        assert (await stage.start_at_object(RUN))[0] == 503
        await stage.open()
        world.database.prepare("UPDATE flowsafe_deployment SET sentinel = 'theirs'")
        assert (await stage.start_at_object(RUN))[0] == 503
        world.database.prepare("DELETE FROM flowsafe_deployment")
        assert (await stage.start_at_object(RUN))[0] == 503

    play(story)


def test_an_object_needs_a_fence_and_reservations() -> None:
    """With a real database, opting out of either is a mistake of the wiring."""
    for missing in ("fence", "reservations"):

        async def story(stage: Stage) -> None:
            status, body = await stage.start_at_object(RUN)
            assert (status, "needs a fence" in body["error"]) == (500, True)

        tell(story, **{missing: "none"})


@pytest.mark.parametrize("verb", ["", "start-liveness"])
def test_an_object_answers_for_its_own_run_only(verb: str) -> None:
    """A request that names another run came to the wrong object: 500, as a wiring mistake is."""

    async def story(stage: Stage) -> None:
        path = "/runs/order/other" + (f"/{verb}" if verb else "")
        given = {IDENTITY_HEADER: IDENTITY, PRINCIPAL_HEADER: principal_header(ANN.owner)}
        stub = stage.world.client("inside").get(RunObject, RUN)
        answer = await stub.serve(WebRequest("GET", path, b"", given))
        assert answer.status == 500
        assert b"order:other does not live in order:r1" in answer.body

    tell(story)


def test_what_is_no_route_is_not_there() -> None:
    """And a stream needs an upgrade; a run that is not there is 404."""

    async def story(stage: Stage) -> None:
        assert (await stage.ask_object("GET", RUN, "start"))[0] == 404
        assert (await stage.ask_object("PUT", RUN, "resume"))[0] == 404
        assert (await stage.ask_object("GET", RUN, "stream"))[0] == 426
        for verb in ("", "dispatch-status"):
            assert (await stage.ask_object("GET", RUN, verb))[0] == 404
        assert (await stage.ask_object("POST", RUN, "terminate", {}))[0] == 404
        stub = await stage.ask_object("GET", "order:r2", "", **{PRINCIPAL_HEADER: ""})
        assert stub[0] == 404

    tell(story)


def test_the_fence_stands_before_everything_of_the_run() -> None:
    """A refused start has read and written nothing; not even an existing run comes first."""

    async def story(stage: Stage) -> None:
        stage.put_fence("draining")
        status, body = await stage.start_at_object(RUN)
        assert (status, body["reason"]["code"]) == (503, "EXECUTION_FENCED")
        assert nothing_is_left(stage)
        assert stage.stored(RUN) == {}
        stage.put_fence("open")
        assert (await stage.start_at_object(RUN))[0] == 200
        assert (await stage.start_at_object(RUN))[0] == 409
        stage.put_fence("draining")
        status, body = await stage.start_at_object(RUN)
        assert (status, body["reason"]["code"]) == (503, "EXECUTION_FENCED")

    tell(story)


def test_a_run_that_is_there_is_not_started_again() -> None:
    """409 for its owner; to somebody else it is a plain error."""

    async def story(stage: Stage) -> None:
        assert (await stage.start_at_object(RUN))[0] == 200
        status, body = await stage.start_at_object(RUN)
        assert (status, "reason" in body) == (409, False)
        asked = {"workflowId": "order", "runId": "r1"}
        bob = {PRINCIPAL_HEADER: principal_header(Owner("human", "bob"))}
        assert (await stage.ask_object("POST", RUN, "start", asked, **bob))[0] == 500
        assert stage.executions() == 1

    tell(story)


@pytest.mark.parametrize("design", ["router", "holder", "sealer"])
def test_case_26_a_fence_that_closes_between_the_two_gates(
    design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Journal and ownership are undone, the fence's error goes out, and the claim goes back."""

    async def story(stage: Stage) -> None:
        arm = Journal.arm

        def closing(journal: Journal, pending: Any) -> None:
            arm(journal, pending)
            stage.put_fence("migration-locked")

        monkeypatch.setattr(Journal, "arm", closing)
        status, body = await stage.start("k1")
        assert (status, body["reason"]["state"]) == (503, "migration-locked")
        row = stage.row("k1")
        assert row is not None
        assert row["state"] == "reserved"
        assert nothing_is_left(stage, f"order:{row['run_id']}")
        monkeypatch.setattr(Journal, "arm", arm)
        stage.put_fence("open")
        assert (await stage.start("k1"))[0] == 200
        assert stage.executions(row["run_id"]) == 1

    tell(story, design)


def test_case_47_a_recovery_that_fails_keeps_the_refusal_and_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fence's error goes out all the same; the next start settles the journal first."""

    async def story(stage: Stage) -> None:
        refused: list[str] = []

        async def shut(_runtime: RunnerRuntime, order: Any) -> None:
            if not refused:
                refused.append(order.run_id)
                raise ExecutionFencedError("draining", "run start")

        async def unreadable(*_args: Any) -> None:
            raise RunStateUnreadableError("lost")

        recover = RunnerRuntime.recover_start_attempt
        monkeypatch.setattr(RunnerRuntime, "_assert_start_fence", shut)
        monkeypatch.setattr(RunnerRuntime, "recover_start_attempt", unreadable)
        assert (await stage.start("k1"))[0] == 503
        run = f"order:{refused[0]}"
        assert JOURNAL in stage.stored(run)
        assert stage.owners() != {}
        assert "run-owner-recovery-failed" in stage.log.kinds
        assert (stage.row("k1") or {})["state"] == "reserved"
        monkeypatch.setattr(RunnerRuntime, "recover_start_attempt", recover)
        status, summary = await stage.start("k1")
        assert (status, summary["runId"]) == (200, refused[0])
        assert JOURNAL not in stage.stored(run)
        assert stage.executions() == 1

    tell(story)


def test_case_6_a_start_under_way_is_live_beside_the_lock() -> None:
    """A retry is told that it is pending; when it has ended, it is shown."""

    async def story(stage: Stage) -> None:
        answers: list[Any] = []

        async def first() -> None:
            answers.append(await stage.start("k1", "slow"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(first)
            await trio.sleep(10)
            row = stage.row("k1")
            assert row is not None
            run = f"slow:{row['run_id']}"
            assert await stage.ask_object("GET", run, "start-liveness") == (200, {"live": True})
            status, body = await stage.start("k1", "slow")
            assert (status, body["reason"]["pendingSince"]) == (503, row["updated_at"])
            status, body = await stage.ask_object("GET", run)
            assert (status, body["status"]) == (200, "pending")
            assert await stage.ask_object("POST", run, "seal", {"stamp": 1}) == (
                200,
                {"sealed": False},
            )
        assert await stage.start("k1", "slow") == answers[0]
        assert await stage.ask_object("GET", run, "start-liveness") == (200, {"live": False})
        assert stage.executions() == 1

    tell(story)


def test_case_25_a_run_past_its_gate_is_not_preempted() -> None:
    """A step closes the fence: its run completes, and only the next start is refused."""

    async def story(world: World) -> None:
        async def closes(run: StepContext) -> str:
            stage.put_fence("migration-locked")
            return run.run_id

        workflows = (Workflow("closing", (closes, charge)), Workflow("order", (charge,)))
        stage = await Stage(world, "objects", "router", workflows=workflows).open()
        status, body = await stage.start("k1", "closing")
        assert (status, body["status"]) == (200, "success")
        assert (await stage.start("k2"))[0] == 503
        assert stage.executions() == 1

    play(story)

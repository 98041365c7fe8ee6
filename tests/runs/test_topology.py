"""Where runs live: one suite over the process and the objects."""

from typing import Any

import pytest
import trio

from durasim.actors import OutcomeUnknown, RunRouteError, WebResponse
from durasim.actors.runs import RunObject, Services
from durasim.actors.runs.errors import ExecutionFencedError, StartReservationUnreadableError
from durasim.actors.runs.http import json_response
from durasim.actors.runs.refusal import is_execution_fence_refusal
from durasim.actors.runs.reservations import Claim, Owner, Reservation, Target
from durasim.actors.runs.run_errors import RunAdmissionConflictError
from durasim.actors.runs.runtime import RunnerRuntime, RunOrder
from durasim.actors.runs.topology import (
    InProcess,
    ObjectBacked,
    RunTopology,
    clear_answer,
    result_of,
)
from durasim.sim import World

from .stage import ANN, Stage, Topology, play

BOTH = pytest.mark.parametrize("kind", ["objects", "process"])
ROW = Reservation("k", ANN.owner, Target("workflow", "order"), "r", None, "started", 1, 2)


def made(kind: Topology, services: Services) -> RunTopology:
    """Return a topology that lives as long as the program of a test."""
    if kind == "process":
        return InProcess(services, services.runtime(services.deployment.workflows))
    return ObjectBacked(services)


def order(workflow: str = "order", **more: Any) -> RunOrder:
    """Return what a start of the run "r" asks for."""
    return RunOrder(workflow_id=workflow, run_id="r", owner=ANN.owner, **more)


def tell(kind: Topology, story: Any, design: str = "router") -> None:
    """Run *story* with a stage and a topology."""

    async def whole(world: World) -> None:
        stage = await Stage(world, kind, design).open()
        await stage.work(lambda services: story(stage, made(kind, services)))

    play(whole)


@BOTH
def test_a_run_is_started_shown_and_gone_on_with(kind: Topology) -> None:
    """The same answers wherever it lives."""

    async def story(_stage: Stage, runs: RunTopology) -> None:
        assert await runs.status("ask", "r") is None
        assert await runs.dispatched("ask", "r") is None
        parked = await runs.start(order("ask"))
        assert (parked["runId"], parked["status"]) == ("r", "suspended")
        assert await runs.status("ask", "r") == parked
        assert await runs.dispatched("ask", "r") == parked
        ended = await runs.resume("ask", "r", {"yes": True}, ANN.owner)
        assert ended["result"] == {"yes": True}
        with pytest.raises(Exception, match="has ended"):
            await runs.terminate("ask", "r", ANN.owner)

    tell(kind, story)


@BOTH
def test_a_parked_run_is_terminated(kind: Topology) -> None:
    """It has been cut, and is shown so."""

    async def story(_stage: Stage, runs: RunTopology) -> None:
        await runs.start(order("ask"))
        ended = await runs.terminate("ask", "r", ANN.owner)
        assert ended["status"] == "cancelled"
        assert await runs.terminate("ask", "r", ANN.owner) == ended

    tell(kind, story)


@BOTH
def test_4_4_a_refusal_is_recognised_in_the_shape_in_which_it_arrives(kind: Topology) -> None:
    """In process the class itself; over the wire status, message and reason of it."""

    async def story(stage: Stage, runs: RunTopology) -> None:
        stage.put_fence("draining")
        with pytest.raises(Exception, match="run start is refused") as raised:
            await runs.start(order())
        error = raised.value
        assert type(error) is (ExecutionFencedError if kind == "process" else RunRouteError)
        assert is_execution_fence_refusal(error)
        assert error.reason == {"code": "EXECUTION_FENCED", "state": "draining"}

    tell(kind, story)


@BOTH
def test_what_executes_is_live_and_has_no_result(kind: Topology) -> None:
    """When it has ended it is the other way round; and neither can be sealed."""

    async def story(_stage: Stage, runs: RunTopology) -> None:
        row = Reservation("k", ANN.owner, Target("workflow", "slow"), "r", None, "started", 1, 2)
        assert not await runs.live(row)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(runs.start, order("slow"))
            await trio.sleep(2)
            assert await runs.live(row)
            assert await runs.persisted(row) is None
            assert not await runs.seal(row)
        assert not await runs.live(row)
        assert (await runs.persisted(row) or {})["status"] == "success"
        assert not await runs.seal(row)

    tell(kind, story)


@BOTH
def test_a_sealed_claim_is_refused_for_good(kind: Topology) -> None:
    """A start that comes later with it executes nothing; a newer claim is another one."""

    async def story(stage: Stage, runs: RunTopology) -> None:
        assert await runs.seal(ROW)
        assert await runs.seal(ROW)
        late = order(key="k", claim=Claim("k", "r", 2))
        with pytest.raises((RunAdmissionConflictError, RunRouteError)) as raised:
            await runs.start(late)
        assert isinstance(raised.value, RunAdmissionConflictError | RunRouteError)
        assert (raised.value.reason or {})["conflict"] == "claim-sealed"
        assert not is_execution_fence_refusal(raised.value)
        assert stage.executions() == 0
        assert stage.query("SELECT * FROM flowsafe_runs") == []

    tell(kind, story, "sealer")


@pytest.mark.parametrize(
    "response",
    [
        json_response(200, {}),
        json_response(200, {"live": "true"}),
        json_response(200, {"live": None}),
        json_response(200, True),
        json_response(201, {"live": True}),
        json_response(503, {"live": False}),
        WebResponse(200, b"yes"),
        WebResponse(200),
    ],
)
def test_only_a_clear_answer_counts(response: WebResponse, monkeypatch: Any) -> None:
    """Best reading 3: anything else is unreadable, and the row is left alone."""

    async def answers(_self: RunObject, _request: Any) -> WebResponse:
        return response

    async def story(_stage: Stage, runs: RunTopology) -> None:
        monkeypatch.setattr(RunObject, "serve", answers)
        with pytest.raises(StartReservationUnreadableError):
            await runs.live(ROW)
        with pytest.raises(StartReservationUnreadableError):
            await runs.seal(ROW)

    tell("objects", story)


def test_an_object_that_cannot_be_reached_is_not_dead(monkeypatch: Any) -> None:
    """A probe that is lost says nothing about the run; neither does a status."""

    async def lost(_self: RunObject, _request: Any) -> WebResponse:
        raise OSError("lost")

    async def story(_stage: Stage, runs: RunTopology) -> None:
        monkeypatch.setattr(RunObject, "serve", lost)
        for asked in (runs.live(ROW), runs.seal(ROW), runs.persisted(ROW)):
            with pytest.raises(StartReservationUnreadableError) as raised:
                await asked
            assert isinstance(raised.value.__cause__, OSError)

    tell("objects", story)


def test_an_object_that_says_that_it_cannot_tell_is_believed(monkeypatch: Any) -> None:
    """Its own error is handed on."""

    async def unreadable(_self: RunObject, _request: Any) -> WebResponse:
        return json_response(503, {"error": "the run cannot be read"})

    async def story(_stage: Stage, runs: RunTopology) -> None:
        monkeypatch.setattr(RunObject, "serve", unreadable)
        with pytest.raises(RunRouteError, match="cannot be read"):
            await runs.persisted(ROW)

    tell("objects", story)


def test_a_start_in_process_that_dies_behind_its_result_shows_it(monkeypatch: Any) -> None:
    """And one that has left nothing raises its own error, also if looking for it fails."""

    async def story(stage: Stage, runs: RunTopology) -> None:
        start = RunnerRuntime.start

        async def dies(self: RunnerRuntime, asked: RunOrder, token: str) -> Any:
            await start(self, asked, token)
            raise OutcomeUnknown("lost")

        monkeypatch.setattr(RunnerRuntime, "start", dies)
        assert (await runs.start(order()))["status"] == "success"

        async def fails(*_args: Any) -> Any:
            raise OutcomeUnknown("lost")

        monkeypatch.setattr(RunnerRuntime, "start", fails)
        monkeypatch.setattr(RunnerRuntime, "recover_start_attempt", fails)
        with pytest.raises(OutcomeUnknown):
            await runs.start(order())
        assert stage.log.kinds == ["run-recovery-failed"]

    tell("process", story)


def test_case_18_what_is_on_its_way_is_no_result() -> None:
    """A pending shell is not shown again."""
    assert result_of(None) is None
    assert result_of({"status": "pending"}) is None
    assert result_of({"status": "running"}) is None
    assert result_of({"status": "success"}) == {"status": "success"}


def test_a_clear_answer_is_yes_or_no() -> None:
    """With the right status."""
    assert clear_answer(json_response(200, {"live": True}), "live")
    assert not clear_answer(json_response(200, {"live": False}), "live")
    assert Owner("human", "ann") == ANN.owner

"""The front of a deployment: who is let in, and what is answered without a run."""

import json
from typing import Any

import pytest
import trio

from durasim.actors import WebRequest, WebResponse
from durasim.actors.runs import RunObject, RunProcess, RunRouter
from durasim.actors.runs.callers import Caller
from durasim.actors.runs.engine import Workflow
from durasim.actors.runs.identity import IDENTITY_HEADER
from durasim.actors.runs.requests import PRINCIPAL_HEADER
from durasim.sim import World

from .stage import WAYS, Stage, Topology, play, told

OBJECTS: Topology = "objects"


def tell(story: Any, topology: Topology = OBJECTS, design: str = "router", **more: Any) -> None:
    """Run *story* with an open deployment."""

    async def whole(world: World) -> None:
        await story(await Stage(world, topology, design, **more).open())

    play(whole)


@pytest.mark.parametrize(
    ("who", "body", "status"),
    [
        ("nobody", {"workflowId": "order"}, 401),
        ("", {"workflowId": "order"}, 401),
        ("eve", {"workflowId": "order"}, 403),
        ("ann", {"workflowId": "x" * (1 << 20)}, 413),
        ("ann", {}, 400),
        ("ann", {"workflowId": 7}, 400),
        ("ann", {"workflowId": "order", "runId": "mine"}, 400),
        ("ann", {"workflowId": "order", "runId": None}, 400),
        ("ann", {"workflowId": "unknown"}, 404),
        ("ann", {"workflowId": "guarded"}, 403),
        ("ann", {"workflowId": "order", "idempotencyKey": "a b"}, 400),
        ("ann", {"workflowId": "order", "idempotencyKey": 7}, 400),
        ("ann", {"workflowId": "order", "idempotencyKey": None}, 200),
    ],
)
def test_3_1_a_start_is_refused_in_order(who: str, body: dict[str, Any], status: int) -> None:
    """Each with its status; nothing was reserved, and no answer is kept by a cache."""

    async def story(stage: Stage) -> None:
        response = await stage.send("POST", "/runs", body, who=who)
        assert response.status == status, response
        assert response.headers["cache-control"] == "no-store"
        assert stage.query("SELECT * FROM flowsafe_start_idempotency") == []
        assert stage.executions() == (status == 200)

    tell(story)


@pytest.mark.parametrize("header", [IDENTITY_HEADER, PRINCIPAL_HEADER])
def test_what_only_the_deployment_may_send_is_refused(header: str) -> None:
    """Whatever its value."""

    async def story(stage: Stage) -> None:
        response = await stage.send("POST", "/runs", {"workflowId": "order"}, **{header: "x"})
        assert response.status == 403

    tell(story)


@pytest.mark.parametrize("topology", ["objects", "process"])
def test_a_deployment_that_is_not_provisioned_answers_503(topology: Topology) -> None:
    """Also to its operators: the fence is not reachable before."""

    async def story(world: World) -> None:
        stage = Stage(world, topology, "router")
        assert (await stage.start("k1"))[0] == 503
        assert await stage.move("open", "draining") == 503
        await stage.open()
        assert await stage.move("open", "draining") == 200

    play(story)


def test_routes_that_are_not_there() -> None:
    """404 for a path, 405 for a method, 404 for a run."""

    async def story(stage: Stage) -> None:
        assert (await stage.send("GET", "/nowhere")).status == 404
        assert (await stage.send("GET", "/runs")).status == 405
        assert (await stage.send("GET", "/runs/order/r")).status == 404

    tell(story)


def test_a_host_without_reservations_takes_no_key() -> None:
    """A key is never silently ignored; a start without one is started."""

    async def story(stage: Stage) -> None:
        status, body = await stage.start("k1")
        assert (status, body["reason"]["code"]) == (503, "IDEMPOTENT_START_UNSUPPORTED")
        assert (await stage.start())[0] == 200
        assert stage.executions() == 1

    tell(story, "process", reservations="none")


def test_a_policy_is_asked_before_the_key_is_reserved() -> None:
    """What it raises is what the caller sees; it is asked for a replay, too."""
    asked: list[tuple[str, str, Any]] = []

    async def policy(caller: Caller, workflow: Workflow, payload: Any) -> None:
        asked.append((caller.owner.id, workflow.id, payload))
        if payload == "no":
            raise PermissionError("not today")

    async def story(stage: Stage) -> None:
        assert (await stage.start("k1", payload="no"))[0] == 500
        assert stage.row("k1") is None
        assert (await stage.start("k1", payload="yes"))[0] == 200
        assert (await stage.start("k1", payload="no"))[0] == 500

    tell(story, before_start=policy)
    assert asked == [("ann", "order", "no"), ("ann", "order", "yes"), ("ann", "order", "no")]


@pytest.mark.parametrize(("topology", "design"), WAYS)
def test_2_6_what_each_caller_sees(topology: Topology, design: str) -> None:
    """The answers about a key that is there: another target, another person, a run that failed."""

    async def story(stage: Stage) -> None:
        _, first = await stage.start("k1")
        status, body = await stage.start("k1", "pair")
        assert (status, body["reason"]["code"]) == (409, "IDEMPOTENT_START_TARGET_MISMATCH")
        for workflow in ("order", "pair"):
            status, body = await stage.start("k1", workflow, who="bob")
            assert (status, body["reason"]) == (403, {"code": "IDEMPOTENT_START_OWNER_MISMATCH"})
        status, failed = await stage.start("k2", "broken")
        assert (status, failed["error"]["message"]) == (200, "on purpose")
        assert await stage.start("k2", "broken") == (200, failed)
        assert told(await stage.send("GET", f"/runs/order/{first['runId']}")) == (200, first)
        stage.world.database.prepare("DELETE FROM flowsafe_runs")
        status, body = await stage.start("k1")
        assert (status, body["reason"]["code"]) == (409, "IDEMPOTENT_START_ALREADY_SETTLED")
        assert stage.executions() == 2

    tell(story, topology, design)


@pytest.mark.parametrize(("topology", "design"), WAYS)
def test_case_15_a_parked_run_files_its_approval_once(topology: Topology, design: str) -> None:
    """The first answer shows it; a replay shows the run alone, and files nothing."""

    async def story(stage: Stage) -> None:
        status, first = await stage.start("k1", "ask")
        (approval,) = first.pop("approvals")
        assert (status, approval["runId"]) == (200, first["runId"])
        for _ in range(2):
            assert await stage.start("k1", "ask") == (200, first)
        assert len(stage.query("SELECT * FROM flowsafe_approvals")) == 1
        path = f"/approvals/{approval['id']}/decision"
        stage.put_fence("migration-locked")
        before = stage.query("SELECT * FROM flowsafe_approvals")
        assert (await stage.send("POST", path, {"decision": "approved"})).status == 503
        assert stage.query("SELECT * FROM flowsafe_approvals") == before
        stage.put_fence("open")
        status, ended = told(await stage.send("POST", path, {"decision": "approved"}))
        assert (status, ended["status"]) == (200, "success")
        assert stage.world.ledger.count("resumed") == 1

    tell(story, topology, design)


def test_approvals_that_cannot_be_filed_do_not_hide_the_run() -> None:
    """They are filed when the start is answered again."""

    async def story(stage: Stage) -> None:
        stage.world.database.prepare("CREATE TABLE flowsafe_approvals (id TEXT)")
        status, first = await stage.start("k1", "ask")
        assert (status, first["status"]) == (200, "suspended")
        assert "approvals" not in first
        assert "approval-filing-failed" in stage.log.kinds
        stage.world.database.prepare("DROP TABLE flowsafe_approvals")
        assert await stage.start("k1", "ask") == (200, first)
        assert len(stage.query("SELECT * FROM flowsafe_approvals")) == 1

    tell(story)


@pytest.mark.parametrize(("topology", "where"), [("objects", RunObject), ("process", RunProcess)])
def test_l5_a_reply_that_is_lost_is_answered_with_its_reason(
    topology: Topology, where: type[RunObject | RunProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    """504, nobody can say whether it ran; the same call is shown what it came to."""
    serve = where.serve

    async def late(self: Any, request: WebRequest) -> WebResponse:
        answer = await serve(self, request)
        if request.method == "POST":
            await trio.sleep(40)
        return answer

    async def story(stage: Stage) -> None:
        async def ask() -> tuple[int, Any]:
            content = json.dumps({"workflowId": "order", "idempotencyKey": "k1"}).encode()
            headers = {"authorization": "Bearer ann"}
            router = stage.world.client("ann").worker(RunRouter, deadline_s=100)
            return told(await router.fetch(WebRequest("POST", "/runs", content, headers)))

        with monkeypatch.context() as patch:
            patch.setattr(where, "serve", late)
            status, unknown = await ask()
        assert (status, unknown["reason"]) == (504, {"code": "OUTCOME_UNKNOWN"})
        status, shown = await ask()
        assert (status, shown["status"]) == (200, "success")
        assert stage.executions() == 1

    tell(story, topology)

"""Approvals: filed once, decided behind the fence, handed on until the run has taken it."""

from collections.abc import Mapping
from typing import Any

import pytest

from durasim.actors.runs.approvals import Approval, ApprovalService, ApprovalSettledError, Decided
from durasim.actors.runs.errors import ExecutionFencedError, ExecutionFenceUnreadableError
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.reservations import Owner
from durasim.actors.runs.run_errors import RunNotSuspendedError, RunStateUnreadableError
from durasim.actors.runs.surface import MissingError
from durasim.actors.runs.tables import TablesUnreadableError
from durasim.sim import World

from .local import LOCKED, Clock, LocalDatabase, Log, Names, always_locked, move, never
from .stage import Stage, Topology, play, told

ANN = Owner("human", "ann")
PARKED = {
    "workflowId": "order",
    "runId": "run-1",
    "status": "suspended",
    "suspended": {"question": "go on?"},
    "suspension": 3,
}
DONE = {"workflowId": "order", "runId": "run-1", "status": "success"}


class Run:
    """A run that takes decisions, or fails as told."""

    def __init__(self) -> None:
        self.taken: list[Mapping[str, Any]] = []
        self.error: Exception | None = None
        self.summary: Mapping[str, Any] = DONE

    async def resume(self, approval: Approval, decision: Mapping[str, Any]) -> Any:
        """Take a decision."""
        assert approval.suspension == 3
        if self.error is not None:
            raise self.error
        self.taken.append(decision)
        return self.summary


@pytest.fixture
def run() -> Run:
    """Return a run that waits."""
    return Run()


@pytest.fixture
def service(
    database: LocalDatabase, fence: ExecutionFence, run: Run, clock: Clock, log: Log
) -> ApprovalService:
    """Return no approvals yet."""
    return ApprovalService(database, fence, run, clock, Names("approval"), log)


def rows(database: LocalDatabase) -> list[tuple[object, ...]]:
    """Return everything that is stored of approvals."""
    return database.look("SELECT * FROM flowsafe_approvals ORDER BY id")


async def test_case_15_a_suspension_is_filed_once(
    service: ApprovalService, database: LocalDatabase, log: Log
) -> None:
    """However often its start is answered: by filing again, and by each replay."""
    (filed,) = await service.file(PARKED)
    assert (filed.run_id, filed.request, filed.state) == (
        "run-1", {"question": "go on?"}, "pending",
    )  # fmt: skip
    assert await service.file(PARKED) == [filed]
    for _ in range(3):
        await service.reconcile(PARKED)
    assert len(rows(database)) == 1
    assert log.kinds == ["approval-filed"]


async def test_a_replay_files_what_was_never_filed(
    service: ApprovalService, database: LocalDatabase
) -> None:
    """Whoever had started the run died before."""
    await service.reconcile(PARKED)

    assert len(rows(database)) == 1


async def test_what_a_run_has_gone_on_from_is_closed(service: ApprovalService) -> None:
    """The next suspension has an approval of its own; a run that has ended has none open."""
    await service.file(PARKED)
    (second,) = await service.file({**PARKED, "suspension": 5})
    assert [each.state for each in await service.of_run("run-1")] == ["superseded", "pending"]

    await service.reconcile(DONE)
    assert [each.state for each in await service.of_run("run-1")] == ["superseded"] * 2
    with pytest.raises(ApprovalSettledError):
        await service.decide(second.id, "approved", ANN)


@pytest.mark.parametrize("hear", ["file", "reconcile"])
async def test_an_answer_that_comes_late_closes_no_later_approval(
    service: ApprovalService, database: LocalDatabase, hear: str
) -> None:
    """Whoever was shown an earlier suspension files nothing, also if that one was never filed."""
    later = {**PARKED, "suspension": 5}
    await service.file(later)
    before = rows(database)

    await getattr(service, hear)(PARKED)

    assert rows(database) == before
    assert [each.state for each in await service.of_run("run-1")] == ["pending"]


@pytest.mark.parametrize("decided", ["approved", "declined"])
async def test_a_decision_is_handed_on_once(
    service: ApprovalService, run: Run, clock: Clock, decided: Decided
) -> None:
    """Deciding the same again changes nothing; deciding otherwise is refused."""
    (filed,) = await service.file(PARKED)
    clock.now += 5

    assert await service.decide(filed.id, decided, ANN) == DONE
    expected = {"approvalId": filed.id, "approved": decided == "approved"}
    assert run.taken == [expected]
    stored = await service.get(filed.id)
    assert stored is not None
    assert (stored.state, stored.decided_by, stored.resumed_at) == (decided, ANN, clock.now)

    again = await service.decide(filed.id, decided, ANN)
    assert again == {"workflowId": "order", "runId": "run-1", **expected}
    other: Decided = "declined" if decided == "approved" else "approved"
    with pytest.raises(ApprovalSettledError):
        await service.decide(filed.id, other, ANN)
    assert len(run.taken) == 1


async def test_case_29_a_locked_deployment_stores_no_decision(
    service: ApprovalService,
    fence: ExecutionFence,
    database: LocalDatabase,
    clock: Clock,
    run: Run,
) -> None:
    """503, and the row is byte-identical, `updated_at` too; after the reopening it completes."""
    (filed,) = await service.file(PARKED)
    await move(fence, FenceState.LOCKED)
    before = rows(database)
    clock.now += 1

    with pytest.raises(ExecutionFencedError) as raised:
        await service.decide(filed.id, "approved", ANN)
    assert raised.value.status == 503
    assert rows(database) == before
    assert run.taken == []

    await move(fence, FenceState.OPEN)
    assert await service.decide(filed.id, "approved", ANN) == DONE
    assert len(run.taken) == 1


async def test_case_30_every_decision_reads_the_fence_anew(
    service: ApprovalService, fence: ExecutionFence
) -> None:
    """In both directions."""
    (filed,) = await service.file(PARKED)
    for _ in range(2):
        await move(fence, FenceState.LOCKED)
        with pytest.raises(ExecutionFencedError):
            await service.decide(filed.id, "approved", ANN)
        await move(fence, FenceState.DRAINING)
        await service.decide(filed.id, "approved", ANN)


async def test_a_fence_that_cannot_be_read_is_shut(
    service: ApprovalService, database: LocalDatabase
) -> None:
    """Nothing is written."""
    (filed,) = await service.file(PARKED)
    before = rows(database)
    database.failing = lambda label: LOCKED if "fence" in label else None

    with pytest.raises(ExecutionFenceUnreadableError):
        await service.decide(filed.id, "approved", ANN)
    assert rows(database) == before


async def test_a_decision_that_may_not_have_arrived_is_sent_again(
    service: ApprovalService, run: Run, log: Log
) -> None:
    """It stands; the fence may have closed meanwhile, or the answer was lost."""
    (filed,) = await service.file(PARKED)
    run.error = RunStateUnreadableError("lost")
    with pytest.raises(RunStateUnreadableError):
        await service.decide(filed.id, "approved", ANN)
    assert log.kinds[-1] == "approval-resume-failed"
    stored = await service.get(filed.id)
    assert stored is not None
    assert (stored.state, stored.resumed_at) == ("approved", None)

    run.error = None
    assert await service.decide(filed.id, "approved", ANN) == DONE
    assert len(run.taken) == 1


async def test_a_run_that_has_gone_on_is_not_asked_again(
    service: ApprovalService, run: Run
) -> None:
    """It had taken the decision, and the answer was lost; or somebody has ended it."""
    (filed,) = await service.file(PARKED)
    run.error = RunNotSuspendedError("run-1 has gone on")
    answer = await service.decide(filed.id, "approved", ANN)
    assert answer["approved"] is True
    stored = await service.get(filed.id)
    assert stored is not None
    assert stored.resumed_at is not None


async def test_the_next_suspension_is_filed_by_the_decision_that_led_to_it(
    service: ApprovalService, run: Run
) -> None:
    """A run that asks twice has two approvals."""
    (filed,) = await service.file(PARKED)
    run.summary = {**PARKED, "suspension": 5}
    await service.decide(filed.id, "approved", ANN)

    assert [each.state for each in await service.of_run("run-1")] == ["approved", "pending"]


async def test_filing_that_fails_after_a_run_has_gone_on_is_logged(
    service: ApprovalService, database: LocalDatabase, log: Log
) -> None:
    """The run stands; a replay makes it good."""
    database.failing = always_locked
    await service.agree(PARKED)
    assert log.kinds == ["approval-filing-failed"]
    with pytest.raises(TablesUnreadableError):
        await service.file(PARKED)
    database.failing = never
    assert await service.get("nothing") is None


async def test_an_approval_that_is_not_there_is_missing(service: ApprovalService) -> None:
    """404."""
    with pytest.raises(MissingError):
        await service.decide("nothing", "approved", ANN)


@pytest.mark.parametrize("topology", ["objects", "process"])
def test_a_start_that_parks_says_what_it_waits_for(topology: Topology) -> None:
    """The first answer has the approvals, a replay has not; the decision lets the run go on."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, "router").open()
        status, first = await stage.start("k1", "ask")
        assert (status, first["status"]) == (200, "suspended")
        (filed,) = first["approvals"]
        for _ in range(2):
            status, again = await stage.start("k1", "ask")
            assert (status, again) == (
                200, {key: value for key, value in first.items() if key != "approvals"},
            )  # fmt: skip
        assert len(stage.query("SELECT * FROM flowsafe_approvals")) == 1

        path = f"/approvals/{filed['id']}"
        assert told(await stage.send("GET", path)) == (200, filed)
        assert (await stage.send("GET", path, who="bob")).status == 403
        assert (await stage.send("GET", "/approvals/nothing")).status == 404
        wrong = await stage.send("POST", f"{path}/decision", {"decision": "maybe"})
        assert wrong.status == 400
        for _ in range(2):
            decided = await stage.send("POST", f"{path}/decision", {"decision": "approved"})
            assert decided.status == 200
        assert world.ledger.count("resumed") == 1
        status, ended = await stage.start("k1", "ask")
        assert (status, ended["status"], ended["result"]["approved"]) == (200, "success", True)

    play(story)


def test_ending_a_run_closes_its_approval() -> None:
    """Nobody can decide it any more, and it is no outstanding work."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        _, first = await stage.start("k1", "ask")
        run = f"/runs/ask/{first['runId']}/terminate"
        assert (await stage.send("POST", run)).status == 200
        path = f"/approvals/{first['approvals'][0]['id']}/decision"
        declined = await stage.send("POST", path, {"decision": "declined"})
        assert declined.status == 409
        (row,) = stage.query("SELECT state FROM flowsafe_approvals")
        assert row["state"] == "superseded"

    play(story)


def test_only_a_person_decides() -> None:
    """A service may look; what it decides is refused, and nothing is written."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        _, parked = await stage.start("k1", "ask")
        (approval,) = parked["approvals"]
        path = f"/approvals/{approval['id']}"
        before = stage.query("SELECT * FROM flowsafe_approvals")
        decision = {"decision": "approved"}
        status, body = told(await stage.send("POST", f"{path}/decision", decision, who="robot"))
        assert (status, body) == (403, {"error": "only a person decides"})
        assert stage.query("SELECT * FROM flowsafe_approvals") == before
        assert (await stage.send("GET", path, who="robot")).status == 200

    play(story)

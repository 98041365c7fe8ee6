"""Snapshots: one row a run, inserted once, persisted forward only."""

from typing import Any

import attrs
import pytest

from durasim.actors.runs.run_errors import RunAlreadyExistsError, RunStateUnreadableError
from durasim.actors.runs.snapshots import (
    PARKED,
    TERMINABLE,
    TERMINAL,
    Binding,
    Snapshot,
    Snapshots,
    is_result,
)

from .local import LOCKED, LocalDatabase

SHELL = Snapshot(
    workflow_id="order",
    run_id="r",
    payload={"a": [1, None]},
    requester=("human", "ann"),
    created_at=7,
    updated_at=7,
)
RUNNING = attrs.evolve(
    SHELL,
    status="running",
    step=1,
    revision=1,
    start_token="t",
    results=({"b": 1},),
    state={"c": 2},
)


@pytest.fixture
def snapshots(database: LocalDatabase) -> Snapshots:
    """Return the snapshots of an empty database."""
    return Snapshots(database)


async def test_a_run_is_read_back_as_it_was_persisted(snapshots: Snapshots) -> None:
    """Every field crosses the row."""
    assert await snapshots.read("order", "r") is None
    assert await snapshots.create(SHELL, None)
    assert await snapshots.read("order", "r") == SHELL
    parked = attrs.evolve(
        RUNNING,
        status="suspended",
        suspended={"ask": "?"},
        deadline_ms=9,
        on_deadline="time-out",
        thread_id=None,
        request_context={"tenant": "t"},
        error=None,
    )
    await snapshots.write(parked)
    assert await snapshots.read("order", "r") == parked
    assert await snapshots.read("order", "r2") is None


async def test_case_54_reading_makes_no_table(
    database: LocalDatabase, snapshots: Snapshots
) -> None:
    """Neither does deleting a shell that is not there."""
    await snapshots.read("order", "r")
    await snapshots.delete_shell("order", "r")
    assert database.tables() == []


async def test_a_run_is_created_once(snapshots: Snapshots) -> None:
    """The second one is told so, and the first stays as it is."""
    await snapshots.create(SHELL, None)
    with pytest.raises(RunAlreadyExistsError):
        await snapshots.create(attrs.evolve(SHELL, payload="other"), None)
    assert await snapshots.read("order", "r") == SHELL


async def test_a_binding_and_the_first_snapshot_are_one(
    database: LocalDatabase, snapshots: Snapshots
) -> None:
    """Where the condition does not hold neither is written; where the run is there neither is."""
    database.make("CREATE TABLE claims (stamp, token)")
    database.make("INSERT INTO claims VALUES (5, NULL)")

    def binding(stamp: int) -> Binding:
        return Binding(
            ("EXISTS (SELECT 1 FROM claims WHERE stamp = ?)", (stamp,)),
            ("UPDATE claims SET token = 't', stamp = 6 WHERE stamp = ?", (stamp,)),
        )

    assert not await snapshots.create(SHELL, binding(4))
    assert await snapshots.read("order", "r") is None
    await snapshots.create(attrs.evolve(SHELL, run_id="r2"), None)
    with pytest.raises(RunAlreadyExistsError):
        await snapshots.create(attrs.evolve(SHELL, run_id="r2"), binding(5))
    assert database.look("SELECT * FROM claims") == [(5, None)]
    assert await snapshots.create(SHELL, binding(5))
    assert database.look("SELECT * FROM claims") == [(6, "t")]
    assert await snapshots.read("order", "r") == SHELL


async def test_an_update_that_comes_late_changes_nothing(snapshots: Snapshots) -> None:
    """The same one again is once; an older one is told that it is behind."""
    await snapshots.create(SHELL, None)
    last = attrs.evolve(RUNNING, status="success", revision=2)
    await snapshots.write(last)
    await snapshots.write(last)
    with pytest.raises(RunStateUnreadableError, match="further on"):
        await snapshots.write(RUNNING)
    assert await snapshots.read("order", "r") == last


async def test_what_a_run_did_is_not_lost_for_one_message(
    database: LocalDatabase, snapshots: Snapshots
) -> None:
    """A failed write is tried again, three times in all."""
    await snapshots.create(SHELL, None)
    left = [LOCKED, LOCKED]
    database.failing = lambda _label: left.pop() if left else None
    await snapshots.write(RUNNING)
    assert await snapshots.read("order", "r") == RUNNING
    left = [LOCKED] * 3
    with pytest.raises(RunStateUnreadableError, match="cannot be persisted"):
        await snapshots.write(attrs.evolve(RUNNING, revision=2))


async def test_only_a_shell_is_deleted(snapshots: Snapshots) -> None:
    """A run that bears a token, or has gone on, stays."""
    await snapshots.create(SHELL, None)
    await snapshots.delete_shell("order", "r2")
    assert await snapshots.read("order", "r") == SHELL
    await snapshots.delete_shell("order", "r")
    assert await snapshots.read("order", "r") is None
    await snapshots.create(SHELL, None)
    await snapshots.write(RUNNING)
    await snapshots.delete_shell("order", "r")
    assert await snapshots.read("order", "r") == RUNNING


async def test_a_failure_is_not_absence(database: LocalDatabase, snapshots: Snapshots) -> None:
    """Nobody can tell, in every direction."""
    database.failing = lambda _label: LOCKED
    for asked in (
        snapshots.create(SHELL, None),
        snapshots.read("order", "r"),
        snapshots.delete_shell("order", "r"),
    ):
        with pytest.raises(RunStateUnreadableError):
            await asked


@pytest.mark.parametrize("change", ["body = 'no JSON'", "body = '{}'", "status = 'odd'"])
async def test_a_row_that_makes_no_sense_is_not_absent(
    database: LocalDatabase, snapshots: Snapshots, change: str
) -> None:
    """It is unreadable."""
    await snapshots.create(SHELL, None)
    database.make(f"UPDATE flowsafe_runs SET {change}")
    with pytest.raises(RunStateUnreadableError, match="no sense"):
        await snapshots.read("order", "r")


@pytest.mark.parametrize("status", sorted(TERMINABLE | TERMINAL))
def test_case_18_a_result_is_parked_or_ended(status: Any) -> None:
    """What is to begin, or is on its way, has nothing to show again."""
    assert is_result(attrs.evolve(SHELL, status=status).summary()) == (
        status not in ("pending", "running")
    )


def test_a_summary_shows_what_the_status_calls_for() -> None:
    """A result, an error, or what the run waits for."""
    names = {"workflowId": "order", "runId": "r"}
    ended = attrs.evolve(RUNNING, status="success", thread_id="t")
    assert ended.summary() == names | {"status": "success", "threadId": "t", "result": {"b": 1}}
    failed = attrs.evolve(SHELL, status="failed", error={"name": "E", "message": "no"})
    assert failed.summary() == names | {
        "status": "failed",
        "error": {"name": "E", "message": "no"},
    }
    parking: Any
    for parking in sorted(PARKED):
        parked = attrs.evolve(SHELL, status=parking, suspended="ask")
        assert parked.summary()["suspended"] == "ask"
    assert attrs.evolve(SHELL, status="success").summary()["result"] is None

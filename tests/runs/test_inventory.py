"""The inventory: what a sweep finds, and when sweeps prove that a deployment has drained."""

import attrs
import pytest

from durasim.actors import Statement
from durasim.actors.runs.approvals import ApprovalService
from durasim.actors.runs.errors import ExecutionFenceUnreadableError
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.inventory import (
    CATEGORIES,
    DRAIN_MS_MIN,
    DrainProof,
    Inventory,
    InventoryUnreadableError,
    Sweep,
)
from durasim.actors.runs.notifications import Notifications
from durasim.actors.runs.objectives import Objectives
from durasim.actors.runs.reservations import Owner, StartRequest, StartReservations, Target
from durasim.actors.runs.schedules import Schedules
from durasim.actors.runs.snapshots import Snapshot, Snapshots, Status
from durasim.actors.runs.tasks import BackgroundTasks, Task

from .local import LOCKED, START_MS, Clock, LocalDatabase, Log, Names, move, never

ANN = Owner("human", "ann")

TOUCH = Statement("UPDATE flowsafe_execution_fence SET updated_at = updated_at + 1")


@pytest.fixture
def inventory(database: LocalDatabase, fence: ExecutionFence, clock: Clock) -> Inventory:
    """Return the inventory of an empty deployment."""
    return Inventory(database, fence, clock)


class Nowhere:
    """A run that takes no decision."""

    async def resume(self, approval: object, decision: object) -> None:
        """Nobody is there."""
        raise ConnectionError(f"{decision} about {approval} was lost")


async def nothing(task: Task) -> None:
    """A task that is done at once."""
    del task


async def some_of_everything(
    database: LocalDatabase, fence: ExecutionFence, clock: Clock, log: Log
) -> None:
    """Leave one outstanding row in each category."""
    await run(database, "suspended")
    await reserve(database, clock)
    schedules = Schedules(database, clock)
    await schedules.create("nightly", ANN, "order", None, 60_000, START_MS)
    (due,) = await schedules.due(1)
    assert await schedules.claim(due, "run-9") is not None
    await Objectives(database, clock).set("t", "be good", "ann")
    await Notifications(database, clock).add("n", "ann", "hello", START_MS)
    await BackgroundTasks(database, fence, {"t": nothing}, clock, log).enqueue("a", "t", None)
    approvals = ApprovalService(database, fence, Nowhere(), clock, Names("a"), log)
    summary = {
        "workflowId": "order",
        "runId": "run-1",
        "status": "suspended",
        "suspended": "?",
        "suspension": 3,
    }
    await approvals.file(summary)
    await database.batch(
        [
            (
                "CREATE TABLE flowsafe_webhook_deliveries (provider, delivery_id, body, state, at)",
                (),
            ),
            (
                "INSERT INTO flowsafe_webhook_deliveries VALUES ('p', 'd', '{}', 'received', 0)",
                (),
            ),
        ]
    )


async def run(database: LocalDatabase, status: Status, *, cleaned: bool = False) -> None:
    """Persist one run."""
    snapshot = Snapshot(workflow_id="order", run_id="run-1", status=status, cleaned=cleaned)
    assert await Snapshots(database).create(snapshot, None)


async def reserve(database: LocalDatabase, clock: Clock) -> StartReservations:
    """Reserve one key that nobody starts."""
    store = StartReservations(database, clock)
    asked = StartRequest("key-1", ANN, Target("workflow", "order"))
    await store.reserve(asked, lambda: "run-1")
    return store


async def test_case_54_a_sweep_makes_no_table(
    inventory: Inventory, database: LocalDatabase
) -> None:
    """Of a deployment in which nothing ever was, nothing is outstanding."""
    sweep = await inventory.sweep()

    assert sweep.is_empty
    assert sweep.moved_at is None
    assert set(sweep.categories) == {each.name for each in CATEGORIES}
    assert database.tables() == []


async def test_every_category_is_counted_and_named(
    inventory: Inventory,
    database: LocalDatabase,
    fence: ExecutionFence,
    clock: Clock,
    log: Log,
) -> None:
    """One row in each, and nothing is written by looking."""
    await some_of_everything(database, fence, clock, log)
    before = database.dump()

    sweep = await inventory.sweep()
    assert {name: each.count for name, each in sweep.categories.items()} == {
        each.name: 1 for each in CATEGORIES
    }
    assert not sweep.is_empty
    assert database.dump() == before
    shown = sweep.json()
    assert shown["categories"]["start-reservations"] == {
        "class": "work",
        "count": 1,
        "items": [{"key": "key-1", "run_id": "run-1", "state": "reserved", "updated_at": START_MS}],
    }


@pytest.mark.parametrize(
    ("status", "cleaned", "count"),
    [("success", False, 0), ("running", False, 1), ("cancelled", False, 1), ("cancelled", True, 0)],
)
async def test_a_run_is_work_until_it_has_ended_and_is_cleaned_up(
    inventory: Inventory, database: LocalDatabase, status: Status, cleaned: bool, count: int
) -> None:
    """As for the purge."""
    await run(database, status, cleaned=cleaned)

    assert (await inventory.sweep()).categories["runs"].count == count


async def test_case_48_an_abandoned_reservation_stays_outstanding_until_its_key_is_finished(
    inventory: Inventory, database: LocalDatabase, fence: ExecutionFence, clock: Clock
) -> None:
    """Refused while draining and never retried: found by key and run id, it blocks the proof."""
    await move(fence, FenceState.DRAINING)
    store = await reserve(database, clock)
    proof = DrainProof()
    for _ in range(3):
        proof = proof.after(await inventory.sweep())
        clock.now += DRAIN_MS_MIN
    assert not proof.holds

    assert await store.claim("key-1", "run-1") is not None
    assert await store.settle_run("run-1") == 1
    for _ in range(2):
        proof = proof.after(await inventory.sweep())
        clock.now += DRAIN_MS_MIN
    assert proof.holds


async def test_a_claim_that_did_not_go_back_can_be_found(
    inventory: Inventory, database: LocalDatabase, clock: Clock
) -> None:
    """By key and run id, in the state that it is in (8.6)."""
    store = await reserve(database, clock)
    await store.claim("key-1", "run-1")

    (item,) = (await inventory.sweep()).categories["start-reservations"].items
    assert (item["key"], item["run_id"], item["state"]) == ("key-1", "run-1", "started")


async def drained(
    inventory: Inventory, fence: ExecutionFence, clock: Clock, *, apart_ms: int = DRAIN_MS_MIN
) -> tuple[Sweep, Sweep]:
    """Return two empty sweeps of a draining deployment."""
    await move(fence, FenceState.DRAINING)
    first = await inventory.sweep()
    clock.now += apart_ms
    return first, await inventory.sweep()


async def test_two_empty_sweeps_a_minute_apart_prove_it(
    inventory: Inventory, fence: ExecutionFence, clock: Clock
) -> None:
    """Neither one, nor two that are closer."""
    first, second = await drained(inventory, fence, clock)

    assert not DrainProof().holds
    assert not DrainProof().after(first).holds
    assert DrainProof().after(first).after(second).holds
    close = attrs.evolve(second, at_ms=first.at_ms + DRAIN_MS_MIN - 1)
    assert not DrainProof().after(first).after(close).holds
    assert DrainProof().after(first).after(close).after(second).holds


@pytest.mark.parametrize(
    "change",
    [
        {"state": FenceState.OPEN},
        {"state": FenceState.LOCKED},
        {"state": FenceState.PROOF_ONLY},
        {"is_steady": False},
    ],
)
async def test_a_sweep_in_between_that_is_not_of_a_draining_deployment_begins_anew(
    inventory: Inventory, fence: ExecutionFence, clock: Clock, change: dict[str, object]
) -> None:
    """What went on meanwhile, nobody knows."""
    first, second = await drained(inventory, fence, clock)
    between = attrs.evolve(first, **change)  # type: ignore[arg-type]

    assert not DrainProof().after(first).after(between).after(second).holds


async def test_a_sweep_in_between_with_work_begins_anew(
    inventory: Inventory, fence: ExecutionFence, clock: Clock, database: LocalDatabase
) -> None:
    """Something had passed its gate and wrote its row late."""
    first, second = await drained(inventory, fence, clock)
    await run(database, "running")
    between = await inventory.sweep()

    assert not DrainProof().after(first).after(between).after(second).holds


async def test_a_deployment_that_was_open_between_two_sweeps_has_not_drained(
    inventory: Inventory, fence: ExecutionFence, clock: Clock
) -> None:
    """The state is the same at both: that it moved away and back is told by when it was written."""
    first, _ = await drained(inventory, fence, clock)
    await move(fence, FenceState.OPEN)
    await move(fence, FenceState.DRAINING)
    second = await inventory.sweep()

    assert not DrainProof().after(first).after(second).holds


async def test_a_fence_that_moves_during_a_sweep_makes_it_no_proof(
    inventory: Inventory, fence: ExecutionFence, database: LocalDatabase
) -> None:
    """What was counted first was counted in another state."""
    await move(fence, FenceState.DRAINING)

    def touch(label: str) -> None:
        if label == "SELECT flowsafe_execution_fence":
            database.after = never
            database.run([TOUCH])

    database.after = touch
    sweep = await inventory.sweep()
    assert not sweep.is_steady
    assert DrainProof().after(sweep) == DrainProof()


@pytest.mark.parametrize("category", [each.table for each in CATEGORIES])
async def test_a_category_that_cannot_be_read_fails_the_sweep(
    inventory: Inventory, database: LocalDatabase, category: str
) -> None:
    """Unreadable is never taken for empty."""
    database.failing = lambda label: LOCKED if category in label else None

    with pytest.raises(InventoryUnreadableError) as raised:
        await inventory.sweep()
    assert raised.value.status == 503


async def test_a_fence_that_cannot_be_read_fails_the_sweep(
    inventory: Inventory, database: LocalDatabase
) -> None:
    """At its first look and at its second."""
    database.failing = lambda label: LOCKED if "fence" in label else None
    with pytest.raises(InventoryUnreadableError):
        await inventory.sweep()

    asked = 0

    def second(label: str) -> Exception | None:
        nonlocal asked
        asked += label == "SELECT flowsafe_execution_fence"
        return LOCKED if asked == 2 else None

    database.failing = second
    with pytest.raises(ExecutionFenceUnreadableError):
        await inventory.sweep()

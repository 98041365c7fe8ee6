"""Retention: what is purged, what is kept, and that a readable run keeps its key."""

import pytest

from durasim.actors import Statement
from durasim.actors.runs.fence import ExecutionFence
from durasim.actors.runs.reservations import Owner, StartRequest, StartReservations, Target
from durasim.actors.runs.retention import DAY_MS, Purged, Retention, reservation_days
from durasim.actors.runs.snapshots import Snapshot, Snapshots, Status
from durasim.actors.runs.tables import TablesUnreadableError

from .local import LOCKED, Clock, LocalDatabase, Log, always_locked, never

ANN = Owner("human", "ann")
ORDER = Target("workflow", "order")


@pytest.fixture
def store(database: LocalDatabase, clock: Clock) -> StartReservations:
    """Return no reservations yet."""
    return StartReservations(database, clock)


@pytest.fixture
def retention(database: LocalDatabase, clock: Clock, log: Log) -> Retention:
    """Return a retention of thirty days for both."""
    return Retention(database, clock, log)


async def a_run(
    database: LocalDatabase,
    clock: Clock,
    name: str = "run-1",
    status: Status = "success",
    *,
    cleaned: bool = False,
) -> None:
    """Persist a run as it stands now."""
    snapshot = Snapshot(
        workflow_id="order", run_id=name, status=status, cleaned=cleaned, start_token="t",
        created_at=clock.now, updated_at=clock.now,
    )  # fmt: skip
    assert await Snapshots(database).create(snapshot, None)


async def a_key(
    store: StartReservations, key: str = "k", run: str = "run-1", state: str = "terminal"
) -> None:
    """Reserve *key* for *run* and bring it into *state*."""
    await store.reserve(StartRequest(key, ANN, ORDER), lambda: run)
    if state != "reserved":
        assert await store.claim(key, run) is not None
    if state == "terminal":
        assert await store.settle_run(run) == 1


async def state_of(store: StartReservations, key: str = "k") -> str | None:
    """Return the state of a key."""
    row = await store.read(key)
    return None if row is None else row.state


async def test_case_50_a_key_is_kept_while_its_run_is_readable(
    database: LocalDatabase, clock: Clock, store: StartReservations, log: Log
) -> None:
    """However old the key is: its run was touched later, or does not go, and would start again."""
    await a_key(store)
    clock.now += 40 * DAY_MS
    await a_run(database, clock)
    retention = Retention(database, clock, log)

    assert await retention.purge() == Purged()
    assert await state_of(store) == "terminal"

    database.failing = lambda label: LOCKED if "DELETE flowsafe_runs" in label else None
    clock.now += 31 * DAY_MS
    assert await retention.purge() == Purged()
    assert await state_of(store) == "terminal"
    assert log.kinds == ["run-purge-failed"]

    database.failing = never
    assert await retention.purge() == Purged(runs=1, reservations=1)
    assert await state_of(store) is None


async def test_case_50_a_run_of_another_workflow_keeps_the_key_as_well(
    database: LocalDatabase, clock: Clock, store: StartReservations, retention: Retention
) -> None:
    """The rule is about the run id, as the row is: one snapshot that is left is enough."""
    await a_key(store)
    await a_run(database, clock)
    await database.execute(
        "INSERT INTO flowsafe_runs SELECT 'other', run_id, thread_id, 'suspended', revision, "
        "start_token, body, cleaned, created_at, updated_at FROM flowsafe_runs"
    )
    clock.now += 40 * DAY_MS

    assert await retention.purge() == Purged(runs=1)
    assert await state_of(store) == "terminal"


@pytest.mark.parametrize(
    ("run_days", "asked", "days"), [(30, None, 30), (30, 7, 30), (30, 30, 30), (30, 90, 90)]
)
def test_case_51_a_key_is_kept_as_long_as_its_run_at_least(
    run_days: int, asked: int | None, days: int
) -> None:
    """A shorter horizon is floored."""
    assert reservation_days(run_days, asked) == days


async def test_case_51_a_short_horizon_deletes_no_key_early(
    database: LocalDatabase, clock: Clock, store: StartReservations, log: Log
) -> None:
    """Seven days asked for under thirty for runs are thirty; ninety are ninety."""
    await a_key(store)
    await a_run(database, clock, "another")
    clock.now += 8 * DAY_MS
    assert (await Retention(database, clock, log, key_days=7).purge()).reservations == 0
    clock.now += 23 * DAY_MS
    assert (await Retention(database, clock, log, key_days=90).purge()).reservations == 0
    assert (await Retention(database, clock, log, key_days=7).purge()).reservations == 1


@pytest.mark.parametrize("state", ["reserved", "started"])
async def test_case_52_a_key_whose_run_is_purged_is_spent_and_survives_the_pass(
    database: LocalDatabase,
    clock: Clock,
    store: StartReservations,
    retention: Retention,
    state: str,
) -> None:
    """Its settlement was lost (L10): it is marked terminal now, and ages from now."""
    await a_key(store, state=state)
    await a_run(database, clock)
    clock.now += 31 * DAY_MS

    assert await retention.purge() == Purged(runs=1, spent=1)
    row = await store.read("k")
    assert row is not None
    assert (row.state, row.updated_at) == ("terminal", clock.now)

    clock.now += 29 * DAY_MS
    assert await retention.purge() == Purged()
    clock.now += 2 * DAY_MS
    assert await retention.purge() == Purged(reservations=1)


async def test_case_53_a_missing_table_of_reservations_does_not_fail_the_purge(
    database: LocalDatabase, clock: Clock, retention: Retention
) -> None:
    """Nobody has ever used a key here; none is made by purging (case 54)."""
    await a_run(database, clock)
    clock.now += 31 * DAY_MS

    assert await retention.purge() == Purged(runs=1)
    assert database.tables() == ["flowsafe_runs"]


async def test_case_54_purging_and_reading_make_no_table(
    database: LocalDatabase, retention: Retention, store: StartReservations, fence: ExecutionFence
) -> None:
    """An empty database stays one."""
    assert await retention.purge() == Purged()
    assert await store.read("k") is None
    assert (await fence.read()).state == "open"
    assert database.tables() == []


@pytest.mark.parametrize(
    ("status", "cleaned", "goes"),
    [
        ("success", False, True),
        ("failed", False, True),
        ("cancelled", False, False),
        ("cancelled", True, True),
        ("timed_out", False, False),
        ("suspended", True, False),
        ("running", False, False),
    ],
)
async def test_only_what_has_ended_and_is_cleaned_up_is_purged(
    database: LocalDatabase,
    clock: Clock,
    retention: Retention,
    status: Status,
    cleaned: bool,
    goes: bool,
) -> None:
    """A run that somebody cut off counts as ended only after its cleanup (3.5)."""
    await a_run(database, clock, status=status, cleaned=cleaned)
    clock.now += 31 * DAY_MS

    assert (await retention.purge()).runs == int(goes)


async def test_a_row_without_a_run_that_is_not_spent_never_ages_out(
    database: LocalDatabase, clock: Clock, store: StartReservations, retention: Retention
) -> None:
    """Nobody knows what it did, or it may still be retried (2.8, case 48)."""
    await a_run(database, clock, "another")
    await a_key(store, "reserved-key", "run-1", "reserved")
    await a_key(store, "started-key", "run-2", "started")
    clock.now += 400 * DAY_MS

    await retention.purge()
    assert await state_of(store, "reserved-key") == "reserved"
    assert await state_of(store, "started-key") == "started"


async def test_a_run_that_is_touched_between_the_list_and_the_purge_stays_with_its_key(
    database: LocalDatabase, clock: Clock, store: StartReservations, retention: Retention
) -> None:
    """The purge is conditional by itself, and so is what it does to keys."""
    await a_run(database, clock)
    await a_key(store, state="started")
    clock.now += 31 * DAY_MS

    def touch(label: str) -> None:
        if label == "SELECT flowsafe_runs":
            database.after = never
            database.run([Statement("UPDATE flowsafe_runs SET updated_at = ?", (clock.now,))])

    database.after = touch
    assert await retention.purge() == Purged()
    assert await state_of(store) == "started"


async def test_what_cannot_be_read_purges_nothing(
    database: LocalDatabase, clock: Clock, retention: Retention, log: Log
) -> None:
    """At the list it raises; at the sweep of keys it is logged, since the runs are gone by then."""
    await a_run(database, clock)
    clock.now += 31 * DAY_MS
    database.failing = always_locked
    with pytest.raises(TablesUnreadableError):
        await retention.purge()

    database.failing = lambda label: LOCKED if "DELETE flowsafe_start" in label else None
    assert await retention.purge() == Purged(runs=1)
    assert log.kinds == ["reservation-sweep-failed"]

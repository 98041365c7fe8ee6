"""Reservations: one row a key, changed by compare-and-set, stamped anew with each change."""

from typing import Any

import attrs
import pytest

from durasim.actors import RunRouteError
from durasim.actors.runs.errors import (
    ExecutionFencedError,
    InvalidStartIdempotencyRequestError,
    StartReservationOwnerMismatchError,
    StartReservationTargetMismatchError,
    StartReservationUnreadableError,
)
from durasim.actors.runs.reservations import (
    Claim,
    Owner,
    Reservation,
    StartRequest,
    StartReservations,
    Target,
    rollback_fenced_start,
)

from .local import LOCKED, Clock, LocalDatabase, Log, Names

TABLE = "flowsafe_start_idempotency"
ANN = Owner("human", "ann")
BOB = Owner("human", "bob")
ORDER = Target("workflow", "order")
ASKED = StartRequest("k", ANN, ORDER)


@pytest.fixture
def store(database: LocalDatabase, clock: Clock) -> StartReservations:
    """Return the reservations of an empty database."""
    return StartReservations(database, clock)


@pytest.fixture
def mint() -> Names:
    """Return what names runs."""
    return Names("run")


async def claimed(store: StartReservations, mint: Names) -> Reservation:
    """Reserve and claim the key."""
    reserved = await store.reserve(ASKED, mint)
    found = await store.claim("k", reserved.reservation.run_id)
    assert found is not None
    return found


async def test_the_first_call_makes_the_row_and_the_next_reads_it(
    store: StartReservations, mint: Names, clock: Clock
) -> None:
    """Only the maker is told that it made it; the run id of the row never changes."""
    first = await store.reserve(ASKED, mint)
    clock.now += 5
    second = await store.reserve(ASKED, mint)

    assert (first.created, first.reservation.run_id) == (True, "run-1")
    assert second == attrs.evolve(first, created=False)
    assert first.reservation.is_untouched


async def test_cases_10_and_11_owners_are_compared_first(
    store: StartReservations, mint: Names
) -> None:
    """A stranger learns nothing but that the key is not theirs."""
    await store.reserve(ASKED, mint)
    stranger = StartRequest("k", BOB, Target("workflow", "other"))
    with pytest.raises(StartReservationOwnerMismatchError) as raised:
        await store.reserve(stranger, mint)
    assert raised.value.reason == {"code": "IDEMPOTENT_START_OWNER_MISMATCH"}
    agent = StartRequest("k", Owner("agent", "ann"), Target("agent", "helper"), "thread-1")
    with pytest.raises(StartReservationOwnerMismatchError):
        await store.reserve(agent, mint)
    with pytest.raises(StartReservationTargetMismatchError) as mismatch:
        await store.reserve(attrs.evolve(stranger, owner=ANN), mint)
    assert mismatch.value.reason == {
        "code": "IDEMPOTENT_START_TARGET_MISMATCH",
        "targetKind": "workflow",
        "targetId": "order",
    }


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": ""}, "idempotencyKey"),
        ({"key": "."}, "idempotencyKey"),
        ({"key": "a/b"}, "idempotencyKey"),
        ({"key": "k" * 201}, "idempotencyKey"),
        ({"owner": Owner("nobody", "a")}, "owner.kind"),  # type: ignore[arg-type]
        ({"owner": Owner("human", "")}, "owner.id"),
        ({"owner": Owner("human", " \u00a0")}, "owner.id"),
        ({"owner": Owner("human", "a\nb")}, "owner.id"),
        ({"target": Target("task", "order")}, "target.kind"),  # type: ignore[arg-type]
        ({"target": Target("workflow", "..")}, "target.id"),
        ({"thread_id": "t"}, "threadId"),
        ({"target": Target("agent", "helper")}, "threadId"),
    ],
)
async def test_what_no_row_can_hold_is_refused(
    database: LocalDatabase,
    store: StartReservations,
    mint: Names,
    change: dict[str, Any],
    field: str,
) -> None:
    """The message names the field; nothing was asked of the database."""
    with pytest.raises(InvalidStartIdempotencyRequestError, match=field):
        await store.reserve(attrs.evolve(ASKED, **change), mint)
    assert database.asked == []
    with pytest.raises(InvalidStartIdempotencyRequestError, match="runId"):
        await store.reserve(ASKED, lambda: "a b")


async def test_case_54_only_a_reservation_makes_the_table(
    database: LocalDatabase, store: StartReservations, mint: Names
) -> None:
    """Everything else finds nothing there, and leaves it at that."""
    assert await store.read("k") is None
    assert await store.claim("k", "run-1") is None
    assert not await store.release("k", "run-1")
    assert not await store.release_exact(Claim("k", "run-1", 1))
    assert await store.settle_run("run-1") == 0
    assert await store.settle_run("not a name") == 0
    assert await store.for_runs(["run-1"]) == []
    assert await store.for_runs([]) == []
    assert database.tables() == []
    await store.reserve(ASKED, mint)
    assert database.tables() == [TABLE]


async def test_case_16_a_row_is_claimed_once(store: StartReservations, mint: Names) -> None:
    """Another run id claims nothing, and neither does a second claim."""
    await store.reserve(ASKED, mint)
    assert await store.claim("k", "run-9") is None
    first = await store.claim("k", "run-1")
    assert first is not None
    assert first.state == "started"
    assert await store.claim("k", "run-1") is None


async def test_a_row_that_was_touched_since_is_not_claimed(
    store: StartReservations, mint: Names
) -> None:
    """What was found out about its run may not be so any more (case 43)."""
    row = (await store.reserve(ASKED, mint)).reservation
    await store.claim("k", "run-1")
    await store.release("k", "run-1")
    assert await store.claim("k", "run-1", row.updated_at) is None
    now = await store.read("k")
    assert now is not None
    assert await store.claim("k", "run-1", now.updated_at) is not None


async def test_a_stamp_names_one_state_of_one_row(
    store: StartReservations, mint: Names, clock: Clock
) -> None:
    """It grows with every change, also if the clock stands or is set back."""
    row = (await store.reserve(ASKED, mint)).reservation
    stamps = [row.updated_at]
    for back in (0, 1000, 0):
        clock.now -= back
        found = await store.claim("k", "run-1")
        assert found is not None
        stamps.append(found.updated_at)
        assert await store.release("k", "run-1")
    assert stamps == sorted(set(stamps))
    last = await store.read("k")
    assert last is not None
    assert not last.is_untouched


async def test_case_42_an_exact_release_names_its_claim(
    store: StartReservations, mint: Names
) -> None:
    """One that comes again, after the row was claimed anew, changes nothing."""
    first = await claimed(store, mint)
    assert await store.release_exact(first.claim)
    assert not await store.release_exact(first.claim)
    second = await store.claim("k", "run-1")
    assert second is not None
    assert not await store.release_exact(first.claim)
    assert await store.release_exact(second.claim)


async def test_a_bound_row_is_released_by_nobody(
    database: LocalDatabase, store: StartReservations, mint: Names
) -> None:
    """The binding and its condition hold for the exact claim, and only once."""
    row = await claimed(store, mint)
    for changes in (1, 0):
        binding = store.binding(row.claim, "token")
        condition, values = binding.condition
        found = await database.execute(f"SELECT {condition}", *values)
        assert found.rows == [(changes,)]
        (bound,) = await database.batch([binding.statement])
        assert bound.changes == changes
    now = await store.read("k")
    assert now is not None
    assert (now.start_token, now.updated_at > row.updated_at) == ("token", True)
    assert not await store.release_exact(now.claim)


async def test_case_24_a_spent_key_never_becomes_startable(
    store: StartReservations, mint: Names
) -> None:
    """Neither a release nor a claim takes a settled row back."""
    row = await claimed(store, mint)
    assert await store.settle_run("run-1") == 1
    assert await store.settle_run("run-1") == 0
    assert not await store.release("k", "run-1")
    assert not await store.release_exact(row.claim)
    assert await store.claim("k", "run-1") is None
    (found,) = await store.for_runs(["run-1", "run-2"])
    assert found.state == "terminal"


@pytest.mark.parametrize(
    "change",
    [
        "updated_at = 'corrupt'",
        "created_at = 1.5",
        "run_id = 'a/b'",
        "owner_id = x'00'",
        "start_token = x'00'",
        "key = 'k', run_id = ''",
    ],
)
async def test_case_13_a_row_that_makes_no_sense_is_not_absent(
    database: LocalDatabase, store: StartReservations, mint: Names, change: str
) -> None:
    """It is unreadable, for the reader and for whoever would start by it."""
    await store.reserve(ASKED, mint)
    database.make(f"UPDATE {TABLE} SET {change}")
    with pytest.raises(StartReservationUnreadableError, match="no sense"):
        await store.read("k")
    with pytest.raises(StartReservationUnreadableError):
        await store.reserve(ASKED, mint)


async def test_case_14_a_failure_is_not_absence(
    database: LocalDatabase, store: StartReservations, mint: Names
) -> None:
    """Every operation says that nobody can tell."""
    await store.reserve(ASKED, mint)
    database.failing = lambda _label: LOCKED
    for asked in (
        store.reserve(ASKED, mint),
        store.read("k"),
        store.claim("k", "run-1"),
        store.release("k", "run-1"),
        store.release_exact(Claim("k", "run-1", 1)),
        store.settle_run("run-1"),
        store.for_runs(["run-1"]),
    ):
        with pytest.raises(StartReservationUnreadableError):
            await asked


async def test_the_table_may_fail_to_be_made(
    database: LocalDatabase, store: StartReservations, mint: Names
) -> None:
    """The start is refused; the next one makes it."""
    database.failing = lambda label: LOCKED if label.startswith("batch") else None
    with pytest.raises(StartReservationUnreadableError, match="cannot be reserved"):
        await store.reserve(ASKED, mint)
    database.failing = lambda _label: None
    assert (await store.reserve(ASKED, mint)).created


async def test_a_row_that_is_gone_behind_its_insert_is_unreadable(
    database: LocalDatabase, store: StartReservations, mint: Names
) -> None:
    """Nothing is started by a row that nobody can read back."""
    await store.reserve(ASKED, mint)
    database.after = lambda label: (
        database.make(f"DELETE FROM {TABLE}") if label.startswith("INSERT") else None
    )
    with pytest.raises(StartReservationUnreadableError, match="read back"):
        await store.reserve(ASKED, mint)


class Releases:
    """Counts releases, or fails."""

    def __init__(self, answer: bool | Exception) -> None:
        self.answer = answer
        self.count = 0

    async def release(self, key: str, run_id: str) -> bool:
        """As `Releasing.release`."""
        assert (key, run_id) == ("k", "r")
        self.count += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [True, False, OSError("lost")])
@pytest.mark.parametrize(
    "error",
    [
        ExecutionFencedError("draining"),
        RunRouteError(503, "fenced", {"code": "EXECUTION_FENCE_UNREADABLE"}),
    ],
)
async def test_case_23_the_same_refusal_goes_on_whatever_becomes_of_the_release(
    answer: bool | Exception, error: Exception, log: Log
) -> None:
    """8.6: what the caller sees does not depend on it; a failure is logged by key and run id."""
    releases = Releases(answer)
    with pytest.raises(type(error)) as raised:
        await rollback_fenced_start(releases, "k", "r", error, log)
    assert raised.value is error
    assert releases.count == 1
    assert log.lines == (
        [("start-reservation-rollback-failed", {"key": "k", "runId": "r", "error": "lost"})]
        if isinstance(answer, Exception)
        else []
    )


@pytest.mark.parametrize(
    "error",
    [
        ValueError("EXECUTION_FENCED"),
        RunRouteError(503, "pending", {"code": "IDEMPOTENT_START_PENDING"}),
        ExceptionGroup("in a nursery", [ExecutionFencedError("draining")]),
    ],
)
async def test_case_22_any_other_error_keeps_the_claim(error: Exception, log: Log) -> None:
    """Nothing is released, and the error goes on."""
    releases = Releases(True)
    with pytest.raises(type(error)) as raised:
        await rollback_fenced_start(releases, "k", "r", error, log)
    assert raised.value is error
    assert releases.count == 0

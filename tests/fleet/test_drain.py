"""Drain and fence: what rows say, when they live, what the table allows."""

from typing import Any

import attrs
import pytest

from durasim.actors.fleet import FleetRefused, WorkerVersion
from durasim.actors.fleet.bounds import CYCLE_BOUND_MS, MINUTE_MS, RESERVE_MS
from durasim.actors.fleet.drain import (
    DRAIN_MACHINE,
    DrainFacts,
    DrainRecord,
    Fence,
    FenceOwner,
    Hold,
    Swap,
    drain_end,
    drain_state,
    fence_problem,
    fence_ready,
    held_for,
    is_post_upload,
    is_withdrawable,
    live_drain,
    lowered,
    reported,
    room,
    withdrawn,
    worker_of,
)

V1, V2 = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
SWAP = Swap(V1, "build-1", 100)
FENCE = Fence("f-1", FenceOwner("preflight", "a"), SWAP)
DRAIN = DrainRecord(drain_id="d-1", since=0, until=90 * MINUTE_MS, by="me", reason="why")
FENCED = attrs.evolve(DRAIN, fence=FENCE, swap=SWAP)
HELD = attrs.evolve(DRAIN, holds=(Hold("repo:a", "t"),), holds_until=10 * MINUTE_MS)
LIFTED = attrs.evolve(HELD, lift_asked=True)


@pytest.mark.parametrize("record", [DRAIN, FENCED, HELD, withdrawn(FENCED)])
def test_a_row_reads_as_what_was_written(record: DrainRecord) -> None:
    """Nothing of it is lost between a record and its row."""
    assert DrainRecord.parse(record.wire()) == record


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        {"since": 0, "until": 1, "by": "x"},
        {"since": 0, "until": True, "by": "x", "reason": "y"},
        {"since": "0", "until": 1, "by": "x", "reason": "y"},
    ],
)
def test_what_has_not_the_form_is_no_drain(row: Any) -> None:
    """Four fields are asked for; a row without them is none."""
    assert DrainRecord.parse(row) is None


def test_a_fence_of_an_old_writer_has_a_name_by_its_drain() -> None:
    """Without an id it is named by when and by whom, and its owner is a preflight (L, 5)."""
    old = {
        "since": 5, "until": 9, "by": "x", "reason": "y", "swapFence": True, "swapVersion": V1,
        "swapBuild": "b", "swapAt": 6, "holds": [{"resource": "repo:b"}, {"resource": "repo:a"}],
    }  # fmt: skip
    record, again = DrainRecord.parse(old), DrainRecord.parse(dict(old))
    assert record is not None
    assert record.fence is not None
    assert record == again
    assert record.fence.owner == FenceOwner("preflight", "")
    assert record.fence.swap == Swap(V1, "b", 6)
    assert record.holds == (Hold("repo:a", None), Hold("repo:b", None))
    other = DrainRecord.parse({**old, "until": 10})
    assert other is not None
    assert other.fence is not None
    assert other.fence.fence_id != record.fence.fence_id


def test_a_fence_that_was_taken_back_leaves_the_name_of_its_worker() -> None:
    """The answer to an unsafe read still tells which Worker it was."""
    assert withdrawn(FENCED).wire() == {**DRAIN.wire(), **SWAP.wire()}
    assert withdrawn(FENCED).wire()["swapFence"] is False


@pytest.mark.parametrize(
    ("record", "now", "lives"),
    [
        (DRAIN, 0, True),
        (DRAIN, DRAIN.until - 1, True),
        (DRAIN, DRAIN.until, False),
        (HELD, 10 * MINUTE_MS, True),
        (LIFTED, 10 * MINUTE_MS - 1, True),
        (LIFTED, 10 * MINUTE_MS, False),
        (attrs.evolve(LIFTED, holds=()), 10 * MINUTE_MS, True),
    ],
)
def test_a_drain_lives_until_its_end_or_that_of_the_holds_of_its_lift(
    record: DrainRecord, now: int, lives: bool
) -> None:
    """Ends are exclusive; holds end it only while they stand, and only once its lift was asked."""
    assert (live_drain(record, now) is not None) is lives
    assert (drain_state(record, now) != "NONE") is lives


def test_room_reaches_to_the_earliest_end() -> None:
    """To that of holds as well, once they end the drain."""
    assert room(DRAIN, 0) == DRAIN.until
    assert room(DRAIN, 10, 100, 50) == 40
    assert room(HELD, 0) == drain_end(HELD) == DRAIN.until
    assert room(LIFTED, 0) == drain_end(LIFTED) == 10 * MINUTE_MS


def test_the_reserve_is_inclusive() -> None:
    """Exactly twenty minutes are enough (I-32)."""
    at = DRAIN.until - RESERVE_MS
    assert fence_ready(FENCED, at)
    assert not fence_ready(FENCED, at + 1)
    assert not fence_ready(DRAIN, 0)
    assert not fence_ready(None, 0)
    assert not fence_ready(FENCED, 0, RESERVE_MS - 1)


def test_only_the_very_fence_verifies() -> None:
    """Another id, another version, or too little room: each is a problem."""
    assert fence_problem(FENCED, 0, "f-1", V1) is None
    assert fence_problem(FENCED, 0, "f-2", V1) == "FENCE_UNAVAILABLE"
    assert fence_problem(FENCED, 0, "f-1", V2) == "FENCE_UNAVAILABLE"
    assert fence_problem(DRAIN, 0, "f-1", V1) == "FENCE_UNAVAILABLE"
    assert fence_problem(None, 0, "f-1", V1) == "FENCE_UNAVAILABLE"
    assert fence_problem(FENCED, DRAIN.until - 1, "f-1", V1) == "RESERVE_TOO_SMALL"


@pytest.mark.parametrize(
    ("worker", "newer"),
    [
        (None, False),
        (WorkerVersion(V1, 200), False),
        (WorkerVersion(V2, 100), False),
        (WorkerVersion(V2, None), False),
        (WorkerVersion(V2, 101), True),
    ],
)
def test_a_worker_is_newer_by_version_and_time(worker: WorkerVersion | None, newer: bool) -> None:
    """One that does not know its time is not; where no fence stands, everyone is."""
    assert is_post_upload(FENCE, worker) is newer
    assert is_post_upload(None, worker)


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("preflight", True),
        ("recovery", True),
        ("deciding", True),
        ("decision", False),
        ("controller", False),
    ],
)
def test_an_attempt_takes_back_its_own_fence_alone(kind: str, own: bool) -> None:
    """By id, and never the fence of a window."""
    fence = attrs.evolve(FENCE, owner=FenceOwner(kind, "a"))
    assert is_withdrawable(fence, "f-1") is own
    assert not is_withdrawable(fence, "f-2")
    assert not is_withdrawable(None, None)


def test_who_asks_is_read_from_a_document() -> None:
    """A version is a UUID; whatever else is said is left."""
    assert worker_of({"workerVersion": V1, "uploadedAt": 5}) == WorkerVersion(V1, 5)
    assert worker_of({"workerVersion": V1, "uploadedAt": "5"}) == WorkerVersion(V1, None)
    assert worker_of({"workerVersion": "one"}) is None
    assert worker_of(None) is None


# ---- holds


def test_the_first_hold_says_how_long_holds_keep_the_drain() -> None:
    """Later ones of the series do not; the drain's own end is never passed."""
    one = held_for(DRAIN, "repo:b", "t1", None, 5)
    two = held_for(one, "repo:a", "t2", None, MINUTE_MS)
    assert one.holds_until == two.holds_until == 5 + CYCLE_BOUND_MS
    assert two.holds == (Hold("repo:a", "t2"), Hold("repo:b", "t1"))
    late = held_for(DRAIN, "repo:a", "t", None, DRAIN.until - 1)
    assert late.holds_until == DRAIN.until


def test_a_hold_after_all_have_reported_begins_a_series_of_its_own() -> None:
    """Else a lift that is asked then would not wait for it at all."""
    one = held_for(FENCED, "repo:a", "t1", None, 0)
    none = reported(one, "repo:a", "t1", MINUTE_MS)
    assert none is not None
    again = lowered(held_for(none, "repo:a", "t2", None, 11 * MINUTE_MS))
    assert again is not None
    assert live_drain(again, 11 * MINUTE_MS) == again


def test_a_hold_from_outside_gives_way_to_the_member_s_own() -> None:
    """It is left out where the member has one, or has reported since the reconcile began."""
    outside = held_for(DRAIN, "repo:a", None, 0, 5)
    assert outside.holds == (Hold("repo:a", None),)
    assert held_for(outside, "repo:a", "t", None, 6).holds == (Hold("repo:a", "t"),)
    own = held_for(DRAIN, "repo:a", "t", None, 5)
    assert held_for(own, "repo:a", None, 0, 6) == own
    done = reported(own, "repo:a", "t", 7)
    assert done is not None
    assert held_for(done, "repo:a", None, 7, 8) == done
    assert held_for(done, "repo:a", None, 8, 9).holds == (Hold("repo:a", None),)


def test_a_report_takes_its_own_hold_and_the_last_one_lifts() -> None:
    """That of another token stays; without an asked lift the drain stays."""
    held = held_for(held_for(DRAIN, "repo:a", "t1", None, 0), "repo:b", None, 0, 0)
    stays = reported(held, "repo:a", "t0", 1)
    assert stays is not None
    assert stays.holds == held.holds
    asked = lowered(held)
    assert asked is not None
    assert asked.lift_asked
    first = reported(asked, "repo:b", "whatever", 1)
    assert first is not None
    assert first.reported_at == {"repo:b": 1}
    assert reported(first, "repo:a", "t1", 2) is None
    unasked = reported(held, "repo:a", "t1", 1)
    assert unasked is not None
    assert reported(unasked, "repo:b", None, 2) is not None


def test_a_lift_without_holds_leaves_nothing() -> None:
    """And one with holds waits for them."""
    assert lowered(FENCED) is None
    assert lowered(HELD) == attrs.evolve(HELD, lift_asked=True)


# ---- the table

OLD, NEW = WorkerVersion(V1, 50), WorkerVersion(V2, 200)
ASKED = attrs.evolve(FENCED, holds=HELD.holds, holds_until=HELD.holds_until, lift_asked=True)
WINDOW = attrs.evolve(FENCED, fence=attrs.evolve(FENCE, owner=FenceOwner("controller", "c")))


@pytest.mark.parametrize(
    ("record", "event", "rest", "then"),
    [
        (None, "drain", {}, "DRAINED"),
        (DRAIN, "drain", {}, "DRAINED"),
        (FENCED, "drain", {}, "DRAIN_FENCED"),
        (ASKED, "drain", {}, "DRAIN_FENCED"),
        (None, "set fence", {"worker": OLD}, "FENCE_UNAVAILABLE"),
        (DRAIN, "set fence", {"worker": OLD}, "FENCED"),
        (DRAIN, "set fence", {}, "PRODUCER_IDENTITY_UNKNOWN"),
        (DRAIN, "set fence", {"worker": OLD, "ends": (RESERVE_MS - 1,)}, "FENCE_UNAVAILABLE"),
        (FENCED, "set fence", {"worker": OLD}, "FENCE_UNAVAILABLE"),
        (lowered(HELD), "set fence", {"worker": OLD}, "FENCE_UNAVAILABLE"),
        (FENCED, "withdraw", {"fence_id": "f-1"}, "DRAINED"),
        (FENCED, "withdraw", {"fence_id": "f-2"}, None),
        (WINDOW, "withdraw", {"fence_id": "f-1"}, None),
        (ASKED, "withdraw", {"fence_id": "f-1"}, "LIFT_ASKED"),
        (None, "withdraw", {"fence_id": "f-1"}, None),
        (None, "undrain", {"worker": OLD}, None),
        (DRAIN, "undrain", {"worker": OLD}, "NONE"),
        (HELD, "undrain", {"worker": OLD}, "LIFT_ASKED"),
        (FENCED, "undrain", {"worker": OLD}, "PRE_UPLOAD_WORKER"),
        (FENCED, "undrain", {}, "PRE_UPLOAD_WORKER"),
        (WINDOW, "undrain", {"worker": NEW}, "FENCE_OWNED_BY_WINDOW"),
        (FENCED, "undrain", {"worker": NEW, "unsettled": 1}, "ADMITTED_WORK_UNSETTLED"),
        (DRAIN, "undrain", {"worker": OLD, "unsettled": 1}, "NONE"),
        (FENCED, "undrain", {"worker": NEW}, "NONE"),
        (ASKED, "undrain", {"worker": NEW}, "LIFT_ASKED"),
        (None, "undrain", {"worker": NEW, "drain_id": "d-2"}, None),
        (DRAIN, "undrain", {"worker": OLD, "drain_id": "d-1"}, "NONE"),
        (DRAIN, "undrain", {"worker": OLD, "drain_id": "d-2"}, None),
        (HELD, "undrain", {"worker": OLD, "drain_id": "d-2"}, None),
        (FENCED, "undrain", {"worker": NEW, "drain_id": "d-2"}, None),
    ],
)
def test_e1_every_event_ends_as_the_table_says(
    record: DrainRecord | None, event: str, rest: dict[str, Any], then: str | None
) -> None:
    """Next state or code; None for nothing written."""
    facts = DrainFacts(record=record, now=0, **rest)
    edge = DRAIN_MACHINE.edge(drain_state(record, 0), event, facts)
    assert (edge.code or edge.next) == then
    if edge.code is not None:
        with pytest.raises(FleetRefused, match=edge.code):
            DRAIN_MACHINE.step(drain_state(record, 0), event, facts)


def test_every_row_of_the_table_is_well_formed() -> None:
    """Its states are those of the machine, and a refusal goes nowhere."""
    for edge in DRAIN_MACHINE.edges:
        assert set(edge.states) <= set(DRAIN_MACHINE.states)
        assert edge.next is None or edge.next in DRAIN_MACHINE.states
        assert edge.code is None or edge.next is None


def test_an_event_that_cannot_happen_has_no_row() -> None:
    """The machine says so."""
    with pytest.raises(LookupError, match="no row for 'rain' in NONE"):
        DRAIN_MACHINE.edge("NONE", "rain", DrainFacts(record=None, now=0))

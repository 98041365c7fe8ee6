"""Rows of drains and what is in them, read from whatever level wrote them."""

from typing import Any

import pytest

from durasim.actors.fleet.drain_record import DrainRecord, FenceOwner, Hold

ROW = {"since": 0, "until": 9, "by": "x", "reason": "y"}


@pytest.mark.parametrize("raw", [None, "repo:a", {"token": "t"}, {"resource": 1}])
def test_a_hold_without_a_resource_is_none(raw: Any) -> None:
    """One without a token is one that was put on from outside."""
    assert Hold.parse(raw) is None
    assert Hold.parse({"resource": "repo:a", "token": 5}) == Hold("repo:a", None)


@pytest.mark.parametrize("raw", [None, {"kind": "me", "ref": ""}, {"kind": "preflight"}])
def test_an_owner_is_of_a_known_kind(raw: Any) -> None:
    """And names its attempt."""
    assert FenceOwner.parse(raw) is None
    assert FenceOwner.parse({"kind": "recovery", "ref": "r"}) == FenceOwner("recovery", "r")


@pytest.mark.parametrize(
    ("fields", "stands"),
    [
        ({}, False),
        ({"swapFence": False, "fenceId": "f"}, False),
        ({"swapFence": 1, "fenceId": "f"}, False),
        ({"swapFence": True}, True),
        ({"swapFence": True, "swapVersion": 1, "fenceId": "f"}, True),
    ],
)
def test_a_fence_stands_if_the_row_says_so(fields: dict[str, Any], stands: bool) -> None:
    """Whatever else of it is missing: closed is the safe reading."""
    record = DrainRecord.parse({**ROW, **fields})
    assert record is not None
    assert (record.fence is not None) is stands


def test_rows_inside_that_make_no_sense_are_left_out() -> None:
    """The drain itself stands."""
    record = DrainRecord.parse(
        {**ROW, "holds": "repo:a", "reportedAt": {"repo:a": 5, "repo:b": "soon"}, "holdsUntil": "9"}
    )
    assert record is not None
    assert (record.holds, record.reported_at, record.holds_until) == ((), {"repo:a": 5}, None)

"""What members have to say before a deploy is called ready."""

from typing import Any

import pytest

from durasim.actors.fleet import ImageTarget
from durasim.actors.fleet.readiness import (
    conflict_of,
    fence_stands,
    is_fleet_current,
    is_lifted,
    member_problems,
    reconcile_problems,
)

TARGET = ImageTarget("pool", 3, "img@b")
MEMBERS = ("m1", "m2")


def row(member: str = "m1", **change: Any) -> dict[str, Any]:
    """Return what a reconcile answered for a member."""
    said = {"result": "current", "verified": True, "build": "b", "target": TARGET.wire()}
    return {"physicalMember": member, **said, **change}


def answer(**change: Any) -> dict[str, Any]:
    """Return the answer of a reconcile."""
    rows = [row("m1", **change), row("m2")]
    return {"build": "b", "target": TARGET.wire(), "reconciled": rows}


def residents(**change: Any) -> dict[str, Any]:
    """Return a read of all residents."""
    live = {"imageReport": "current", "imageBuild": "b", "imageTarget": TARGET.wire()}
    first = {"physicalMember": "m1", "live": {**live, **change}}
    return {"count": 2, "residents": [first, {"physicalMember": "m2", "live": live}]}


def test_all_members_verified_for_exactly_the_target_is_no_problem() -> None:
    """Each word of a row counts, and each row."""
    assert reconcile_problems(answer(), MEMBERS, "b", TARGET) == []
    for change in (
        {"verified": False},
        {"verified": "yes"},
        {"build": "c"},
        {"target": None},
        {"target": {**TARGET.wire(), "version": 4}},
    ):
        assert reconcile_problems(answer(**change), MEMBERS, "b", TARGET) == ["m1: current"]


@pytest.mark.parametrize("change", [{"build": "c"}, {"target": None}, {"build": None}])
def test_an_answer_for_something_else_is_no_answer(change: dict[str, Any]) -> None:
    """An older producer names no target (H.5)."""
    problems = reconcile_problems({**answer(), **change}, MEMBERS, "b", TARGET)

    assert problems == ["the answer is for another build or target"]


def test_members_are_those_of_the_verdict_each_once() -> None:
    """One missing, one more, and one twice are all another fleet."""
    other = ["the members are not those of the verdict"]

    for members in (("m1",), ("m1", "m2", "m3"), ("m1", "m3")):
        assert reconcile_problems(answer(), members, "b", TARGET) == other
        assert member_problems(residents(), members, "b", TARGET) == other
    twice = {**answer(), "reconciled": [row("m1"), row("m2"), row("m2")]}
    assert reconcile_problems(twice, MEMBERS, "b", TARGET) == other
    assert member_problems({**residents(), "count": 3}, MEMBERS, "b", TARGET) == other
    nameless = {**answer(), "reconciled": [row("m1"), {**row(), "physicalMember": None}]}
    assert reconcile_problems(nameless, ("m1",), "b", TARGET) == other
    by_resource = {**answer(), "reconciled": [{**row(), "physicalMember": None, "resource": "m1"}]}
    assert reconcile_problems(by_resource, ("m1",), "b", TARGET) == []


def test_a_conflict_is_seen_among_the_rows() -> None:
    """No repetition helps a member that owes the report of another target (P36.8)."""
    assert conflict_of(answer()) is None
    assert conflict_of(answer(code="FENCED")) is None
    assert conflict_of(answer(code="PENDING_OTHER_TARGET")) == "PENDING_OTHER_TARGET"
    assert conflict_of(answer(code="PENDING_WITHOUT_TARGET")) == "PENDING_WITHOUT_TARGET"


def test_every_member_is_read_back_for_exactly_the_target() -> None:
    """What the answer of the reconcile said does not count any more (G103)."""
    assert member_problems(residents(), MEMBERS, "b", TARGET) == []
    for change in (
        {"imageBuild": "c"},
        {"imageBuild": None},
        {"imageTarget": None},
        {"imageTarget": {**TARGET.wire(), "image": "img@a"}},
    ):
        problems = member_problems(residents(**change), MEMBERS, "b", TARGET)
        assert problems == ["m1: reads another build or target"]
        assert member_problems(residents(**change), MEMBERS, None, None) == []


def test_a_member_that_owes_a_report_or_cannot_be_read_is_not_current() -> None:
    """Skipping takes the same as reconciling here (G101)."""
    assert is_fleet_current(residents(), MEMBERS)
    for change, why in (
        ({"imageReport": "pending"}, "m1: owes its image report"),
        ({"imageReport": None}, "m1: owes its image report"),
        ({"error": "lost"}, "m1: lost"),
    ):
        assert member_problems(residents(**change), MEMBERS, "b", TARGET) == [why]
        assert not is_fleet_current(residents(**change), MEMBERS)


def test_a_fence_is_known_by_its_name_or_else_by_its_drain() -> None:
    """A named one is nobody else's; an older one is known by since, until and version."""
    drain = {"swapFence": True, "fenceId": "f", "since": 1, "until": 9, "swapVersion": "v"}

    assert fence_stands(drain, "f", (0, 0, ""))
    assert not fence_stands(drain, "g", (1, 9, "v"))
    assert fence_stands(drain, None, (1, 9, "v"))
    assert not fence_stands(drain, None, (1, 9, "w"))
    assert not fence_stands({**drain, "swapFence": False}, "f", (1, 9, "v"))
    assert not fence_stands(None, "f", (1, 9, "v"))


def test_a_lift_is_a_drain_that_went_or_goes_with_its_last_hold() -> None:
    """Nothing to lift is no lift."""
    assert is_lifted({"cleared": True})
    assert is_lifted({"cleared": False, "held": ["a"]})
    assert not is_lifted({"cleared": False, "held": []})

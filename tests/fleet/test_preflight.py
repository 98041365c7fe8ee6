"""What a fence reply must say, part by part, and what every other answer is."""

from typing import Any

import pytest

from durasim.actors.fleet.outcomes import Granted, Refused, Uncertain
from durasim.actors.fleet.preflight import NotReady, Preflight, judged, read_verdict
from durasim.sim import World
from durasim.sim.fleet.fleet import BEARERS

from .told import told
from .whole import drained, whole_fleet

DRAIN: dict[str, Any] = {
    "since": 1,
    "until": 9,
    "swapFence": True,
    "swapVersion": "v",
    "swapAt": 2,
    "fenceId": "f",
}
DIAGNOSTIC: dict[str, Any] = {
    "producer": {"workerVersion": "v"},
    "fence": {"status": "standing"},
    "readback": "matched",
}
READY: dict[str, Any] = {
    "ok": True,
    "draining": DRAIN,
    "fenceReady": True,
    "activeAdmissions": 0,
    "residents": [{"physicalMember": "m1"}, {"physicalMember": "m2"}],
    "deployDiagnostic": DIAGNOSTIC,
}


def test_a_whole_reply_is_a_verdict() -> None:
    """A producer of today names the fence, the members and the permits that count."""
    verdict = read_verdict(READY)

    assert verdict is not None
    assert verdict.is_ready
    assert (verdict.since, verdict.until, verdict.fence_id) == (1, 9, "f")
    assert (verdict.worker_version, verdict.members) == ("v", ("m1", "m2"))
    assert (verdict.admissions, verdict.problem) == (0, "")


def test_an_older_producer_gives_a_verdict_without_what_it_does_not_know() -> None:
    """Neither diagnostic nor fence name, and members by their resource (H.3)."""
    drain = {key: value for key, value in DRAIN.items() if key != "fenceId"}
    body: dict[str, Any] = {**READY, "draining": drain, "residents": [{"resource": "a"}]}
    del body["deployDiagnostic"]
    verdict = read_verdict(body)

    assert verdict is not None
    assert verdict.is_ready
    assert (verdict.fence_id, verdict.members) == (None, ("a",))


def test_a_verdict_that_is_not_ready_may_have_no_fence_left() -> None:
    """Its own was taken back; the Worker that set it stays named."""
    drain = {**DRAIN, "swapFence": False}
    verdict = read_verdict({**READY, "fenceReady": False, "draining": drain, "problem": "why"})

    assert verdict is not None
    assert (verdict.is_ready, verdict.problem) == (False, "why")
    plain = read_verdict({**READY, "fenceReady": False, "draining": drain})
    assert plain is not None
    assert plain.problem


CHANGES: list[dict[str, Any]] = [
    {"draining": None},
    {"draining": {**DRAIN, "since": "1"}},
    {"draining": {**DRAIN, "until": None}},
    {"draining": {**DRAIN, "swapVersion": ""}},
    {"draining": {**DRAIN, "swapAt": None}},
    {"draining": {**DRAIN, "swapFence": None}},
    {"draining": {**DRAIN, "swapFence": False}},
    {"fenceReady": "yes"},
    {"fenceReady": None},
    {"residents": None},
    {"residents": [{"physicalMember": "m1"}, {"physicalMember": "m1"}]},
    {"residents": [{}]},
    {"deployDiagnostic": None},
    {"deployDiagnostic": {**DIAGNOSTIC, "producer": None}},
    {"deployDiagnostic": {**DIAGNOSTIC, "producer": {"workerVersion": "w"}}},
    {"deployDiagnostic": {**DIAGNOSTIC, "fence": None}},
    {"deployDiagnostic": {**DIAGNOSTIC, "fence": {"status": "withdrawn"}}},
    {"deployDiagnostic": {**DIAGNOSTIC, "readback": "unreadable"}},
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_reply_that_lacks_a_part_is_malformed(change: dict[str, Any]) -> None:
    """It is refused as one that says no: nothing is filled in."""
    assert read_verdict({**READY, **change}) is None
    assert judged(Granted({**READY, **change})) == NotReady(
        "FENCE_READ_FAILED", "the reply is malformed"
    )


def test_a_missing_endpoint_and_a_wrong_credential_end_it() -> None:
    """There is no fallback to a count (G20); everything else may be tried again."""
    assert judged(Granted(READY)) == read_verdict(READY)
    missing = judged(Refused("NOT_FOUND"))
    assert isinstance(missing, NotReady)
    assert (missing.code, missing.is_final) == ("FENCE_ENDPOINT_MISSING", True)
    wrong = judged(Refused("UNAUTHORIZED"))
    assert isinstance(wrong, NotReady)
    assert wrong.is_final
    assert judged(Refused("FENCE_UNAVAILABLE", "d")) == NotReady("FENCE_UNAVAILABLE", "d")
    assert judged(Uncertain("lost")) == NotReady("FENCE_READ_FAILED", "lost")


def test_the_check_is_a_program_of_its_own() -> None:
    """It leaves its verdict, and the fence of a ready one."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await drained(fleet)
        check = Preflight(BEARERS.drain)
        assert await world.start(check, "preflight").ended() == "done"
        assert check.verdict is not None
        assert not isinstance(check.verdict, NotReady)
        assert check.verdict.members == ("member-1", "member-2")

    assert told(story).ok

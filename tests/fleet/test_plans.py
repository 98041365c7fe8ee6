"""The machine of a deploy, and what a report says."""

import pytest

from durasim.actors.fleet import ImageTarget
from durasim.actors.fleet.codes import CODES
from durasim.actors.fleet.plans import RUNNER_MACHINE, DeployFailed, DeployReport


def reachable(start: str) -> set[str]:
    """Return every state after *start*."""
    found: set[str] = set()
    fresh = {start}
    while fresh:
        state = fresh.pop()
        ahead = {e.next for e in RUNNER_MACHINE.edges if state in e.states and e.next is not None}
        fresh |= ahead - found
        found |= ahead
    return found


def test_an_upload_is_sent_once_and_nothing_leads_back_to_it() -> None:
    """There is one row that sends it, and no row back from there (INV-08)."""
    senders = [edge for edge in RUNNER_MACHINE.edges if edge.next == "UPLOAD_SENT"]

    assert [edge.states for edge in senders] == [("FENCE_READ",)]
    assert reachable("UPLOAD_SENT").isdisjoint(
        {"PLANNED", "DRAINED", "PREPARED", "CHECKED", "FENCE_READ", "UPLOAD_SENT"}
    )


def test_every_state_is_reached_and_only_three_are_ends() -> None:
    """Ready, failed and unverified stay what they are."""
    states = set(RUNNER_MACHINE.states)

    assert reachable("PLANNED") | {"PLANNED"} == states
    assert {state for state in states if not reachable(state)} == {"READY", "FAILED", "UNVERIFIED"}


def test_an_unverified_upload_is_never_ready() -> None:
    """Nothing leads on from not knowing."""
    with pytest.raises(LookupError):
        RUNNER_MACHINE.step("UNVERIFIED", "failed", None)


def test_a_report_names_what_was_read_and_when() -> None:
    """No target is claimed where none was reconciled."""
    target = ImageTarget("pool", 2, "img")
    report = DeployReport(outcome="ready", version="v", target=target, read_at=7)

    assert report.wire() == {
        "outcome": "ready",
        "code": None,
        "detail": "",
        "version": "v",
        "target": target.wire(),
        "readAt": 7,
        "warnings": [],
    }
    assert DeployReport(outcome="failed", code="TARGET_CHANGED").wire()["target"] is None


def test_a_failure_says_what_is_true() -> None:
    """By its code, or by what is told beside it."""
    assert DeployFailed("TARGET_CHANGED").detail == CODES["TARGET_CHANGED"].truth
    assert DeployFailed("TARGET_CHANGED", "to 8").detail == "to 8"

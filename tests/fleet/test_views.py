"""When a member is quiet, when it is idle, and what one is that could not be read."""

from typing import Any

import pytest

from durasim.actors.fleet.outcomes import Granted, Refused, Uncertain
from durasim.actors.fleet.views import (
    DEPLOY_STATES,
    IDLE_STATES,
    failed_view,
    is_idle,
    is_quiet,
    view_of,
)

ROW: dict[str, Any] = {"resource": "a", "physicalMember": "m", "activation": "active", "config": {}}


def view(state: str = "warm", executing: Any = 0, unknown: Any = 0, processes: Any = 0) -> Any:
    """Return a view of a member."""
    live = {"state": state, "executingRuns": executing, "unknownRuns": unknown}
    return {"resource": "a", "live": live, "activeProcesses": processes}


def test_a_quiet_member_counts_nothing_in_a_safe_state() -> None:
    """Counts are integers: what is absent, false or a text is no zero."""
    assert is_quiet(view())
    for bad in (1, None, False, "0", 0.0):
        assert not is_quiet(view(executing=bad))
        assert not is_quiet(view(unknown=bad))
    assert not is_quiet(failed_view(ROW, "lost"))


def test_an_idle_member_runs_no_process_in_a_stricter_state() -> None:
    """A recovery does not meet a member that refreshes, a deploy may (G56)."""
    assert {"refreshing", "restoring"} == DEPLOY_STATES - IDLE_STATES
    for state in ("warm", "degraded", "down", "refreshing", "restoring", "onboarding"):
        assert is_quiet(view(state)) is (state in DEPLOY_STATES)
        assert is_idle(view(state)) is (state in IDLE_STATES)
    for bad in (1, None, False):
        assert not is_idle(view(processes=bad))


@pytest.mark.parametrize(
    ("outcome", "live"),
    [
        (Granted({"state": "warm"}), {"state": "warm"}),
        (Granted("warm"), {"error": "malformed"}),
        (Refused("NOT_FOUND"), {"error": "NOT_FOUND"}),
        (Uncertain("lost"), {"error": "lost"}),
    ],
)
def test_every_answer_is_a_view_of_its_member(outcome: Any, live: Any) -> None:
    """Which member it is comes from the Registry's list, never from the answer."""
    assert view_of(ROW, outcome) == {
        "resource": "a",
        "physicalMember": "m",
        "activation": "active",
        "live": live,
    }

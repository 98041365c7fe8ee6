"""Drain, fence and permits against plain dicts, and wrong code that the machines reject."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis.stateful import RuleBasedStateMachine

from durasim.actors.fleet import admissions, drain, permits
from durasim.sim import Mutant

from ..machines import played
from .drain_machine import DrainMachine
from .permit_machine import PermitMachine

MACHINES: tuple[type[RuleBasedStateMachine], ...] = (DrainMachine, PermitMachine)
FLEET = "durasim.actors.fleet"


def giving(value: Any) -> Callable[..., Any]:
    """Return a function that always gives *value*."""

    def give(*asked: Any) -> Any:
        del asked
        return value

    return give


def wrong(target: str, replacement: Callable[..., Any]) -> Mutant:
    """Return wrong code for one function."""
    return Mutant(target, f"{FLEET}.{target}", replacement, "none", ())


def end_of_drain(record: drain.DrainRecord) -> int:
    """Forget that holds end it sooner."""
    return record.until


def unheld(record: drain.DrainRecord, *rest: object) -> drain.DrainRecord:
    """Hold nothing."""
    del rest
    return record


def emptied(kept: admissions.Admissions, permit: str) -> None:
    """Leave an empty row behind."""
    kept.admit(permit, {})


def any_fence(fence: drain.Fence | None, fence_id: str | None) -> bool:
    """Take back whatever fence stands."""
    del fence_id
    return fence is not None


REJECTED: tuple[tuple[type[RuleBasedStateMachine], Mutant], ...] = (
    (DrainMachine, wrong("drain:is_withdrawable", any_fence)),
    (DrainMachine, wrong("drain:is_post_upload", giving(True))),
    (DrainMachine, wrong("drain:fence_ready", giving(True))),
    (DrainMachine, wrong("drain:drain_end", end_of_drain)),
    (DrainMachine, wrong("drain:lowered", giving(None))),
    (DrainMachine, wrong("drain:held_for", unheld)),
    (DrainMachine, wrong("permits:counted", giving(permits.Counted(frozenset())))),
    (PermitMachine, wrong("permits:is_exact", giving(True))),
    (PermitMachine, wrong("permits:is_quoted", giving(True))),
    (PermitMachine, wrong("registry:is_recovery_fence", giving(True))),
    (PermitMachine, wrong("admissions:is_evicted", giving(False))),
    (PermitMachine, wrong("drain:is_post_upload", giving(True))),
    (PermitMachine, wrong("admissions:Admissions.end_legacy", emptied)),
)

each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda each: each.__name__)


@each_machine
def test_it_does_what_the_dict_does(machine: type[RuleBasedStateMachine]) -> None:
    """Every answer, every code and every row, through restarts, time and a late alarm."""
    assert played(machine, 100) >= 100


@pytest.mark.parametrize(("machine", "mutant"), REJECTED, ids=[each.name for _, each in REJECTED])
def test_wrong_code_is_rejected(machine: type[RuleBasedStateMachine], mutant: Mutant) -> None:
    """A machine that nothing can fail would show nothing."""
    with mutant.applied(), pytest.raises(AssertionError):
        played(machine, 300, phases=[Phase.generate], report_multiple_bugs=False)

"""How threads stand, counted and read."""

from durasim.actors.fleet.outcomes import Granted
from durasim.actors.fleet.standings import executing_count

from .residence import A, Residence, reside


def test_an_operation_and_its_own_owner_are_one_execution() -> None:
    """An operation of nobody who executes counts by itself."""
    assert executing_count({"t1": "executing", "t2": "executing"}, [], 0) == 2
    assert executing_count({"t1": "executing", "t2": "executing"}, ["t1"], 1) == 2
    assert executing_count({"t1": "retained", "t2": "unknown"}, [], 0) == 0
    assert executing_count({"t1": "retained"}, ["t1"], 2) == 2


def test_rows_of_other_code_are_unknown_and_not_asked_about() -> None:
    """A registration without an owner, one of another thread, a fence row without one."""

    async def story(here: Residence) -> None:
        rows = {
            "reg:t1": {"thread": "t1", "registeredAt": 1},
            "reg:t2": {"thread": "t1", "runId": "r1", "ownerGen": 1, "ownerFence": 1},
            "regFence:t3": {"runId": "r1", "ownerGen": 1, "ownerFence": 1},
            "binding:t4": {"thread": "t4", "lastOwner": "somebody"},
            "binding:t5": {"thread": "t5"},
        }
        here.fleet.store("Resident", A, rows)
        assert await here.standing() == (0, 0, 4, 2)
        assert isinstance(await here.attach(thread="t5"), Granted)

    reside(story)

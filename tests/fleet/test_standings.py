"""How threads stand, counted and read."""

import trio

from durasim.actors.fleet.outcomes import Granted
from durasim.actors.fleet.standings import executing_count

from .residence import ANN, BOB, A, Residence, reside


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


def test_what_is_registered_while_the_ledger_is_asked_is_unknown() -> None:
    """Nobody was asked about it, and neither its permit nor its operation is left to be counted."""

    async def story(here: Residence) -> None:
        await here.live(ANN)
        await here.attach(ANN)
        await here.live(BOB, "t2")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.attach, BOB, "t2")
            assert await here.standing() == (1, 0, 1, 2)
        assert await here.standing() == (2, 0, 0, 2)

    late = ("reply 1 of StateWorker/.fetch to Resident/repo:o/a", "1 s late")
    reside(story, deviations=(late,))

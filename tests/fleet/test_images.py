"""A member's image: what is decided from its records, and what ends a debt."""

from collections.abc import Callable
from typing import Any

import pytest

from durasim.actors import DurableObject
from durasim.actors.fleet.identities import ImageTarget
from durasim.actors.fleet.images import (
    IMAGE_DECISIONS,
    IMAGE_MACHINE,
    ImageRecords,
    MemberProgress,
    PendingMarker,
    decide,
)
from durasim.sim import World

from .told import told

T1 = ImageTarget("app", 1, "image:1")
T2 = ImageTarget("app", 2, "image:2")
OWED = PendingMarker("r", "b1", T1, "token-1", "boot-1")


class Keeper(DurableObject):
    """Runs what it is given over the records in its storage."""

    async def keep(self, number: int) -> Any:
        """Run one of `WORKS`."""
        return WORKS[number](ImageRecords(self.storage))


WORKS: list[Callable[[ImageRecords], Any]] = []


def kept(*works: Callable[[ImageRecords], Any]) -> list[Any]:
    """Run *works* one after the other over one storage, each in a turn of its own."""
    found: list[Any] = []

    async def story(world: World) -> None:
        keeper = world.client("test").get(Keeper, "one")
        for number in range(len(works)):
            answer = await keeper.keep(number)
            found.append(answer)

    WORKS[:] = works
    result = told(story)
    assert result.ok, result.failures
    return found


@pytest.mark.parametrize(
    ("marker", "progress", "decision"),
    [
        (None, None, "START"),
        (None, MemberProgress("b1", None, cycle_issued=True), "START"),
        (None, MemberProgress("b1", T1), "VERIFIED"),
        (None, MemberProgress("b1", T1, cycle_issued=True), "VERIFIED"),
        (None, MemberProgress("b2", T1), "START"),
        (None, MemberProgress("b1", T2), "START"),
        (OWED, None, "PENDING_WITHOUT_TARGET"),
        (OWED, MemberProgress("b1", None), "PENDING_WITHOUT_TARGET"),
        (PendingMarker("r"), MemberProgress("b1", T1), "PENDING_WITHOUT_TARGET"),
        (OWED, MemberProgress("b1", T1), "RETRY_CYCLE"),
        (OWED, MemberProgress("b1", T1, cycle_issued=True), "AWAIT_REPORT"),
        (OWED, MemberProgress("b2", T1), "PENDING_OTHER_TARGET"),
        (PendingMarker("r", "b2", T2), MemberProgress("b2", T2), "PENDING_OTHER_TARGET"),
    ],
)
def test_a_request_is_decided_by_both_records(
    marker: PendingMarker | None, progress: MemberProgress | None, decision: str
) -> None:
    """Build and target both count, and a debt comes before everything."""
    assert decide(marker, progress, "b1", T1) == decision


def test_each_decision_has_a_cell() -> None:
    """The table is whole, and the machine that people see speaks of the same states."""
    assert len(IMAGE_DECISIONS) == 2 * 4
    assert {move.event for move in IMAGE_MACHINE} >= {"reconcile T", "seen inactive", "time"}


def test_records_survive_their_storage() -> None:
    """What is written is read back; rows of older code are read as far as they go."""
    progress = MemberProgress("b1", T1, True, 5, "boot-1")
    assert MemberProgress.parse(progress.wire()) == progress
    assert MemberProgress.parse({"build": "b0", "cycleIssued": True}) == MemberProgress(
        "b0", None, True
    )
    assert MemberProgress.parse({"build": "b0"}) is None
    assert PendingMarker.parse(OWED.wire()) == OWED
    assert PendingMarker.parse({"resource": "r"}) == PendingMarker("r")
    assert PendingMarker.parse("rubbish") == PendingMarker("")
    assert PendingMarker.parse(None) is None


def test_a_debt_begins_once_and_ends_by_its_own_token() -> None:
    """A second target does not begin over it; another token ends nothing."""
    found = kept(
        lambda records: records.begin(OWED, "b1", T1),
        lambda records: records.begin(PendingMarker("r", "b2", T2, "token-2"), "b2", T2),
        lambda records: records.pending() == OWED,
        lambda records: records.settle("token-2"),
        lambda records: records.settle("token-1"),
        lambda records: records.settle("token-1"),
        lambda records: records.decide("b1", T1),
    )
    assert found[0] == "START"
    assert found[1] == "PENDING_OTHER_TARGET"
    assert found[2:] == [True, False, True, True, "VERIFIED"]


def test_a_stop_is_stored_for_the_progress_that_it_was_about() -> None:
    """Another progress by then keeps what it says."""
    begun = MemberProgress("b1", T1)
    found = kept(
        lambda records: records.begin(OWED, "b1", T1),
        lambda records: records.cycled(MemberProgress("b0", T1), "boot-1", 7),
        lambda records: records.cycled(begun, "boot-1", 7),
        lambda records: records.progress() == MemberProgress("b1", T1, True, 7, "boot-1"),
    )
    assert found[1:] == [False, True, True]


def test_the_boot_that_a_debt_met_is_noted_once() -> None:
    """Only where nobody could tell it, and never on a debt without a target."""
    blind = PendingMarker("r", "b1", T1, "token-1")
    found = kept(
        lambda records: records.note_boot("boot-1"),
        lambda records: records.begin(blind, "b1", T1),
        lambda records: records.note_boot(None),
        lambda records: records.note_boot("boot-2"),
        lambda records: records.note_boot("boot-3"),
        lambda records: getattr(records.pending(), "boot", None),
    )
    assert found[-1] == "boot-2"

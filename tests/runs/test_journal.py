"""What a run object has begun: the attempt, the deadline, the seal, and one alarm for all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from durasim.actors import DurableObject
from durasim.actors.runs.errors import ExecutionFencedError, ExecutionFenceUnreadableError
from durasim.actors.runs.journal import (
    ATTEMPTS_MAX,
    Deadline,
    Journal,
    Pending,
    charged,
    instant_of,
    is_charged,
)
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.snapshots import Snapshot
from durasim.sim import World

from .stage import play

PENDING = Pending("order", "r", "token")
PARKED = Snapshot(workflow_id="order", run_id="r", status="suspended", deadline_ms=5_000)


class Book(DurableObject):
    """Keeps a journal, and does with it what a test says."""

    async def write(self, steps: list[Any]) -> list[Any]:
        """Take the steps by name; returns what each gave."""
        journal = Journal(self.storage)
        given: list[Any] = []
        for name in steps:
            try:
                given.append(await STEPS[name](self, journal))
            except RunStateUnreadableError as error:
                given.append(str(error))
        return given

    async def alarm(self, info: Any) -> None:
        """It is never waited for here."""


async def _arm(_book: Book, journal: Journal) -> None:
    journal.arm(PENDING)


async def _pending(_book: Book, journal: Journal) -> Any:
    found = journal.pending()
    return None if found is None else [found.workflow_id, found.run_id, found.token]


async def _clear(_book: Book, journal: Journal) -> None:
    journal.clear()


async def _next(book: Book, journal: Journal) -> Any:
    journal.arm_next()
    return await book.storage.get_alarm()


async def _park(_book: Book, journal: Journal) -> Any:
    journal.reconcile(PARKED)
    found = journal.deadline()
    return None if found is None else found.at_ms


async def _end(_book: Book, journal: Journal) -> Any:
    journal.reconcile(attrs.evolve(PARKED, status="success", revision=PARKED.revision + 1))
    return journal.deadline()


async def _late(_book: Book, journal: Journal) -> Any:
    """Hear once more of how the run stood before it was parked."""
    journal.reconcile(attrs.evolve(PARKED, status="running", revision=PARKED.revision - 1))
    found = journal.deadline()
    return None if found is None else found.at_ms


async def _resume(_book: Book, journal: Journal) -> bool:
    journal.resume(2026)
    return journal.is_resuming()


async def _charge(_book: Book, journal: Journal) -> Any:
    found = journal.deadline()
    assert found is not None
    journal.set_deadline(charged(found, 1000))


async def _gone(_book: Book, journal: Journal) -> Any:
    journal.reconcile(None)
    return journal.deadline()


async def _torn(book: Book, _journal: Journal) -> None:
    book.storage.kv.put("flowsafe:run-owner-recovery:v1", "torn")


async def _newer(book: Book, _journal: Journal) -> None:
    book.storage.kv.put("flowsafe:run-owner-recovery:v1", {"version": 2})


async def _seal(_book: Book, journal: Journal) -> Any:
    before = journal.sealed()
    journal.seal(5)
    journal.seal(3)
    return [before, journal.sealed()]


STEPS: dict[str, Any] = {
    "arm": _arm,
    "pending": _pending,
    "clear": _clear,
    "next": _next,
    "park": _park,
    "end": _end,
    "late": _late,
    "resume": _resume,
    "charge": _charge,
    "gone": _gone,
    "torn": _torn,
    "newer": _newer,
    "seal": _seal,
}


def given(*steps: str) -> list[Any]:
    """Return what *steps* gave, in a book of their own."""
    answers: list[Any] = []

    async def story(world: World) -> None:
        answers.extend(await world.client("a").get(Book, "b").write(list(steps)))

    play(story)
    return answers


def test_an_attempt_is_found_until_it_is_cleared() -> None:
    """By its names and its token."""
    assert given("pending", "arm", "pending", "clear", "pending") == [
        None,
        None,
        ["order", "r", "token"],
        None,
        None,
    ]


@pytest.mark.parametrize("written", ["torn", "newer"])
def test_a_journal_that_makes_no_sense_is_unreadable(written: str) -> None:
    """It must never be taken for none: something may have been left."""
    assert given(written, "pending")[1] == "the journal of the run makes no sense"


def test_the_alarm_is_for_what_is_next() -> None:
    """An attempt is looked at in a minute, a deadline when it is due; else there is none."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert given("next") == [None]
    assert given("park", "next") == [5_000, now]
    assert given("park", "arm", "next")[2] == now + timedelta(seconds=60)
    assert given("park", "end", "next") == [5_000, None, None]


def test_a_run_that_is_resumed_is_looked_at_in_a_minute() -> None:
    """Until somebody has seen what it has come to."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert given("park", "resume", "next")[1:] == [True, now + timedelta(seconds=60)]
    assert given("park", "resume", "end", "next")[2:] == [None, None]
    assert given("park", "resume", "gone", "next")[2:] == [None, None]


def test_what_is_known_of_a_later_suspension_stays() -> None:
    """An older state of the run takes no deadline away, and the same one no failed try."""
    assert given("park", "late") == [5_000, 5_000]
    assert given("park", "charge", "park") == [5_000, None, 61_000]


def test_a_seal_only_grows() -> None:
    """An older claim does not take a newer one out of it."""
    assert given("seal") == [[None, 5]]


def test_a_failed_try_waits_twice_as_long_each_time() -> None:
    """And the last one gives the deadline up."""
    deadline: Deadline | None = Deadline("order", "r", 0, "resume", 3)
    waits: list[int] = []
    for _ in range(ATTEMPTS_MAX - 1):
        assert deadline is not None
        deadline = charged(deadline, 1000)
        assert deadline is not None
        waits.append((deadline.at_ms - 1000) // 60_000)
    assert waits == [1, 2, 4, 8]
    assert deadline is not None
    assert charged(deadline, 1000) is None


def test_case_33_a_refusal_of_the_fence_is_not_charged() -> None:
    """Neither is a fence that cannot be read; everything else is."""
    assert not is_charged(ExecutionFencedError("draining"))
    assert not is_charged(ExecutionFenceUnreadableError("no"))
    assert is_charged(RunStateUnreadableError("no"))


def test_milliseconds_are_an_instant() -> None:
    """Since 1970, aware."""
    assert instant_of(1_500) == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)

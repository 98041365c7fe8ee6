"""The tick: what a pass starts, and what it leaves alone while the fence is shut."""

import pytest

from durasim.actors import Overloaded, RunRouteError, Statement
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.reservations import Owner
from durasim.actors.runs.run_errors import (
    InvalidRunRequestError,
    RunAlreadyExistsError,
    RunStateUnreadableError,
)
from durasim.actors.runs.schedules import Fire, Schedules
from durasim.actors.runs.tick import ScheduleTick, Tally

from .local import LOCKED, START_MS, Clock, LocalDatabase, Log, Names, always_locked, move, never

MINUTE = 60_000
ANN = Owner("human", "ann")


class Runs:
    """Runs that are started, or not, as told."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.error: Exception | None = None
        self.runs_all_the_same = False
        self.is_readable = True

    async def start(self, fire: Fire) -> None:
        """Start the run, once; fail as told, before or after."""
        if self.error is None or self.runs_all_the_same:
            assert fire.run_id not in self.started
            self.started.append(fire.run_id)
        if self.error is not None:
            raise self.error

    async def exists(self, fire: Fire) -> bool:
        """Whether the run was started."""
        if not self.is_readable:
            raise RunStateUnreadableError("nobody answers")
        return fire.run_id in self.started


@pytest.fixture
def runs() -> Runs:
    """Return a deployment in which nothing has run."""
    return Runs()


@pytest.fixture
def schedules(database: LocalDatabase, clock: Clock) -> Schedules:
    """Return schedules of an empty deployment."""
    return Schedules(database, clock)


@pytest.fixture
def tick(schedules: Schedules, runs: Runs, fence: ExecutionFence, log: Log) -> ScheduleTick:
    """Return the tick over them."""
    return ScheduleTick(schedules, runs, fence, Names("run"), log)


async def owe(schedules: Schedules, name: str = "nightly") -> None:
    """Have one fire due now."""
    await schedules.create(name, ANN, "order", {"n": 1}, MINUTE, START_MS)


def fires(database: LocalDatabase) -> list[tuple[object, ...]]:
    """Return run, state and reason of each fire."""
    return database.look(
        "SELECT run_id, state, reason FROM flowsafe_schedule_triggers ORDER BY run_id"
    )


async def test_what_is_due_starts_once(
    tick: ScheduleTick, schedules: Schedules, runs: Runs, clock: Clock, database: LocalDatabase
) -> None:
    """The schedule moves on to the next time on its grid; what was missed is not made up for."""
    await owe(schedules)
    clock.now += 5 * MINUTE + 1

    assert await tick.tick() == Tally(due=1, claimed=1, started=1)
    assert await tick.tick() == Tally()
    assert runs.started == ["run-1"]
    found = await schedules.get("nightly")
    assert found is not None
    assert found.next_fire_at == START_MS + 6 * MINUTE
    assert fires(database) == [("run-1", "started", None)]


async def test_case_32_the_tick_asks_the_fence_before_it_claims(
    tick: ScheduleTick,
    schedules: Schedules,
    runs: Runs,
    fence: ExecutionFence,
    database: LocalDatabase,
) -> None:
    """A fire claimed and then refused would be lost: a shut fence leaves the schedule as it is."""
    await owe(schedules)
    await move(fence, FenceState.DRAINING)
    before = database.dump()
    database.asked.clear()

    assert await tick.tick() == Tally()
    assert database.dump() == before
    assert database.asked == ["SELECT flowsafe_execution_fence"]
    assert runs.started == []

    await move(fence, FenceState.OPEN)
    assert (await tick.tick()).started == 1


async def test_a_fence_that_cannot_be_read_is_shut_and_logged(
    tick: ScheduleTick, schedules: Schedules, database: LocalDatabase, log: Log
) -> None:
    """The pass does nothing, raises nothing, and says so."""
    await owe(schedules)
    before = database.dump()
    database.failing = always_locked

    assert await tick.tick() == Tally()
    assert log.kinds == ["schedule-tick-fence-error"]
    assert database.dump() == before


async def test_a_fence_that_is_merely_shut_is_not_logged(
    tick: ScheduleTick, fence: ExecutionFence, log: Log
) -> None:
    """An operator's doing is no error."""
    await move(fence, FenceState.LOCKED)

    assert await tick.tick() == Tally()
    assert log.kinds == []


async def test_a_pass_reads_the_fence_once(
    tick: ScheduleTick, schedules: Schedules, database: LocalDatabase
) -> None:
    """Never for each row."""
    for name in ("a", "b", "c"):
        await owe(schedules, name)
    database.asked.clear()

    assert (await tick.tick()).started == 3
    assert database.asked.count("SELECT flowsafe_execution_fence") == 1


@pytest.mark.parametrize("ran", [False, True])
async def test_a_fire_whose_start_nobody_knows_of_is_deferred_and_never_sent_again(
    tick: ScheduleTick, schedules: Schedules, runs: Runs, database: LocalDatabase, ran: bool
) -> None:
    """It may have begun and died. Later passes look for its run, and find it if it is there."""
    await owe(schedules)
    runs.error, runs.runs_all_the_same = RunStateUnreadableError("lost"), ran

    assert await tick.tick() == Tally(due=1, claimed=1, deferred=1)
    assert fires(database) == [("run-1", "deferred", "dispatch-indeterminate")]

    runs.error = None
    assert await tick.tick() == (Tally(started=1) if ran else Tally(deferred=1))
    assert runs.started == ["run-1"] * ran


@pytest.mark.parametrize(
    "refusal",
    [
        ExecutionFencedError("draining", "run start"),
        RunRouteError(503, "fenced", {"code": "EXECUTION_FENCE_UNREADABLE"}),
        Overloaded("RunObject/order:run-1", 1),
    ],
)
async def test_a_fire_of_which_surely_nothing_ran_is_sent_again(
    tick: ScheduleTick,
    schedules: Schedules,
    runs: Runs,
    database: LocalDatabase,
    refusal: Exception,
) -> None:
    """As when the fence closes in the middle of a pass: after the reopening the same run starts."""
    await owe(schedules)
    runs.error = refusal
    assert await tick.tick() == Tally(due=1, claimed=1, refused=1)
    assert fires(database) == [("run-1", "claimed", "refused")]

    runs.error = None
    assert await tick.tick() == Tally(started=1)
    assert runs.started == ["run-1"]


async def test_a_fire_is_sent_by_one_pass(
    tick: ScheduleTick, schedules: Schedules, runs: Runs, database: LocalDatabase
) -> None:
    """Two may find it claimed; whoever comes second leaves it alone."""
    await owe(schedules)
    (due,) = await schedules.due(10)
    fire = await schedules.claim(due, "run-1")
    assert fire is not None

    def overtake(label: str) -> None:
        if label == "SELECT flowsafe_schedule_triggers":
            database.after = never
            database.run([Statement("UPDATE flowsafe_schedule_triggers SET state = 'sent'")])

    database.after = overtake
    assert await tick.tick() == Tally()
    assert runs.started == []


async def test_a_fire_that_was_claimed_by_somebody_who_died_is_started_by_the_next_pass(
    tick: ScheduleTick, schedules: Schedules, runs: Runs
) -> None:
    """Its run id stands in its row."""
    await owe(schedules)
    (due,) = await schedules.due(10)
    assert await schedules.claim(due, "run-of-the-dead") is not None
    assert await schedules.claim(due, "run-of-another") is None

    assert await tick.tick() == Tally(started=1)
    assert runs.started == ["run-of-the-dead"]


async def test_a_start_that_makes_no_sense_has_failed(
    tick: ScheduleTick, schedules: Schedules, runs: Runs, database: LocalDatabase
) -> None:
    """It would fail again, so it is not tried again; a conflict is looked into."""
    await owe(schedules)
    runs.error = InvalidRunRequestError("nonsense")

    assert await tick.tick() == Tally(due=1, claimed=1, failed=1)
    assert fires(database) == [("run-1", "failed", "nonsense")]

    await owe(schedules, "other")
    runs.error, runs.runs_all_the_same = RunAlreadyExistsError("run-2"), True
    assert (await tick.tick()).deferred == 1
    assert (await tick.tick()).started == 1


async def test_a_run_of_which_nobody_answers_leaves_its_fire(
    tick: ScheduleTick, schedules: Schedules, runs: Runs, database: LocalDatabase
) -> None:
    """Nothing is started again while nobody says whether it runs."""
    await owe(schedules)
    runs.error, runs.runs_all_the_same = RunStateUnreadableError("lost"), True
    await tick.tick()
    runs.error, runs.is_readable = None, False

    assert await tick.tick() == Tally(deferred=1)
    assert runs.started == ["run-1"]
    assert fires(database) == [("run-1", "deferred", "dispatch-indeterminate")]


async def test_a_database_that_fails_in_a_pass_is_logged_and_met_again(
    tick: ScheduleTick, schedules: Schedules, runs: Runs, database: LocalDatabase, log: Log
) -> None:
    """At the list, at a claim, at a mark: no pass raises, and nothing is lost."""
    await owe(schedules)
    for label, kind in (
        ("SELECT flowsafe_schedule_triggers", "schedule-tick-unreadable"),
        ("batch INSERT flowsafe_schedule_triggers", "schedule-tick-claim-failed"),
        ("UPDATE flowsafe_schedule_triggers", "schedule-tick-send-failed"),
    ):
        database.failing = lambda asked, label=label: LOCKED if asked == label else None  # type: ignore[misc]
        await tick.tick()
        assert log.kinds[-1] == kind
    marks = 0

    def second(label: str) -> Exception | None:
        nonlocal marks
        marks += label == "UPDATE flowsafe_schedule_triggers"
        return LOCKED if marks == 2 else None

    database.failing = second
    assert await tick.tick() == Tally(started=1)
    assert log.kinds[-1] == "schedule-tick-mark-failed"
    database.failing = never
    assert await tick.tick() == Tally(started=1)
    assert runs.started == ["run-2"]
    assert await tick.tick() == Tally()

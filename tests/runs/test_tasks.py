"""Background tasks: queued, dispatched, and each body asked again right before it begins."""

from typing import Any

import pytest

from durasim.actors import Statement
from durasim.actors.runs import StepContext, Workflow
from durasim.actors.runs.errors import ExecutionFencedError, ExecutionFenceUnreadableError
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.run_errors import InvalidRunRequestError
from durasim.actors.runs.tables import TablesUnreadableError
from durasim.actors.runs.tasks import (
    ATTEMPTS_MAX,
    FENCED,
    RETRY_MS,
    TAKEN_MS,
    BackgroundTasks,
    Dispatched,
    Task,
    admit_body,
    task_step,
)
from durasim.sim import World

from .local import LOCKED, Clock, LocalDatabase, Log, always_locked, move, never
from .stage import Stage, play, told


class Body:
    """Does a task, or fails as told."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []
        self.error: Exception | None = None

    async def __call__(self, task: Task) -> str:
        """Do it."""
        if self.error is not None:
            raise self.error
        self.done.append((task.id, task.payload))
        return "fine"


@pytest.fixture
def body() -> Body:
    """Return a body that works."""
    return Body()


@pytest.fixture
def tasks(
    database: LocalDatabase, fence: ExecutionFence, body: Body, clock: Clock, log: Log
) -> BackgroundTasks:
    """Return no tasks yet."""
    return BackgroundTasks(database, fence, {"mail": body}, clock, log)


def states(database: LocalDatabase) -> list[tuple[object, ...]]:
    """Return state, what was said and attempts of each task."""
    return database.look("SELECT state, said, attempts FROM flowsafe_tasks ORDER BY id")


async def test_a_task_is_done_once(
    tasks: BackgroundTasks, body: Body, database: LocalDatabase
) -> None:
    """Queued twice under one name it is one."""
    for _ in range(2):
        await tasks.enqueue("a", "mail", {"to": "ann"})

    assert await tasks.dispatch() == Dispatched(done=1)
    assert await tasks.dispatch() == Dispatched()
    assert body.done == [("a", {"to": "ann"})]
    assert states(database) == [("done", '"fine"', 1)]


@pytest.mark.parametrize(("name", "kind"), [("a/b", "mail"), ("a", "fax")])
async def test_a_task_that_nobody_can_do_is_not_queued(
    tasks: BackgroundTasks, database: LocalDatabase, name: str, kind: str
) -> None:
    """The message says why."""
    with pytest.raises(InvalidRunRequestError):
        await tasks.enqueue(name, kind, None)
    assert database.tables() == []


@pytest.mark.parametrize("state", [FenceState.LOCKED, FenceState.PROOF_ONLY])
async def test_a_shut_fence_refuses_queueing_and_dispatching(
    tasks: BackgroundTasks,
    fence: ExecutionFence,
    database: LocalDatabase,
    state: FenceState,
) -> None:
    """Nothing is queued, nothing is taken."""
    await tasks.enqueue("a", "mail", None)
    await move(fence, state, "proof" if state is FenceState.PROOF_ONLY else None)
    before = database.dump()

    with pytest.raises(ExecutionFencedError, match="background task"):
        await tasks.enqueue("b", "mail", None)
    with pytest.raises(ExecutionFencedError, match="background task"):
        await tasks.dispatch()
    assert database.dump() == before


async def test_a_fence_that_closes_behind_the_dispatch_parks_the_task(
    tasks: BackgroundTasks,
    fence: ExecutionFence,
    body: Body,
    database: LocalDatabase,
    clock: Clock,
) -> None:
    """It is not charged, says in which state, and goes on by itself after the reopening."""
    await tasks.enqueue("a", "mail", None)
    await close_after_take(database)

    assert await tasks.dispatch() == Dispatched(parked=1)
    parked = '{"flowsafe.executionFenced": {"state": "migration-locked"}}'
    assert states(database) == [("parked", parked, 0)]
    assert body.done == []

    await move(fence, FenceState.OPEN)
    assert await tasks.dispatch() == Dispatched()
    clock.now += RETRY_MS
    assert await tasks.dispatch() == Dispatched(done=1)


async def close_after_take(database: LocalDatabase) -> None:
    """Let the fence close when a task has been taken."""
    fence = ExecutionFence(database, Clock())
    await fence.seed("open")

    def close(label: str) -> None:
        if label == "UPDATE flowsafe_tasks":
            database.after = never
            database.run(
                [Statement("UPDATE flowsafe_execution_fence SET state = 'migration-locked'")]
            )

    database.after = close


async def test_a_fence_that_becomes_unreadable_behind_the_dispatch_charges_nothing(
    tasks: BackgroundTasks, database: LocalDatabase, body: Body, log: Log, clock: Clock
) -> None:
    """The task waits; nothing of it ran."""
    await tasks.enqueue("a", "mail", None)

    def blind(label: str) -> None:
        if label == "UPDATE flowsafe_tasks":
            database.after = never
            database.failing = lambda label: LOCKED if "fence" in label else None

    database.after = blind
    assert await tasks.dispatch() == Dispatched(again=1)
    assert states(database) == [("pending", "null", 0)]
    assert log.kinds == ["background-task-fence-error"]
    assert body.done == []

    database.failing = never
    clock.now += RETRY_MS
    assert await tasks.dispatch() == Dispatched(done=1)


async def test_a_body_that_fails_is_tried_again_but_not_for_ever(
    tasks: BackgroundTasks, body: Body, database: LocalDatabase, clock: Clock
) -> None:
    """Whatever it raises, a refusal of its own among it: the body had begun, so it counts."""
    await tasks.enqueue("a", "mail", None)
    body.error = ExecutionFencedError("draining", "a nested start")

    for _ in range(ATTEMPTS_MAX - 1):
        assert await tasks.dispatch() == Dispatched(again=1)
        clock.now += RETRY_MS
    assert await tasks.dispatch() == Dispatched(failed=1)
    ((state, said, attempts),) = states(database)
    assert (state, attempts) == ("failed", ATTEMPTS_MAX)
    assert "a nested start" in str(said)


async def test_what_a_dispatcher_had_taken_when_it_died_is_done_by_the_next(
    tasks: BackgroundTasks, database: LocalDatabase, clock: Clock, log: Log
) -> None:
    """After a while; also if only the mark of its end was lost."""
    await tasks.enqueue("a", "mail", None)
    marks = 0

    def lose(label: str) -> Exception | None:
        nonlocal marks
        marks += label == "UPDATE flowsafe_tasks"
        return LOCKED if marks == 2 else None

    database.failing = lose
    assert await tasks.dispatch() == Dispatched()
    assert log.kinds == ["background-task-unreadable"]
    database.failing = never
    assert await tasks.dispatch() == Dispatched()
    clock.now += TAKEN_MS
    assert await tasks.dispatch() == Dispatched(done=1)


async def test_what_is_due_cannot_be_read(tasks: BackgroundTasks, database: LocalDatabase) -> None:
    """503; nothing is taken."""
    database.failing = lambda label: LOCKED if "tasks" in label else None
    with pytest.raises(TablesUnreadableError):
        await tasks.dispatch()


async def test_a_task_taken_by_another_is_left_to_it(
    tasks: BackgroundTasks, database: LocalDatabase, body: Body
) -> None:
    """Two dispatchers may see the same list."""
    await tasks.enqueue("a", "mail", None)

    def steal(label: str) -> None:
        if label == "SELECT flowsafe_tasks":
            database.after = never
            database.run([Statement("UPDATE flowsafe_tasks SET attempts = attempts + 1")])

    database.after = steal
    assert await tasks.dispatch() == Dispatched()
    assert body.done == []


async def test_where_nothing_can_be_parked_the_body_raises(fence: ExecutionFence) -> None:
    """With the label of background tasks; one of the sources of case 44."""
    await admit_body(fence)
    await move(fence, FenceState.LOCKED)
    with pytest.raises(ExecutionFencedError, match="background task"):
        await admit_body(fence)


async def test_an_unreadable_fence_is_raised_whether_one_can_park_or_not(
    fence: ExecutionFence, database: LocalDatabase
) -> None:
    """No state was seen that could be said."""
    database.failing = always_locked
    with pytest.raises(ExecutionFenceUnreadableError):
        await admit_body(fence, lambda payload: pytest.fail(f"parked with {payload}"))


def test_a_step_that_is_a_task_parks_its_run_while_the_fence_is_shut() -> None:
    """A step of a live run finds the fence shut: the run parks, and goes on when it is resumed."""

    async def story(world: World) -> None:
        stage = Stage(world, "objects", "router")
        client = world.client("body")
        fence = ExecutionFence(client.database, lambda: 0)

        async def close(run: StepContext) -> None:
            run.effect("charged", run.run_id)
            stage.put_fence("migration-locked")

        async def work(run: StepContext) -> str:
            run.effect("worked", run.run_id)
            return "done"

        stage = Stage(
            world, "objects", "router",
            workflows=(Workflow("job", (close, task_step(work, fence))),),
        )  # fmt: skip
        await stage.open()
        status, parked = await stage.start("k1", "job")
        assert (status, parked["status"]) == (200, "suspended")
        assert parked["suspended"] == {FENCED: {"state": "migration-locked"}}
        assert world.ledger.count("worked") == 0

        stage.put_fence("open")
        path = f"/runs/job/{parked['runId']}/resume"
        status, ended = told(await stage.send("POST", path, {"data": None}))
        assert (status, ended["status"], ended["result"]) == (200, "success", "done")
        assert world.ledger.count("worked") == stage.executions() == 1

    play(story)

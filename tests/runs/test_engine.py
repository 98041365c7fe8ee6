"""The engine: steps in order, parking, resuming, and errors that end the run and nothing else."""

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest
import trio

from durasim.actors.runs.engine import Engine, NoEffects, StepContext, Workflow
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.run_errors import RunAdmissionConflictError, RunStateUnreadableError
from durasim.actors.runs.snapshots import Binding, Snapshot, Snapshots

from .local import LOCKED, Clock, LocalDatabase

SHELL = Snapshot(workflow_id="w", run_id="r", payload={"n": 1})


class Outside:
    """Effects that are kept in a list."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, object]] = []

    def note(self, kind: str, value: object = None) -> None:
        """Keep one effect."""
        self.notes.append((kind, value))


@pytest.fixture
def outside() -> Outside:
    """Return what is done outside."""
    return Outside()


@pytest.fixture
def engine(database: LocalDatabase, clock: Clock, outside: Outside) -> Engine:
    """Return an engine whose sleep moves the clock."""

    async def sleep(seconds: float) -> None:
        clock.now += round(seconds * 1000)

    return Engine(snapshots=Snapshots(database), effects=outside, sleep=sleep, now_ms=clock)


async def ran(engine: Engine, *steps: Callable[[StepContext], Awaitable[Any]]) -> Snapshot:
    """Create a run of those steps and run its first leg."""
    shell = await engine.create_run(SHELL, None)
    return await engine.leg(Workflow("w", steps), attrs.evolve(shell, start_token="t"))


async def first(run: StepContext) -> dict[str, Any]:
    """Note, share and return something."""
    run.effect("first", run.run_id)
    run.state["seen"] = run.payload
    return {"one": 1}


async def second(run: StepContext) -> list[Any]:
    """Return what it sees."""
    return [run.state["seen"], list(run.results), run.workflow_id, list(run.requester)]


async def ask(run: StepContext) -> Any:
    """Park, and return what it is told."""
    if not run.is_resumed:
        run.state["asked"] = True
        run.suspend({"question": "?"}, deadline_s=5, on_deadline="time-out")
    return run.resumed


async def test_steps_run_in_order_and_share_their_state(engine: Engine, outside: Outside) -> None:
    """The last result is the run's; what is persisted is what was returned."""
    ended = await ran(engine, first, second)

    assert (ended.status, ended.start_token) == ("success", "t")
    assert ended.results == ({"one": 1}, [{"n": 1}, [{"one": 1}], "w", ["system", "system"]])
    assert outside.notes == [("first", "r")]
    assert await engine.snapshots.read("w", "r") == ended


async def test_a_run_begins_as_a_shell_and_bears_its_token_from_the_first_step_on(
    engine: Engine,
) -> None:
    """A shell says only that a run was to begin."""
    seen: list[Snapshot | None] = []

    async def look(run: StepContext) -> None:
        seen.append(await engine.snapshots.read("w", run.run_id))

    await ran(engine, look, look)

    before, between = seen
    assert before is not None
    assert before.is_shell
    assert between is not None
    assert (between.status, between.start_token, between.step) == ("running", "t", 1)


async def test_a_run_without_steps_succeeds(engine: Engine) -> None:
    """With nothing to show."""
    assert (await ran(engine)).summary()["result"] is None


async def test_a_step_that_parks_is_called_again(engine: Engine, clock: Clock) -> None:
    """It is told that it goes on, and with what; its state was kept."""
    workflow = Workflow("w", (first, ask, second))
    parked = await ran(engine, *workflow.steps)
    assert (parked.status, parked.suspended) == ("suspended", {"question": "?"})
    assert (parked.deadline_ms, parked.on_deadline) == (clock.now + 5000, "time-out")
    assert parked.state == {"seen": {"n": 1}, "asked": True}

    ended = await engine.leg(workflow, parked, {"answer": 42})
    assert ended.status == "success"
    assert ended.results[1] == {"answer": 42}
    assert (ended.suspended, ended.deadline_ms) == (None, None)


async def test_none_is_an_answer(engine: Engine) -> None:
    """A run that is resumed with nothing is resumed."""
    parked = await ran(engine, ask)
    ended = await engine.leg(Workflow("w", (ask,)), parked, None)
    assert (ended.status, ended.results) == ("success", (None,))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("on purpose"),
        ExecutionFencedError("draining"),
        ExceptionGroup("in a nursery", [ValueError("inside")]),
    ],
)
async def test_case_44_whatever_a_step_raises_ends_its_run(
    engine: Engine, error: Exception
) -> None:
    """Also a refusal: the run has failed, and the start of it has not."""

    async def broken(run: StepContext) -> None:
        run.effect("begun", run.run_id)
        raise error

    ended = await ran(engine, broken, first)

    assert ended.status == "failed"
    assert ended.summary()["error"] == {"name": type(error).__name__, "message": str(error)}


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
async def test_what_is_no_json_fails_the_run(engine: Engine, value: Any) -> None:
    """As a result, in the state, or as what a parked run says."""

    async def result(_run: StepContext) -> Any:
        return value

    async def state(run: StepContext) -> None:
        run.state["odd"] = value

    async def parks(run: StepContext) -> None:
        run.suspend(value)

    for number, step in enumerate((result, state, parks)):
        shell = await engine.create_run(attrs.evolve(SHELL, run_id=f"r{number}"), None)
        ended = await engine.leg(Workflow("w", (step,)), shell)
        assert ended.status == "failed", step


async def test_parking_is_no_error_that_a_step_could_swallow(engine: Engine) -> None:
    """Code that handles errors does not take it for one."""

    async def careless(run: StepContext) -> Any:
        try:
            run.suspend()
        except Exception:
            return "swallowed"

    assert (await ran(engine, careless)).status == "suspended"


async def test_a_task_of_a_step_parks_its_run(engine: Engine) -> None:
    """Its nursery makes a group of it, and cuts the other tasks off."""

    async def nested(run: StepContext) -> Any:
        async with trio.open_nursery() as outer:
            outer.start_soon(trio.sleep_forever)
            async with trio.open_nursery() as inner:
                inner.start_soon(trio.sleep_forever)
                run.suspend({"ask": 1}, deadline_s=5)

    parked = await ran(engine, nested)
    assert (parked.status, parked.suspended) == ("suspended", {"ask": 1})
    assert parked.deadline_ms is not None


async def test_a_task_that_fails_beside_one_that_parks_ends_the_run(engine: Engine) -> None:
    """What has failed must not be taken for waiting."""

    async def fails(_run: StepContext) -> None:
        raise ValueError("on purpose")

    async def both(run: StepContext) -> Any:
        try:
            run.suspend()
        finally:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fails, run)

    async def group(run: StepContext) -> Any:
        parked = [BaseException(), ValueError("on purpose")]
        try:
            run.suspend()
        except BaseException as error:
            parked[0] = error
        raise BaseExceptionGroup("both", parked)

    for step in (both, group):
        shell = attrs.evolve(SHELL, run_id=step.__name__)
        ended = await engine.leg(Workflow("w", (step,)), await engine.create_run(shell, None))
        assert (ended.status, (ended.error or {})["name"]) == ("failed", "ExceptionGroup")


async def test_a_leg_that_is_cut_while_a_task_parks_is_cut(engine: Engine) -> None:
    """A cancellation is not the step's own, and goes on."""

    async def parks(run: StepContext) -> None:
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        run.suspend()

    async def torn(run: StepContext) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(parks, run)
            await trio.sleep_forever()

    shell = await engine.create_run(SHELL, None)
    with trio.CancelScope() as scope:
        scope.cancel()
        await engine.leg(Workflow("w", (torn,)), shell)
    assert scope.cancelled_caught


async def test_a_step_can_wait(engine: Engine, clock: Clock) -> None:
    """Time passes by the host's clock."""
    before = clock.now

    async def slow(run: StepContext) -> None:
        await run.sleep(1.5)

    assert (await ran(engine, slow)).status == "success"
    assert clock.now == before + 1500


async def test_a_run_whose_claim_is_not_the_row_executes_nothing(engine: Engine) -> None:
    """Its binding failed: no shell, no step."""
    binding = Binding(("1 = 0", ()), ("CREATE TABLE never (x)", ()))
    with pytest.raises(RunAdmissionConflictError) as raised:
        await engine.create_run(SHELL, binding)
    assert raised.value.reason == {
        "code": "RUN_ADMISSION_CONFLICT",
        "runId": "r",
        "conflict": "reservation-changed",
    }
    assert await engine.snapshots.read("w", "r") is None


async def test_a_leg_that_cannot_be_persisted_is_no_result(
    engine: Engine, database: LocalDatabase
) -> None:
    """Steps may have run: nobody can tell how the run stands."""
    shell = await engine.create_run(SHELL, None)
    database.failing = lambda _label: LOCKED
    with pytest.raises(RunStateUnreadableError):
        await engine.leg(Workflow("w", (first,)), shell)


def test_a_host_without_a_ledger_does_nothing_outside() -> None:
    """A step that tries fails, instead of doing nothing quietly."""
    with pytest.raises(LookupError, match="was not done"):
        NoEffects().note("charged", 1)

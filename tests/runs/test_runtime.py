"""The runtime in one memory: its gate before its lock, and nothing past it that looks like one."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing

from durasim.actors.runs.engine import Engine, StepContext, Workflow
from durasim.actors.runs.errors import ExecutionFencedError, ExecutionFenceUnreadableError
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.giveback import RouterSide
from durasim.actors.runs.refusal import is_execution_fence_refusal
from durasim.actors.runs.reservations import Owner, StartRequest, StartReservations, Target
from durasim.actors.runs.run_errors import (
    InvalidRunRequestError,
    RunAlreadyExistsError,
    RunNotSuspendedError,
    RunStateUnreadableError,
    RunTerminalConflictError,
    UnknownRunError,
    UnknownWorkflowError,
)
from durasim.actors.runs.runtime import RunnerRuntime, RunOrder, past_the_gate
from durasim.actors.runs.snapshots import Snapshots

from .local import LOCKED, Clock, LocalDatabase, Log, move

ANN = Owner("human", "ann")
ORDER = RunOrder(workflow_id="w", run_id="r", owner=ANN, key="k")


class Outside:
    """Effects in a list, and a gate that a step waits at."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.open = trio.Event()

    def note(self, kind: str, value: object = None) -> None:
        """Keep one effect."""
        del value
        self.notes.append(kind)


class Place:
    """A runtime with everything that it uses."""

    def __init__(self, database: LocalDatabase, clock: Clock, log: Log) -> None:
        self.database = database
        self.fence = ExecutionFence(database, clock)
        self.store = StartReservations(database, clock)
        self.outside = Outside()
        self.log = log
        self.snapshots = Snapshots(database)
        self.provider: Any = None
        self.clock = clock
        self.runtime = self.make()

    def make(self) -> RunnerRuntime:
        """Return a runtime with empty memory."""

        async def waits(run: StepContext) -> str:
            run.effect("began")
            await self.outside.open.wait()
            return run.run_id

        async def asks(run: StepContext) -> Any:
            return run.resumed if run.is_resumed else run.suspend("?")

        async def refused(run: StepContext) -> None:
            run.effect("began")
            raise ExecutionFencedError("draining", "nested start")

        workflows = {
            "w": Workflow("w", (waits,)),
            "ask": Workflow("ask", (asks,)),
            "refused": Workflow("refused", (refused,)),
        }
        engine = Engine(
            snapshots=self.snapshots,
            effects=self.outside,
            sleep=trio.sleep,
            now_ms=self.clock,
        )
        return RunnerRuntime(
            workflows=workflows,
            engine=engine,
            fence=self.fence,
            reservations=self.store,
            give_back=RouterSide(self.store),
            log=self.log,
            request_context=self.provider,
        )


@pytest.fixture
def place(database: LocalDatabase, clock: Clock, log: Log) -> Place:
    """Return a place with an empty database and an open gate for steps."""
    made = Place(database, clock, log)
    made.outside.open.set()
    return made


async def test_a_start_runs_its_first_leg_and_settles_its_key(place: Place) -> None:
    """What has ended, and is persisted so, is spent."""
    await place.store.reserve(StartRequest("k", ANN, Target("workflow", "w")), lambda: "r")
    await place.store.claim("k", "r")
    ended = await place.runtime.start(ORDER, "t")

    assert (ended.status, ended.start_token) == ("success", "t")
    row = await place.store.read("k")
    assert row is not None
    assert row.state == "terminal"


@pytest.mark.parametrize(
    ("change", "token", "error"),
    [
        ({"workflow_id": "x"}, "t", UnknownWorkflowError),
        ({"run_id": "a b"}, "t", InvalidRunRequestError),
        ({"owner": Owner("human", "")}, "t", InvalidRunRequestError),
        ({}, "", InvalidRunRequestError),
    ],
)
async def test_an_order_that_makes_no_sense_is_refused_before_the_fence(
    place: Place, change: Mapping[str, Any], token: str, error: type[Exception]
) -> None:
    """Nothing is asked of the database."""
    asked: dict[str, Any] = {"workflow_id": "w", "run_id": "r", "owner": ANN, **change}
    order = RunOrder(**asked)
    with pytest.raises(error):
        await place.runtime.start(order, token)
    assert place.database.asked == []


async def test_a_refused_start_does_not_wait_behind_a_live_run(place: Place) -> None:
    """The gate stands before the run's lock, and a refused start writes nothing."""
    place.outside.open = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.runtime.start, ORDER, "t")
        await trio.testing.wait_all_tasks_blocked()
        assert place.runtime.is_active("w", "r")
        await move(place.fence, FenceState.DRAINING)
        before = place.database.dump()
        with pytest.raises(ExecutionFencedError, match="run start"):
            await place.runtime.start(ORDER, "t2")
        assert place.database.dump() == before
        place.outside.open.set()
    assert not place.runtime.is_active("w", "r")
    assert place.outside.notes == ["began"]


async def test_a_second_start_waits_for_the_first_and_finds_it(place: Place) -> None:
    """First come, first served; one run."""
    place.outside.open = trio.Event()
    failed: list[Exception] = []

    async def second() -> None:
        with pytest.raises(RunAlreadyExistsError) as raised:
            await place.runtime.start(ORDER, "t2")
        failed.append(raised.value)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.runtime.start, ORDER, "t")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(second)
        await trio.testing.wait_all_tasks_blocked()
        assert failed == []
        place.outside.open.set()
    assert len(failed) == 1
    assert place.outside.notes == ["began"]


async def test_case_36_a_fence_that_moves_before_the_binding_refuses(place: Place) -> None:
    """The reading admitted it, the binding did not: fenced, and nothing ran."""
    await move(place.fence, FenceState.PROOF_ONLY, "k")

    def moved(label: str) -> None:
        if label == "SELECT flowsafe_execution_fence":
            place.database.make("UPDATE flowsafe_execution_fence SET state = 'draining'")

    place.database.after = moved
    with pytest.raises(ExecutionFencedError) as raised:
        await place.runtime.start(ORDER, "t")
    assert (raised.value.reason or {})["state"] == "proof-only"
    assert place.outside.notes == []


async def test_l11_a_binding_that_fails_is_a_refusal(place: Place) -> None:
    """Nothing ran; the same run binds it again."""
    await move(place.fence, FenceState.PROOF_ONLY, "k")
    place.database.failing = lambda label: LOCKED if label.startswith("UPDATE") else None
    with pytest.raises(ExecutionFenceUnreadableError) as raised:
        await place.runtime.start(ORDER, "t")
    assert is_execution_fence_refusal(raised.value)
    place.database.failing = lambda _label: None
    assert (await place.runtime.start(ORDER, "t")).status == "success"
    assert (await place.fence.read()).proof_run_id == "r"


async def test_case_44_a_refusal_raised_by_a_step_is_a_failed_run(place: Place) -> None:
    """The start itself has gone well: no claim is given back for it."""
    order = RunOrder(workflow_id="refused", run_id="r", owner=ANN)
    ended = await place.runtime.start(order, "t")

    assert (ended.status, (ended.error or {})["name"]) == ("failed", "ExecutionFencedError")


@pytest.mark.parametrize(
    "error", [ExecutionFencedError("draining"), ExecutionFenceUnreadableError("no")]
)
def test_nothing_past_the_gate_looks_like_a_refusal(error: Exception) -> None:
    """8.5: whatever comes out of the engine is turned into what it is."""
    assert not is_execution_fence_refusal(past_the_gate(error))
    other = ValueError("on purpose")
    assert past_the_gate(other) is other


async def test_a_policy_that_refuses_leaves_nothing(place: Place) -> None:
    """The host is asked before anything is persisted; what it gives, steps can see."""

    async def refuses(run_id: str, owner: Owner) -> Mapping[str, Any]:
        raise PermissionError(f"{owner.id} may not start {run_id}")

    place.provider = refuses
    with pytest.raises(PermissionError):
        await place.make().start(ORDER, "t")
    assert await place.snapshots.read("w", "r") is None

    async def gives(run_id: str, owner: Owner) -> Mapping[str, Any]:
        return {"tenant": owner.id, "run": run_id}

    place.provider = gives
    ended = await place.make().start(ORDER, "t")
    assert ended.request_context == {"tenant": "ann", "run": "r"}


async def test_an_attempt_that_fails_behind_its_result_shows_it(place: Place) -> None:
    """The snapshot bears its token, so it is its own."""
    write = place.snapshots.write

    async def late(snapshot: Any) -> None:
        await write(snapshot)
        raise RunStateUnreadableError("the answer was lost")

    place.snapshots.write = late  # type: ignore[method-assign]
    assert (await place.runtime.start(ORDER, "t")).status == "success"


async def test_an_attempt_that_nobody_can_look_for_raises_its_own_error(place: Place) -> None:
    """Not that of looking for it."""
    asked: list[str] = []

    def lost(label: str) -> Exception | None:
        asked.append(label)
        writing = label.startswith("UPDATE") or "UPDATE flowsafe_runs" in asked
        return LOCKED if writing else None

    place.database.failing = lost
    with pytest.raises(RunStateUnreadableError, match="cannot be persisted"):
        await place.runtime.start(ORDER, "t")


async def test_what_ended_while_it_was_being_cut_stays_ended(place: Place) -> None:
    """The leg has persisted its end and waits for nothing but its answer: that end is kept."""
    write = place.snapshots.write

    async def stuck(snapshot: Any) -> None:
        await write(snapshot)
        await trio.sleep_forever()

    place.snapshots.write = stuck  # type: ignore[method-assign]
    statuses: list[str] = []

    async def run() -> None:
        statuses.append((await place.runtime.start(ORDER, "t")).status)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        place.runtime.cut_leg("w", "r", "cancelled")
    assert statuses == ["success"]


async def test_an_attempt_that_left_a_shell_is_undone(place: Place) -> None:
    """A shell without a token is nobody's; a run of another attempt is not touched."""
    place.database.failing = lambda label: LOCKED if label.startswith("UPDATE") else None
    with pytest.raises(RunStateUnreadableError):
        await place.runtime.start(ORDER, "t")
    place.database.failing = lambda _label: None
    found = await place.snapshots.read("w", "r")
    assert found is not None
    assert found.is_shell
    assert await place.runtime.recover_start_attempt("w", "r", "t") is None
    assert await place.runtime.recover_start_attempt("w", "r", "t") is None
    ended = await place.runtime.start(ORDER, "t2")
    assert await place.runtime.recover_start_attempt("w", "r", "t2") == ended
    with pytest.raises(RunStateUnreadableError, match="another attempt"):
        await place.runtime.recover_start_attempt("w", "r", "t")


async def test_a_settlement_that_fails_is_only_logged(place: Place) -> None:
    """L10: the run has ended all the same, and is settled when it is met again."""
    await place.store.reserve(StartRequest("k", ANN, Target("workflow", "w")), lambda: "r")
    place.database.failing = lambda label: (
        LOCKED if label == "UPDATE flowsafe_start_idempotency" else None
    )
    ended = await place.runtime.start(ORDER, "t")
    assert ended.status == "success"
    assert place.log.kinds == ["start-reservation-settle-failed"]
    place.database.failing = lambda _label: None
    await place.runtime.settle(ended)
    row = await place.store.read("k")
    assert row is not None
    assert row.state == "terminal"


async def test_what_waits_for_nobody_is_not_resumed(place: Place) -> None:
    """Each with its error; nothing of them runs."""
    asks = RunOrder(workflow_id="ask", run_id="r", owner=ANN)
    with pytest.raises(UnknownWorkflowError):
        await place.runtime.resume("x", "r", None)
    with pytest.raises(UnknownRunError):
        await place.runtime.resume("ask", "r", None)
    parked = await place.runtime.start(asks, "t")
    assert parked.status == "suspended"
    with pytest.raises(RunNotSuspendedError):
        await place.runtime.resume("ask", "r", None, parked.revision + 1)
    assert (await place.runtime.resume("ask", "r", 7)).summary()["result"] == 7
    with pytest.raises(RunTerminalConflictError):
        await place.runtime.resume("ask", "r", 7)


async def test_a_run_on_its_way_is_not_resumed(place: Place) -> None:
    """It is not suspended, whoever executes it."""
    place.outside.open = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.runtime.start, ORDER, "t")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(RunNotSuspendedError):
            await place.make().resume("w", "r", None)
        place.outside.open.set()


async def test_a_resumption_that_cannot_be_persisted_is_no_refusal(place: Place) -> None:
    """Nobody can tell how far it came."""
    await place.runtime.start(RunOrder(workflow_id="ask", run_id="r", owner=ANN), "t")
    place.database.failing = lambda label: LOCKED if label.startswith("UPDATE") else None
    with pytest.raises(RunStateUnreadableError):
        await place.runtime.resume("ask", "r", 7)


async def test_a_leg_that_is_cut_ends_as_it_was_cut(place: Place) -> None:
    """By whoever cut it; what has ended by itself is not cut."""
    place.outside.open = trio.Event()
    statuses: list[str] = []

    async def run() -> None:
        statuses.append((await place.runtime.start(ORDER, "t")).status)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        ended = await place.runtime.terminate("w", "r", "timed_out")
        assert (ended.status, ended.cleaned) == ("timed_out", True)
    assert statuses == ["timed_out"]
    assert await place.runtime.clean("w", "r") == ended
    place.outside.open.set()
    await place.runtime.start(RunOrder(workflow_id="w", run_id="r2", owner=ANN), "t")
    for ending in (place.runtime.terminate("w", "r2", "cancelled"), place.runtime.clean("w", "r2")):
        with pytest.raises(RunTerminalConflictError):
            await ending


async def test_a_parked_run_is_ended_where_it_is(place: Place) -> None:
    """No leg executes; its key is spent."""
    await place.runtime.start(RunOrder(workflow_id="ask", run_id="r", owner=ANN), "t")
    await move(place.fence, FenceState.LOCKED)
    ended = await place.runtime.terminate("ask", "r", "cancelled")
    assert (ended.status, ended.cleaned) == ("cancelled", True)
    assert await place.runtime.status("ask", "r") == ended

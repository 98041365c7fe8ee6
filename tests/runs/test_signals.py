"""Signals of a thread: kept until a run takes them, behind the gate of the active run."""

from typing import Any

import pytest
import trio

from durasim.actors.runs import GATES, Snapshot, Snapshots, ThreadObject, signals, thread_journal
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.gates import pass_gate
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.sim import World

from .agents import AgentStage
from .stage import play
from .test_thread_object import BOT, EXISTING, STATES, put, request, with_chat


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", ["message", "wake"])
def test_a_signal_passes_the_gate_of_the_active_run(kind: str, state: str) -> None:
    """Refused it keeps nothing, and says the path of its route."""

    async def story(world: World) -> None:
        stage = AgentStage(world)
        run_id = await with_chat(stage)
        await put(stage, state, run_id)
        before = world.stored(ThreadObject, "t1")

        status, answer = await stage.signal("t1", kind)
        if state in EXISTING:
            assert status == 202
            assert (answer["woken"] is not None) == (kind == "wake")
            assert world.ledger.count("spoken") == int(kind == "wake")
            return
        assert status == 503
        assert f"/signals/{kind} is refused" in str(answer)
        assert world.stored(ThreadObject, "t1") == before
        assert world.ledger.count("spoken") == 0

    play(story)


@pytest.mark.parametrize("kind", ["message", "wake"])
def test_a_stranger_learns_nothing_of_the_fence(kind: str) -> None:
    """Whose thread it is, is asked first; the fence is not even read."""

    async def story(world: World) -> None:
        stage = AgentStage(world)
        await with_chat(stage)
        answers: list[tuple[int, Any]] = []
        for state in ("open", "migration-locked"):
            stage.put_fence(state)
            answers.append(await request(world, "t1", "POST", f"/signals/{kind}", b"{}", owner=BOT))
        assert answers == [(403, {"error": "this thread is not yours"})] * 2

    play(story)


@pytest.mark.parametrize("state", ["open", "draining"])
def test_a_wake_that_would_start_a_run_is_only_kept_while_a_deployment_drains(state: str) -> None:
    """After the reopening the next wake starts one run, with everything that was kept."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        await stage.ask(thread="t1")
        assert stage.executions() == 1
        stage.put_fence(state)

        status, answer = await stage.signal("t1", message=1)
        assert (status, answer["kept"]) == (202, True)
        assert (answer["woken"] is not None) == (state == "open")
        assert stage.executions() == (2 if state == "open" else 1)

        stage.put_fence("open")
        status, answer = await stage.signal("t1", message=2)
        assert (status, answer["woken"]["status"]) == (202, "success")
        assert stage.executions() == (3 if state == "open" else 2)

    play(story)


def test_a_wake_whose_run_the_runtime_refuses_is_only_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fence closed between the two gates: nothing of the run is left, the signal is."""

    async def refuse(*_: object) -> None:
        raise ExecutionFencedError("draining", "run start")

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        await stage.ask(thread="t1")
        runs = stage.query("SELECT * FROM flowsafe_runs")
        monkeypatch.setattr(RunnerRuntime, "_assert_start_fence", refuse)
        assert await stage.signal("t1", message=1) == (202, {"kept": True, "woken": None})
        assert stage.query("SELECT * FROM flowsafe_runs") == runs
        thread = (await request(world, "t1", "GET", "/thread"))[1]
        assert (thread["signals"], thread["activeRunId"]) == (1, None)

    play(story)


def test_a_wake_in_a_thread_that_is_nobodys_is_kept() -> None:
    """Nobody says which agent to run."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        assert await stage.signal("t9") == (202, {"kept": True, "woken": None})

    play(story)


def test_a_wake_for_a_run_that_is_on_its_way_is_kept() -> None:
    """It cannot be resumed before it parks; nothing is lost."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()

        async def first() -> None:
            await stage.ask(agent="slow", thread="t1", by="first")

        world.spawn("first", first)
        await trio.sleep(5)
        status, answer = await stage.signal("t1")
        assert (status, answer["kept"]) == (202, True)
        await trio.sleep(20)
        thread = (await request(world, "t1", "GET", "/thread"))[1]
        assert thread["activeRunId"] is None

    play(story)


def test_a_wake_for_a_run_that_stopped_between_two_steps_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says that it runs, so nobody can go on with it; another wake tries again."""
    write = Snapshots.write

    async def fails(self: Snapshots, snapshot: Snapshot) -> None:
        if snapshot.revision > 1:
            raise RunStateUnreadableError("the run cannot be persisted")
        await write(self, snapshot)

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        with monkeypatch.context() as patch:
            patch.setattr(Snapshots, "write", fails)
            assert (await stage.ask(agent="pair", thread="t1"))[0] == 503
        assert await stage.signal("t1") == (202, {"kept": True, "woken": None})
        assert (await request(world, "t1", "GET", "/thread"))[1]["signals"] == 1

    play(story)


def test_of_two_wakes_the_second_finds_nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first took what both had kept; one run goes on with it, once."""

    async def slowly(fence: Any, entry: str, **more: Any) -> Any:
        if entry == "thread-wake":
            await trio.sleep(1)
        return await pass_gate(fence, entry, **more)

    monkeypatch.setattr(signals, "pass_gate", slowly)

    async def story(world: World) -> None:
        stage = AgentStage(world)
        await with_chat(stage)
        answers: list[Any] = []

        async def wake() -> None:
            answers.append(await request(world, "t1", "POST", "/signals/wake", b'{"message":1}'))

        for name in ("first", "second"):
            world.spawn(name, wake)
        await trio.sleep(5)
        (_, first), (_, second) = answers
        assert first["woken"]["result"] == {"signals": [1, 1]}
        assert second == {"kept": True, "woken": None}
        assert world.ledger.count("spoken") == 1

    play(story)


def test_a_thread_keeps_so_many_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused with its reason, and not kept."""
    monkeypatch.setattr(thread_journal, "SIGNALS_MAX", 2)

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        for _ in range(2):
            assert (await stage.signal("t1", "message"))[0] == 202
        status, error = await stage.signal("t1", "message")
        assert (status, error.reason) == (409, {"code": "THREAD_SIGNALS_FULL"})
        assert (await request(world, "t1", "GET", "/thread"))[1]["signals"] == 2

    play(story)


def test_the_gates_of_a_thread_stand_in_the_table() -> None:
    """With the predicate of a run that exists."""
    for entry in ("thread-signal", "thread-wake"):
        assert GATES[entry].predicate == "existing-run"

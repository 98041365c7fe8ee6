"""The thread object: its gates, its lanes, and what it does after a crash."""

from typing import Any

import pytest
import trio
from durasim.actors import WebRequest
from durasim.actors.runs import GATES, Owner, ThreadObject
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.sim import Crash, World

from .agents import AgentStage
from .stage import ANN, IDENTITY, play, told

STATES = ("open", "draining", "migration-locked", "nominated", "not nominated")
EXISTING = {"open", "draining", "nominated"}
"""Where a run that exists may go on."""
BOT = Owner("agent", "bot")


async def put(stage: AgentStage, state: str, run_id: str) -> None:
    """Put the fence into *state*; nominated is *run_id*."""
    if state in ("nominated", "not nominated"):
        bound = run_id if state == "nominated" else "another-run"
        await stage.bind_proof("proof", bound)
    else:
        stage.put_fence(state)


async def with_chat(stage: AgentStage) -> str:
    """Have a run of a thread wait; returns its id."""
    await stage.open()
    status, summary = await stage.ask(agent="chatter", thread="t1")
    assert (status, summary["status"]) == (200, "suspended")
    return str(summary["runId"])


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


@pytest.mark.parametrize("state", STATES)
def test_a_resume_passes_the_gate_of_its_run(state: str) -> None:
    """The label is the path of the route."""

    async def story(world: World) -> None:
        stage = AgentStage(world)
        run_id = await with_chat(stage)
        await put(stage, state, run_id)
        path = f"/runs/chatter/{run_id}/resume"
        status, answer = await request(world, "t1", "POST", path, b'{"data":1}')
        assert status == (200 if state in EXISTING else 503)
        assert state in EXISTING or f"{path} is refused" in answer["error"]

    play(story)


@pytest.mark.parametrize("state", STATES)
def test_what_is_ungated_answers_in_every_state(state: str) -> None:
    """Looking, probing and ending."""

    async def story(world: World) -> None:
        stage = AgentStage(world)
        run_id = await with_chat(stage)
        await put(stage, state, run_id)
        path = f"/runs/chatter/{run_id}"
        for method, verb in (
            ("GET", ""),
            ("GET", "/dispatch-status"),
            ("GET", "/start-liveness"),
            ("POST", "/terminate"),
        ):
            status, _ = await request(world, "t1", method, path + verb)
            assert status == 200, verb
        assert (await request(world, "t1", "GET", "/thread"))[0] == 200

    play(story)


async def request(
    world: World, thread: str, method: str, path: str, body: bytes = b"", owner: Owner = ANN.owner
) -> tuple[int, Any]:
    """Send a request to a thread from inside of the deployment."""
    headers = {
        "x-flowsafe-deployment-identity": IDENTITY,
        "x-flowsafe-principal": f'["{owner.kind}", "{owner.id}"]',
    }
    stub = world.client("inside").get(ThreadObject, thread)
    return told(await stub.serve(WebRequest(method, path, body, headers)))


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


def test_gate_stands_before_the_lock_of_the_run() -> None:
    """A duplicate start that the fence refuses is answered while the first leg still runs."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        answers: list[tuple[float, int]] = []
        body = b'{"workflowId":"slow","runId":"r1","threadId":"t1","payload":null}'

        async def start() -> None:
            status, _ = await request(world, "t1", "POST", "/runs", body)
            answers.append((world.now_s, status))

        began = world.now_s
        world.spawn("first", start)
        await trio.sleep(5)
        stage.put_fence("draining")
        world.spawn("second", start)
        await trio.sleep(20)
        (refused, status), (ended, fine) = answers
        assert (status, fine) == (503, 200)
        assert refused - began < 6 < 14 < ended - began
        assert stage.executions() == 1

    play(story)


def test_a_duplicate_start_runs_once() -> None:
    """While the first is under way it waits for it; both are answered, one run is there."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        statuses: list[int] = []
        body = b'{"workflowId":"slow","runId":"r1","threadId":"t1","payload":null}'

        async def start() -> None:
            statuses.append((await request(world, "t1", "POST", "/runs", body))[0])

        for name in ("first", "second"):
            world.spawn(name, start)
        await trio.sleep(25)
        assert sorted(statuses) in ([200, 409], [200, 200])
        assert stage.executions() == 1
        assert (await request(world, "t1", "POST", "/runs", body))[0] == 409

    play(story)


def test_a_start_that_died_is_settled_by_the_alarm() -> None:
    """What it had reserved goes, its shell too; the thread is nobody's again."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        status, _ = await stage.ask("k1", "slow", "t1")
        assert status == 500
        await trio.sleep(130)
        assert world.stored(ThreadObject, "t1") == {}
        assert stage.query("SELECT * FROM flowsafe_runs WHERE start_token IS NULL") == []

    crash = ("commit 1 of ThreadObject/t1 in serve", "crash after")
    faults = Crash(ThreadObject, at_most=1, at=("after commit",))
    assert play(story, faults, deviations=[crash]).unused == ()


def test_the_gates_of_a_thread_stand_in_the_table() -> None:
    """With the predicate of a run that exists."""
    for entry in ("thread-signal", "thread-wake"):
        assert GATES[entry].predicate == "existing-run"

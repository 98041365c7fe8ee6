"""The thread object: its gates, its lanes, and what it does after a crash."""

from typing import Any

import pytest
import trio

from durasim.actors import WebRequest
from durasim.actors.runs import Owner, ThreadObject
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

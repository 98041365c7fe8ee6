"""What a thread answers about claims, dead attempts and deadlines, and to whom it does not."""

import json
from functools import partial
from typing import Any

import pytest
import trio

from durasim.actors import WebResponse
from durasim.actors.runs import AgentTopology, Owner, RunOwners, Services, ThreadObject
from durasim.actors.runs.errors import StartReservationUnreadableError
from durasim.actors.runs.http import json_response
from durasim.actors.runs.reservations import Reservation, StartRequest, Target
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.actors.runs.thread_journal import ATTEMPT, DEADLINE
from durasim.sim import World
from durasim.wire import RunRouteError

from .agents import AgentStage
from .stage import ANN, play
from .test_thread_object import BOT, request


def row(run_id: str, agent: str = "helper", stamp: int = 2) -> Reservation:
    """Return a row of a claim of that run in the thread `t1`."""
    return Reservation("k", ANN.owner, Target("agent", agent), run_id, "t1", "started", 1, stamp)


def body_of(agent: str, run_id: str, thread: str = "t1", **more: Any) -> bytes:
    """Return what a start of an agent sends to a thread."""
    asked = {"workflowId": agent, "runId": run_id, "threadId": thread, "payload": None, **more}
    return json.dumps(asked).encode()


def test_a_start_for_another_thread_came_to_the_wrong_one() -> None:
    """A mistake in wiring: 500, and nothing was written."""

    async def story(world: World) -> None:
        await AgentStage(world).open()
        status, answer = await request(world, "t1", "POST", "/runs", body_of("helper", "r", "t2"))
        assert (status, answer["error"]) == (500, "thread t2 does not live in t1")
        assert world.stored(ThreadObject, "t1") == {}

    play(story)


async def claimed(stage: AgentStage) -> Reservation:
    """Return the row of a claim that nobody has started yet."""

    async def claim(services: Services) -> Reservation | None:
        target = Target("agent", "helper")
        await services.store.reserve(StartRequest("k", ANN.owner, target, "t1"), lambda: "r")
        return await services.store.claim("k", "r")

    row: Reservation | None = await stage.work(claim)
    assert row is not None
    return row


def test_a_start_that_waits_while_its_claim_is_sealed_executes_nothing() -> None:
    """It came before the seal, and its turn comes after: the answer to the sealer must be true."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, "sealer").open()
        row = await claimed(stage)
        status = RunnerRuntime.status

        async def slowly(runtime: RunnerRuntime, *names: str) -> Any:
            await trio.sleep(5)
            return await status(runtime, *names)

        answers: list[bool] = []

        async def seal() -> None:
            answers.append(await stage.work(lambda each: AgentTopology(each).seal(row), "asker"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunnerRuntime, "status", slowly)
            world.spawn("seal", seal)
            await trio.sleep(2)
            body = body_of("helper", "r", idempotencyKey="k", claimStamp=row.updated_at)
            code, answer = await request(world, "t1", "POST", "/runs", body)
        assert answers == [True]
        assert (code, answer["reason"]["conflict"]) == (409, "claim-sealed")
        assert stage.executions() == 0

    play(story)


def test_nobody_joins_a_start_that_is_being_undone() -> None:
    """It comes again while the registry forgets its owner: what it runs then has one."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open("migration-locked")
        release = RunOwners.release

        async def slowly(registry: RunOwners, run: str, token: str) -> bool:
            await registry.sleep(10)
            return await release(registry, run, token)

        answers: list[int] = []

        async def start() -> None:
            answers.append((await request(world, "t1", "POST", "/runs", body_of("helper", "r")))[0])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunOwners, "release", slowly)
            world.spawn("first", start)
            await trio.sleep(5)
            stage.put_fence("open")
            world.spawn("again", start)
            await trio.sleep(20)
        assert answers == [503, 200]
        assert stage.executions() == 1
        assert stage.owners()["run/helper:r"]["is_settled"] is True
        assert not [key for key in world.stored(ThreadObject, "t1") if key.startswith(ATTEMPT)]

    play(story)


def slow_registry(patch: pytest.MonkeyPatch, seconds: dict[str, float]) -> None:
    """Let owners of runs be forgotten late, by the run."""
    release = RunOwners.release

    async def slowly(registry: RunOwners, run: str, token: str) -> bool:
        await registry.sleep(seconds[run])
        return await release(registry, run, token)

    patch.setattr(RunOwners, "release", slowly)
    patch.setattr(RunOwners, "delivery", "gated")


@pytest.mark.parametrize("later_s", [1, 9])
def test_two_starts_of_one_thread_that_are_refused_leave_nothing(later_s: float) -> None:
    """Whichever is undone first: nobody owns the thread, and no run of it is active."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open("migration-locked")
        answers: list[int] = []

        async def start(run_id: str) -> None:
            body = body_of("helper", run_id)
            answers.append((await request(world, "t1", "POST", "/runs", body))[0])

        with pytest.MonkeyPatch.context() as patch:
            slow_registry(patch, {"helper:r1": 5, "helper:r2": later_s})
            for run_id in ("r1", "r2"):
                world.spawn(run_id, partial(start, run_id))
                await trio.sleep(0.1)
            await trio.sleep(20)
        assert answers == [503, 503]
        assert world.stored(ThreadObject, "t1") == {}
        assert stage.owners() == {}

    play(story)


def test_a_thread_is_kept_by_the_run_that_came_to_something() -> None:
    """The start that had bound it is undone behind that: the thread stays its owner's."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open("migration-locked")

        async def start() -> None:
            await request(world, "t1", "POST", "/runs", body_of("helper", "r1"))

        with pytest.MonkeyPatch.context() as patch:
            slow_registry(patch, {"helper:r1": 5})
            world.spawn("first", start)
            await trio.sleep(1)
            stage.put_fence("open")
            status, _ = await request(world, "t1", "POST", "/runs", body_of("helper", "r2"))
            await trio.sleep(20)
        assert status == 200
        binding = {"kind": "human", "owner_id": "ann", "agent_id": "helper"}
        assert world.stored(ThreadObject, "t1") == {"flowsafe:thread:v1": binding}
        assert (await stage.ask(thread="t1", owner=BOT))[0] == 403

    play(story)


def test_of_two_strangers_who_start_in_one_thread_one_gets_it() -> None:
    """Both have found it free: the other one has no run in a thread that is not theirs."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        answers: list[int] = []

        async def start(owner: Owner, run_id: str) -> None:
            body = body_of("helper", run_id)
            answers.append((await request(world, "t1", "POST", "/runs", body, owner))[0])

        status = RunnerRuntime.status

        async def slowly(runtime: RunnerRuntime, *names: str) -> Any:
            await trio.sleep(5)
            return await status(runtime, *names)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunnerRuntime, "status", slowly)
            world.spawn("ann", partial(start, ANN.owner, "r1"))
            world.spawn("bot", partial(start, BOT, "r2"))
            await trio.sleep(20)
        assert sorted(answers) == [200, 403]
        assert stage.executions() == 1
        assert len(stage.owners()) == 1

    play(story)


def test_a_claim_that_was_sealed_starts_nothing() -> None:
    """Nor do those before it."""

    async def story(world: World) -> None:
        stage = await AgentStage(world, "sealer").open()
        assert await stage.work(lambda services: AgentTopology(services).seal(row("r", stamp=5)))
        conflicts: list[str] = []
        for stamp in (4, 5):
            body = body_of("helper", "r", idempotencyKey="k", claimStamp=stamp)
            status, answer = await request(world, "t1", "POST", "/runs", body)
            assert status == 409
            conflicts.append(answer["reason"]["conflict"])
        assert conflicts == ["claim-sealed", "claim-sealed"]
        assert stage.executions() == 0

    play(story)


def test_what_lives_or_has_begun_is_not_sealed() -> None:
    """While it executes, and when it has ended; and only with a stamp that is one."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()

        async def start() -> None:
            await stage.ask(agent="slow", thread="t1", by="first")

        world.spawn("first", start)
        await trio.sleep(5)
        ((run,),) = [stage.query("SELECT run_id FROM flowsafe_runs")]
        slow = row(run["run_id"], "slow")

        async def seal(services: Services) -> bool:
            return await AgentTopology(services).seal(slow)

        assert await stage.work(seal) is False
        await trio.sleep(20)
        assert await stage.work(seal) is False
        path = f"/runs/slow/{run['run_id']}/seal"
        for stamp in (b"{}", b'{"stamp":"5"}', b'{"stamp":true}'):
            status, answer = await request(world, "t1", "POST", path, stamp)
            assert (status, answer) == (400, {"error": "stamp is not valid"})

    play(story)


@pytest.mark.parametrize("answer", [OSError("lost"), {"live": "yes", "sealed": 1}, {}])
def test_a_thread_that_gives_no_clear_answer_leaves_the_key_alone(
    answer: Exception | dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither dead nor sealed: 503, and the row is as it was."""

    async def serve(_self: ThreadObject, _request: Any) -> WebResponse:
        if isinstance(answer, Exception):
            raise answer
        return json_response(200, answer)

    async def ask(services: Services) -> None:
        topology = AgentTopology(services)
        for asked in (topology.live(row("r")), topology.seal(row("r"))):
            with pytest.raises(StartReservationUnreadableError):
                await asked

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        monkeypatch.setattr(ThreadObject, "serve", serve)
        await stage.work(ask)

    play(story)


def test_a_parked_run_of_an_agent_is_gone_on_with_at_its_suspension() -> None:
    """By whoever knows it; one that it has gone on from is refused."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        _, parked = await stage.ask(agent="chatter", thread="t1")
        at = parked["suspension"]

        async def resume(services: Services, suspension: int) -> Any:
            runs = AgentTopology(services)
            return await runs.resume("t1", "chatter", parked["runId"], 7, ANN.owner, suspension)

        async def late(services: Services) -> None:
            with pytest.raises(RunRouteError, match="has gone on"):
                await resume(services, at - 1)

        await stage.work(late)
        ended = await stage.work(lambda services: resume(services, at))
        assert (ended["status"], ended["result"]) == ("success", 7)

    play(story)


@pytest.mark.parametrize(
    ("where", "name", "error", "said"),
    [
        (
            RunnerRuntime, "recover_start_attempt", RunStateUnreadableError("nobody can tell"),
            "nobody can tell",
        ),
        (RunOwners, "release", OSError("lost"), "the owner of the run cannot be settled"),
    ],
)  # fmt: skip
def test_a_dead_attempt_that_cannot_be_settled_stays_and_is_nobodys_answer(
    where: type, name: str, error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks is told that nobody can tell; so it is until somebody can."""

    async def fails(*_args: Any) -> None:
        raise error

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        stage.put_fence("draining")
        with monkeypatch.context() as patch:
            patch.setattr(where, name, fails)
            body = body_of("helper", "r")
            assert (await request(world, "t1", "POST", "/runs", body))[0] == 503
            assert ATTEMPT + "helper:r" in world.stored(ThreadObject, "t1")
            path = "/runs/helper/r/dispatch-status"
            status, answer = await request(world, "t1", "GET", path)
            assert (status, answer) == (503, {"error": said})
        assert (await request(world, "t1", "GET", path))[0] == 404
        assert world.stored(ThreadObject, "t1") == {}

    play(story)


def test_a_start_that_is_undone_leaves_what_came_after_it_active(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second run has become the active one meanwhile, and signals are for that."""
    recover = RunnerRuntime.recover_start_attempt

    async def slowly(self: RunnerRuntime, *names: str) -> Any:
        await trio.sleep(5)
        return await recover(self, *names)

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        monkeypatch.setattr(RunnerRuntime, "recover_start_attempt", slowly)
        stage.put_fence("draining")
        statuses: list[int] = []

        async def first() -> None:
            statuses.append(
                (await request(world, "t1", "POST", "/runs", body_of("helper", "r")))[0]
            )

        world.spawn("first", first)
        await trio.sleep(1)
        stage.put_fence("open")
        body = body_of("chatter", "r2")
        assert (await request(world, "t1", "POST", "/runs", body))[1]["status"] == "suspended"
        await trio.sleep(10)
        assert statuses == [503]
        assert (await request(world, "t1", "GET", "/thread"))[1]["activeRunId"] == "r2"

    play(story)


def test_an_alarm_that_comes_for_one_run_leaves_the_deadline_of_another() -> None:
    """Each is met at its time."""

    async def story(world: World) -> None:
        await AgentStage(world).open()
        for seconds, run in ((0, "r1"), (50, "r2")):
            await trio.sleep(seconds)
            body = body_of("timed", run)
            assert (await request(world, "t1", "POST", "/runs", body))[0] == 200
        await trio.sleep(60)
        assert world.ledger.count("resumed", "r1") == 1
        assert world.ledger.count("resumed", "r2") == 0
        assert DEADLINE + "timed:r2" in world.stored(ThreadObject, "t1")
        await trio.sleep(50)
        assert world.ledger.count("resumed", "r2") == 1

    play(story)

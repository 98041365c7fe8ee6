"""A run that is resumed while its home dies, or fails: the deadline that it has then is kept.

The run is parked anew in the shared database, and the object that resumed it has not noted that.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from durasim.actors import OutcomeUnknown
from durasim.actors.runs import RunObject, Snapshot, StepContext, ThreadObject, Workflow
from durasim.actors.runs.run_errors import RunStateUnreadableError
from durasim.actors.runs.runtime import RunnerRuntime
from durasim.sim import World

from . import agents
from .stage import Stage, play
from .test_thread_object import request


async def brief(run: StepContext) -> Any:
    """Wait a hundred seconds at most."""
    return run.resumed if run.is_resumed else run.suspend({"ask": 1}, deadline_s=100)


async def fleeting(run: StepContext) -> Any:
    """Wait a hundred seconds at most, and be cut off then."""
    if not run.is_resumed:
        run.suspend({"ask": 1}, deadline_s=100, on_deadline="time-out")
    return run.resumed


async def patient(run: StepContext) -> Any:
    """Wait for somebody's word, for ever."""
    if not run.is_resumed:
        run.suspend({"ask": 2})
    run.effect("said", run.resumed)
    return run.resumed


async def hurried(run: StepContext) -> Any:
    """Wait for somebody's word, two hundred seconds at most."""
    if not run.is_resumed:
        run.suspend({"ask": 2}, deadline_s=200)
    run.effect("said", run.resumed)
    return run.resumed


async def slow(run: StepContext) -> Any:
    """Wait for somebody's word, and work on it for five minutes."""
    if not run.is_resumed:
        run.suspend({"ask": 2})
    await run.sleep(300)
    run.effect("said", run.resumed)
    return run.resumed


FLOWS = (
    Workflow("slow", (slow,)),
    Workflow("brief-slow", (brief, slow)),
    Workflow("brief-patient", (brief, patient)),
    Workflow("fleeting-patient", (fleeting, patient)),
    Workflow("patient-hurried", (patient, hurried)),
)

Resumed = Callable[[RunnerRuntime], Awaitable[None]]


class Home:
    """A deployment, and one run of it that is parked."""

    def __init__(self, world: World, topology: str) -> None:
        self.world = world
        self.stage = (
            agents.AgentStage(world)
            if topology == "agents"
            else Stage(world, "objects", "router", workflows=FLOWS)
        )
        self.run_id = ""
        self.flow = ""

    async def park(self, flow: str) -> None:
        """Start a run of *flow*."""
        self.flow = flow
        await self.stage.open()
        if isinstance(self.stage, agents.AgentStage):
            status, summary = await self.stage.ask(agent=flow, thread="t1")
        else:
            status, summary = await self.stage.start(workflow=flow)
        assert (status, summary["status"]) == (200, "suspended")
        self.run_id = summary["runId"]

    async def resume(self, ending: Resumed) -> None:
        """Resume it, but let its home end by *ending* when the run is parked anew."""
        right = RunnerRuntime.resume

        async def wrong(runtime: RunnerRuntime, *asked: Any) -> Snapshot:
            found = await right(runtime, *asked)
            await ending(runtime)
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunnerRuntime, "resume", wrong)
            try:
                if isinstance(self.stage, agents.AgentStage):
                    path = f"/runs/{self.flow}/{self.run_id}/resume"
                    await request(self.world, "t1", "POST", path, b'{"data":1}')
                else:
                    run = f"{self.flow}:{self.run_id}"
                    await self.stage.ask_object("POST", run, "resume", {"data": 1})
            except OutcomeUnknown:
                pass

    def status(self) -> str:
        """Return how the run stands."""
        (found,) = self.stage.query("SELECT status FROM flowsafe_runs")
        return str(found["status"])

    def kept(self) -> list[str]:
        """Return what its home keeps of resumptions and deadlines."""
        if isinstance(self.stage, agents.AgentStage):
            kept = self.world.stored(ThreadObject, "t1")
        else:
            kept = self.world.stored(RunObject, f"{self.flow}:{self.run_id}")
        return [key for key in kept if "resume" in key or "deadline" in key]


@pytest.fixture(params=["objects", "agents"])
def topology(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where the run lives."""
    monkeypatch.setattr(agents, "AGENTS", FLOWS)
    return str(request.param)


@pytest.fixture(params=["dies", "fails"])
def ending(request: pytest.FixtureRequest) -> str:
    """Return how the home of the run ends."""
    return str(request.param)


def end(world: World, how: str) -> Resumed:
    """Return what ends whoever has resumed a run."""

    async def ended(_runtime: RunnerRuntime) -> None:
        if how == "fails":
            raise RunStateUnreadableError("nobody can tell")
        world.default().crash("on purpose")
        await trio.sleep_forever()

    return ended


@pytest.mark.parametrize("flow", ["brief-patient", "fleeting-patient"])
def test_a_deadline_ends_no_other_suspension_than_its_own(
    topology: str, ending: str, flow: str
) -> None:
    """The run waits for somebody's word by now: no passing of time may stand for that."""

    async def story(world: World) -> None:
        home = Home(world, topology)
        await home.park(flow)
        await home.resume(end(world, ending))
        await trio.sleep(1000)
        assert home.status() == "suspended"
        assert world.ledger.count("said") == 0
        assert home.kept() == []

    play(story)


def test_a_deadline_that_was_not_noted_is_met(topology: str, ending: str) -> None:
    """The run would wait for ever."""

    async def story(world: World) -> None:
        home = Home(world, topology)
        await home.park("patient-hurried")
        await home.resume(end(world, ending))
        await trio.sleep(190)
        assert home.status() == "suspended"
        await trio.sleep(60)
        assert home.status() == "success"
        assert home.kept() == []

    play(story)


def test_nobody_puts_a_deadline_off_by_asking_in_vain(topology: str) -> None:
    """Each is refused, since the run is at another suspension than they mean."""

    async def story(world: World) -> None:
        home = Home(world, topology)
        await home.park("brief-patient")
        for _ in range(4):
            await trio.sleep(30)
            path = f"/runs/{home.flow}/{home.run_id}/resume"
            if topology == "agents":
                body = b'{"data":1,"suspension":99}'
                status, _ = await request(world, "t1", "POST", path, body)
            else:
                asked = {"data": 1, "suspension": 99}
                run = f"{home.flow}:{home.run_id}"
                status, _ = await home.stage.ask_object("POST", run, "resume", asked)
            assert status == 409
        (run_row,) = home.stage.query("SELECT revision, body FROM flowsafe_runs")
        assert '"results": [{"deadline": true}]' in run_row["body"]

    play(story)


def test_a_deadline_of_a_run_that_is_gone_is_forgotten(topology: str) -> None:
    """Nothing is left to wake up for."""

    async def story(world: World) -> None:
        home = Home(world, topology)
        await home.park("brief-patient")
        world.database.prepare("DELETE FROM flowsafe_runs")
        await trio.sleep(1000)
        assert home.kept() == []

    play(story)


def test_whoever_looks_after_a_resumption_leaves_a_run_that_executes(topology: str) -> None:
    """The alarm comes in the middle of its work, several times; what it comes to is kept."""

    async def nothing(_runtime: RunnerRuntime) -> None:
        pass

    async def story(world: World) -> None:
        home = Home(world, topology)
        await home.park("slow")
        await home.resume(nothing)
        await trio.sleep(600)
        assert (home.status(), world.ledger.count("said")) == ("success", 1)
        assert home.kept() == []

    play(story)


def test_a_run_that_goes_on_while_it_is_looked_at_is_left_alone(
    topology: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of it is old by then."""
    read = RunnerRuntime.status
    looked: list[str] = []
    looking = trio.Event()

    async def slowly(runtime: RunnerRuntime, *asked: Any) -> Snapshot:
        found = await read(runtime, *asked)
        looked.append(found.status)
        looking.set()
        if len(looked) == 1:
            await trio.sleep(20)
        return found

    async def nothing(_runtime: RunnerRuntime) -> None:
        pass

    async def story(world: World) -> None:
        home = Home(world, topology)
        await home.park("brief-slow")
        await home.resume(end(world, "fails"))
        monkeypatch.setattr(RunnerRuntime, "status", slowly)
        await looking.wait()
        await home.resume(nothing)
        assert looked[0] == "suspended"
        await trio.sleep(900)
        assert (home.status(), world.ledger.count("said")) == ("success", 1)
        assert home.kept() == []

    play(story)

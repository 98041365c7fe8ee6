"""A deployment with agents, and trusted callers that start them."""

from typing import Any

from durasim.actors.runs import (
    AgentStart,
    AgentTopology,
    Owner,
    Services,
    StepContext,
    Workflow,
)
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.sim import World
from durasim.wire import RunRouteError

from .stage import ANN, WORKFLOWS, Stage, charge

DESIGNS = ("router", "holder", "sealer")


async def patient(run: StepContext) -> dict[str, str]:
    """Charge, then take less long than a caller waits."""
    run.effect("charged", run.run_id)
    await run.sleep(15)
    return {"paid": run.run_id}


async def chat(run: StepContext) -> Any:
    """Charge, then wait to be spoken to."""
    if not run.is_resumed:
        run.effect("charged", run.run_id)
        run.suspend({"waiting": True})
    run.effect("spoken", run.resumed)
    return run.resumed


async def timed(run: StepContext) -> Any:
    """Wait a hundred seconds at most, then go on."""
    if not run.is_resumed:
        run.suspend({"waiting": True}, deadline_s=100)
    run.effect("resumed", run.run_id)
    return run.resumed


async def cut(run: StepContext) -> None:
    """Wait a hundred seconds, then be cut off."""
    run.suspend(deadline_s=100, on_deadline="time-out")


async def nested(run: StepContext) -> None:
    """Raise what the body of a background task raises where it cannot park."""
    run.effect("charged", run.run_id)
    raise ExecutionFencedError("draining", "background task")


AGENTS = (
    Workflow("helper", (charge,)),
    Workflow("slow", (patient,)),
    Workflow("chatter", (chat,)),
    Workflow("timed", (timed,)),
    Workflow("cut", (cut,)),
    Workflow("nested", (nested,)),
    Workflow("pair", (charge, timed)),
)


def pair(value: Any) -> tuple[int, Any]:
    """Return status and answer."""
    status, answer = value
    return int(status), answer


class AgentStage(Stage):
    """One deployment in a world, whose runs are agents'."""

    def __init__(self, world: World, design: Any = "router", **more: Any) -> None:
        workflows = more.pop("workflows", WORKFLOWS)
        super().__init__(world, "objects", design, workflows=workflows, agents=AGENTS, **more)

    async def ask(
        self,
        key: str | None = None,
        agent: str = "helper",
        thread: str | None = None,
        owner: Owner = ANN.owner,
        prompt: Any = "hello",
        by: str = "trusted",
    ) -> tuple[int, Any]:
        """Start an agent as a trusted caller does; returns status, and summary or error."""
        asked = AgentStart(agent_id=agent, owner=owner, prompt=prompt, thread_id=thread, key=key)

        async def start(services: Services) -> tuple[int, Any]:
            try:
                return 200, await AgentTopology(services).start(asked)
            except Exception as error:
                return getattr(error, "status", 500), error

        return pair(await self.work(start, by))

    async def signal(
        self, thread: str, kind: str = "wake", message: Any = "hi", owner: Owner = ANN.owner
    ) -> tuple[int, Any]:
        """Send a signal to a thread; returns status, and answer or error."""

        async def send(services: Services) -> tuple[int, Any]:
            try:
                return 202, await AgentTopology(services).signal(thread, kind, message, owner)
            except RunRouteError as error:
                return error.status, error

        return pair(await self.work(send, "trusted"))

    async def bind_proof(self, key: str, run_id: str) -> None:
        """Put the fence into proof-only for *key*, with *run_id* in its slot."""
        self.world.database.prepare(
            "UPDATE flowsafe_execution_fence SET state = 'proof-only', "
            f"proof_key = '{key}', proof_run_id = '{run_id}'"
        )

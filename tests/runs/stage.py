"""A deployment of runs in a world, and whoever talks to it."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Self

from durasim.actors import DatabaseFailed, Program, WebRequest, WebResponse
from durasim.actors.runs import (
    PROCESS,
    REGISTRY,
    Caller,
    Owner,
    RunObject,
    RunOwners,
    RunProcess,
    RunRouter,
    RunsDeployment,
    Secrets,
    Services,
    StepContext,
    Workflow,
    provision,
)
from durasim.actors.runs.identity import IDENTITY_HEADER
from durasim.actors.runs.requests import PRINCIPAL_HEADER, principal_header
from durasim.sim import Fault, Scenario, World, simulate

ADMIN = "a-maintenance-secret-of-enough-characters"
IDENTITY = "the-identity-of-this-deployment-0123456789"
ANN = Caller(Owner("human", "ann"), frozenset({"operator", "approver"}))
BOB = Caller(Owner("human", "bob"), frozenset({"operator"}))
CALLERS = {
    "ann": ANN,
    "bob": BOB,
    "eve": Caller(Owner("human", "eve")),
    "robot": Caller(Owner("service", "robot"), frozenset({"operator", "approver"})),
}

Topology = Literal["objects", "process"]
WAYS: tuple[tuple[Topology, str], ...] = tuple(
    (topology, design)
    for topology in ("objects", "process")
    for design in ("router", "holder", "sealer")
)
"""Every topology of the router with every design."""


async def charge(run: StepContext) -> dict[str, str]:
    """Charge once, outside."""
    run.effect("charged", run.run_id)
    return {"paid": run.run_id}


async def slow(run: StepContext) -> dict[str, str]:
    """Charge, then take a while."""
    run.effect("charged", run.run_id)
    await run.sleep(20)
    return {"paid": run.run_id}


async def ask(run: StepContext) -> Any:
    """Park until somebody answers."""
    if not run.is_resumed:
        run.suspend({"question": "go on?"})
    run.effect("resumed", run.run_id)
    return run.resumed


async def timed(run: StepContext) -> Any:
    """Park for a hundred seconds."""
    if not run.is_resumed:
        run.suspend({"question": "go on?"}, deadline_s=100)
    run.effect("resumed", run.run_id)
    return run.resumed


async def cut(run: StepContext) -> Any:
    """Park for a hundred seconds, and end then."""
    run.suspend({"question": "go on?"}, deadline_s=100, on_deadline="time-out")


async def broken(run: StepContext) -> None:
    """Charge, then fail."""
    run.effect("charged", run.run_id)
    raise ValueError("on purpose")


WORKFLOWS = (
    Workflow("order", (charge,)),
    Workflow("slow", (slow,)),
    Workflow("ask", (ask,)),
    Workflow("pair", (charge, ask)),
    Workflow("broken", (broken,)),
    Workflow("timed", (timed,)),
    Workflow("cut", (cut,)),
    Workflow("guarded", (charge,), roles={"captain"}),
)


class Log:
    """Keeps what it is told.

    Attributes:
        hooks: what to do when a line of a kind comes.
    """

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.hooks: dict[str, Callable[[], None]] = {}

    def __call__(self, kind: str, fields: dict[str, Any]) -> None:
        """Keep one line."""
        self.lines.append((kind, fields))
        self.hooks.get(kind, lambda: None)()

    @property
    def kinds(self) -> list[str]:
        """The kinds of all lines."""
        return [kind for kind, _ in self.lines]


class Deploy(Program):
    """Provisions the deployment."""

    def __init__(self, state: str) -> None:
        self._state = state

    async def run(self) -> None:
        """Do it."""
        await provision(self, self._state)


class Work(Program):
    """Runs any coroutine with the services of the deployment."""

    def __init__(self, work: Callable[[Services], Awaitable[Any]]) -> None:
        self._work = work
        self.value: Any = None

    async def run(self) -> None:
        """Do it."""
        self.value = await self._work(Services(self))


class Stage:
    """One deployment in a world.

    Attributes:
        log: what the deployment has said.
    """

    def __init__(self, world: World, topology: Topology, design: Any, **more: Any) -> None:
        self.world = world
        self.log = Log()
        self.topology = topology
        world.env["runs"] = RunsDeployment(
            workflows=more.pop("workflows", WORKFLOWS),
            secrets=Secrets(identity=IDENTITY, maintenance_admin=ADMIN),
            fence=more.pop("fence", "database"),
            reservations=more.pop("reservations", "database"),
            authenticate=CALLERS.get,
            design=design,
            topology=topology,
            log=self.log,
            **more,
        )

    async def open(self, state: str = "open") -> Self:
        """Provision the deployment."""
        run = self.world.start(Deploy(state), "deployer")
        assert await run.ended() == "done", run.error
        return self

    async def work(self, work: Callable[[Services], Awaitable[Any]], name: str = "tool") -> Any:
        """Run *work* with the services of the deployment; returns what it returns."""
        program = Work(work)
        run = self.world.start(program, name)
        if await run.ended() != "done":
            raise AssertionError(run.error)
        return program.value

    async def send(
        self, method: str, path: str, body: Any = None, *, who: str = "ann", **headers: str
    ) -> WebResponse:
        """Send a request to the deployment's front."""
        payload = b"" if body is None else json.dumps(body).encode()
        given = {"authorization": f"Bearer {who}", **headers}
        request = WebRequest(method, path, payload, given)
        client = self.world.client(who[:5])
        if self.topology == "process":
            return await client.get(RunProcess, PROCESS).serve(request)
        return await client.worker(RunRouter).fetch(request)

    async def ask_object(
        self,
        method: str,
        run: str,
        verb: str = "",
        body: Any = None,
        **headers: str,
    ) -> tuple[int, Any]:
        """Ask the object *run*, called "workflow:id", from inside of the deployment."""
        given = {IDENTITY_HEADER: IDENTITY, PRINCIPAL_HEADER: principal_header(ANN.owner)}
        path = "/runs" if verb == "start" else f"/runs/{run.replace(':', '/')}"
        path += f"/{verb}" if verb not in ("", "start") else ""
        payload = b"" if body is None else json.dumps(body).encode()
        stub = self.world.client("inside").get(RunObject, run)
        return told(await stub.serve(WebRequest(method, path, payload, given | headers)))

    async def start_at_object(self, run: str, **body: Any) -> tuple[int, Any]:
        """Start the run called "workflow:id" at its object."""
        workflow, run_id = run.split(":")
        asked = {"workflowId": workflow, "runId": run_id, **body}
        return await self.ask_object("POST", run, "start", asked)

    def stored(self, run: str) -> dict[str, Any]:
        """Return what the object of a run keeps."""
        return self.world.stored(RunObject, run)

    def owners(self) -> dict[str, Any]:
        """Return the owners that the registry keeps."""
        kept = self.world.stored(RunOwners, REGISTRY)
        return {key: value for key, value in kept.items() if key.startswith("run/")}

    async def start(
        self, key: str | None = None, workflow: str = "order", who: str = "ann", **body: Any
    ) -> tuple[int, Any]:
        """Start a run; returns status and body of the answer."""
        asked = {"workflowId": workflow, **body}
        if key is not None:
            asked["idempotencyKey"] = key
        return told(await self.send("POST", "/runs", asked, who=who))

    async def move(self, expected: str, following: str, proof_key: str | None = None) -> int:
        """Move the fence over the operator's route; returns the status of the answer."""
        body = {"expected": expected, "next": following}
        if proof_key is not None:
            body["proofKey"] = proof_key
        return (await self.send("POST", "/admin/execution-fence", body, who=ADMIN)).status

    def put_fence(self, state: str) -> None:
        """Move the fence at once, outside of all messages."""
        self.world.database.prepare(
            f"UPDATE flowsafe_execution_fence SET state = '{state}', proof_run_id = NULL"
        )

    def close_between_claim_and_start(self) -> None:
        """Let the fence close when a start has been decided, for good."""
        self.log.hooks["start-decided"] = lambda: self.put_fence("draining")

    def row(self, key: str) -> dict[str, Any] | None:
        """Return the row of a key as it is stored."""
        found = self.query(f"SELECT * FROM flowsafe_start_idempotency WHERE key = '{key}'")
        return found[0] if found else None

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query, outside of all messages; none without the table."""
        try:
            rows = self.world.database.look(sql)
        except DatabaseFailed as error:
            if "no such table" not in str(error.__cause__):
                raise
            return []
        return [dict(zip(rows.columns, row, strict=True)) for row in rows.rows]

    def executions(self, run_id: str | None = None) -> int:
        """Return how often something was charged."""
        return self.world.ledger.count("charged", run_id)


def told(response: WebResponse) -> tuple[int, Any]:
    """Return status and body of an answer."""
    return response.status, json.loads(response.body)


def play(
    story: Callable[[World], Awaitable[None]], *faults: Fault, seed: int = 0, **rest: Any
) -> Any:
    """Run *story* once in a world and return the report, which has to be good."""
    report = simulate(Scenario("story", story, faults), seed=seed, **rest)
    assert report.ok, report.failures
    return report

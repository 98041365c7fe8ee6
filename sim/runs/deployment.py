"""A deployment in a world: what runs in it, who asks, who operates it.

Everything that properties judge by is noted in the world's ledger, outside of all messages: what
was asked and answered, what began to run, and what the deployment logs.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

import attrs
import trio

from ...actors import OutcomeUnknown, QueryRows, SqlValue, WebRequest, WebResponse, Worker
from ...actors.runs import (
    PROCESS,
    AgentStart,
    AgentTopology,
    Caller,
    DeploymentIdentity,
    ExecutionFence,
    ExecutionFencedError,
    Owner,
    RunObject,
    RunProcess,
    RunRouter,
    RunsDeployment,
    Secrets,
    Services,
    StepContext,
    ThreadObject,
    Workflow,
    http,
)
from ..world import World

__all__ = [
    "DESIGNS",
    "TOPOLOGIES",
    "Answer",
    "Design",
    "Stage",
    "Topology",
    "set_stage",
]

Topology = Literal["process", "objects", "agents"]
Design = Literal["router", "holder", "sealer"]
TOPOLOGIES: tuple[Topology, ...] = ("process", "objects", "agents")
DESIGNS: tuple[Design, ...] = ("router", "holder", "sealer")

SECRETS = Secrets(identity="identity-" + "i" * 32, maintenance_admin="operator-" + "o" * 32)
PATIENCE_S = 600.0
"""Longer than any router waits for an object: who asks learns what the router has to say."""
TRIES_MAX = 12
ALARMS_MAX = 3
"""How often in a row a key may be told to be unresolvable before it counts as stranded: a claim
that is just on its way may be taken for lost once (cases 9 and 49)."""


async def charge(run: StepContext) -> dict[str, str]:
    """Charge somebody, which nothing takes back, and take half a second for it."""
    run.effect("began", (run.payload["key"], run.run_id))
    await run.sleep(0.5)
    return {"paid": run.run_id}


async def ask(run: StepContext) -> Any:
    """Wait for somebody's word."""
    return run.resumed if run.is_resumed else run.suspend({"ask": "approve?"})


async def refuse(run: StepContext) -> Any:
    """Raise what looks like a refusal of the fence, after work has begun (case 44)."""
    run.effect("began", (run.payload["key"], run.run_id))
    await run.sleep(0.5)
    raise ExecutionFencedError("draining", f"a step of {run.run_id}")


async def quick(run: StepContext) -> dict[str, str]:
    """Charge somebody, in no time."""
    run.effect("began", (run.payload["key"], run.run_id))
    return {"paid": run.run_id}


async def long(run: StepContext) -> dict[str, str]:
    """Charge somebody, and take a quarter of an hour for it."""
    run.effect("began", (run.payload["key"], run.run_id))
    await run.sleep(900)
    return {"paid": run.run_id}


async def wait(run: StepContext) -> Any:
    """Wait for a minute, at most."""
    return "waited" if run.is_resumed else run.suspend({"ask": "approve?"}, deadline_s=60)


WORKFLOWS = (
    Workflow("quick", (quick,)),
    Workflow("long", (long,)),
    Workflow("patient", (charge, wait)),
    Workflow("order", (charge,)),
    Workflow("approval", (charge, ask)),
    Workflow("refusing", (refuse,)),
)


def authenticate(token: str) -> Caller | None:
    """Take a bearer token for the name of whoever bears it."""
    return Caller(Owner("human", token), frozenset({"operator", "approver"}))


@attrs.frozen
class Answer:
    """What a caller was told.

    Attributes:
        status: of the response; 0 if none came, so that nobody knows.
        body: parsed.
    """

    status: int
    body: Mapping[str, Any]

    @property
    def code(self) -> str | None:
        """The code of the reason, if there is one."""
        reason: object = self.body.get("reason")
        return cast(dict[str, Any], reason).get("code") if isinstance(reason, dict) else None

    @property
    def run_id(self) -> str | None:
        """Which run it is about, if it says."""
        reason: object = self.body.get("reason")
        named = cast(dict[str, Any], reason).get("runId") if isinstance(reason, dict) else None
        return cast("str | None", self.body.get("runId", named))


class AgentFront(Worker):
    """A trusted program that starts agents under keys: the public routes take none."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Start an agent as a run is started."""
        caller = authenticate(request.headers["authorization"].removeprefix("Bearer "))
        assert caller is not None
        body = json.loads(request.body)
        asked = AgentStart(
            agent_id=body["workflowId"],
            owner=caller.owner,
            prompt=body["payload"],
            key=body.get("idempotencyKey"),
        )
        try:
            return http.json_response(200, await AgentTopology(Services(self)).start(asked))
        except Exception as error:
            return http.router_error_response(error)


class Direct:
    """The shared database without messages, for what is there before a story begins."""

    def __init__(self, world: World) -> None:
        self._database = world.database

    async def execute(self, sql: str, *parameters: SqlValue) -> QueryRows:
        """As `Database.execute`."""
        if sql.startswith("SELECT"):
            return self._database.look(sql, *parameters)
        self._database.prepare(filled(sql, parameters))
        return QueryRows((), [], 0)

    async def batch(self, statements: Iterable[tuple[str, Sequence[SqlValue]]]) -> list[QueryRows]:
        """As `Database.batch`."""
        return [await self.execute(sql, *parameters) for sql, parameters in statements]


def filled(sql: str, parameters: Sequence[SqlValue]) -> str:
    """Return *sql* with its parameters in it."""
    first, *rest = sql.split("?")
    return first + "".join(
        (f"'{value}'" if isinstance(value, str) else str(value)) + part
        for value, part in zip(parameters, rest, strict=True)
    )


class Stage:
    """One deployment that has been set up, and its participants."""

    def __init__(self, world: World, topology: Topology, design: Design) -> None:
        self.world = world
        self.topology = topology
        self.design = design
        self._sent = 0

    async def ask(
        self, who: str, request: WebRequest, *, front: type[Worker] | None = None
    ) -> Answer:
        """Send *request* to the front of the deployment, as *who*; *front* is another one."""
        client = self.world.client(who)
        try:
            if self.topology == "process":
                process = client.get(RunProcess, PROCESS, deadline_s=PATIENCE_S)
                response = await process.serve(request)
            else:
                is_agent = self.topology == "agents" and request.path == "/runs"
                usual = AgentFront if is_agent else RunRouter
                router = client.worker(front or usual, deadline_s=PATIENCE_S)
                response = await router.fetch(request)
        except OutcomeUnknown as error:
            return Answer(0, {"error": type(error).__name__})
        except Exception as error:
            # Nobody serves it at the moment: the same to whoever asked, who may ask again.
            return Answer(0, {"error": type(error).__name__})
        return Answer(response.status, parsed(response))

    async def start(
        self,
        key: str | None,
        *,
        who: str = "ann",
        workflow: str = "order",
        payload: Any = None,
        front: type[Worker] | None = None,
    ) -> Answer:
        """Start a run under *key*, and note what is asked and answered."""
        note = self.world.ledger.note
        note("asked", (who, key))
        body = {"workflowId": workflow, "payload": {"key": key, "more": payload}}
        if key is not None:
            body["idempotencyKey"] = key
        answer = await self.ask(who, sent("POST", "/runs", who, body), front=front)
        shown = hashlib.sha256(json.dumps(summary_of(answer), sort_keys=True).encode())
        note(
            "answered",
            (
                who,
                key,
                answer.status,
                answer.code,
                answer.run_id,
                shown.hexdigest()[:8],
                "approvals" in answer.body,
            ),
        )
        return answer

    async def start_by(self, front: type[Worker], key: str, workflow: str = "order") -> Answer:
        """Start a run under *key* by another front than the usual one, as ann."""
        return await self.start(key, workflow=workflow, front=front)

    async def until_done(self, key: str, *, who: str = "ann", workflow: str = "order") -> Answer:
        """Start a run under *key* again and again, until an answer is final; note which."""
        answer, alarms = Answer(0, {}), 0
        for _ in range(TRIES_MAX):
            answer = await self.start(key, who=who, workflow=workflow)
            alarms = alarms + 1 if answer.code == "IDEMPOTENT_START_UNRESOLVABLE" else 0
            settled = answer.code == "IDEMPOTENT_START_ALREADY_SETTLED"
            if answer.status == 200 or alarms == ALARMS_MAX or settled:
                break
            await trio.sleep(10)
        self.world.ledger.note("final", (key, answer.status, answer.code, answer.run_id))
        return answer

    async def move(self, expected: str, following: str, proof_key: str | None = None) -> Answer:
        """Move the fence, as the operator."""
        body = {"expected": expected, "next": following}
        if proof_key is not None:
            body["proofKey"] = proof_key
        token = cast(str, SECRETS.maintenance_admin)
        request = sent("POST", "/admin/execution-fence", token, body)
        answer = await self.ask("operator", request)
        self.world.ledger.note("moved", (expected, following, answer.status))
        return answer

    async def surely_move(
        self, expected: str, following: str, proof_key: str | None = None
    ) -> None:
        """Move the fence, and do it again until it is where it shall be."""
        for _ in range(TRIES_MAX):
            answer = await self.move(expected, following, proof_key)
            state: object = cast(dict[str, Any], answer.body.get("reason") or {}).get("state")
            if answer.status == 200 or state == following:
                return
            await trio.sleep(1)
        raise AssertionError(f"the operator cannot move the fence to {following}")

    async def send_start(
        self,
        key: str,
        run_id: str,
        *,
        workflow: str = "order",
        stamp: int | None = None,
        who: str = "ann",
    ) -> Answer:
        """Start a run by its own id where it lives, as a trusted program does; note it."""
        order: dict[str, Any] = {
            "workflowId": workflow, "runId": run_id, "idempotencyKey": key, "payload": {"key": key},
        }  # fmt: skip
        if stamp is not None:
            order["claimStamp"] = stamp
        headers = {
            "x-flowsafe-deployment-identity": SECRETS.identity,
            "x-flowsafe-principal": json.dumps(["human", who]),
        }
        request = WebRequest("POST", "/runs", json.dumps(order).encode(), headers)
        stub: RunObject | ThreadObject
        if self.topology == "agents":
            order["threadId"] = "thread-1"
            request = WebRequest("POST", "/runs", json.dumps(order).encode(), headers)
            stub = self.world.client("program").get(ThreadObject, "thread-1")
        else:
            stub = self.world.client("program").get(RunObject, f"{workflow}:{run_id}")
        self._sent += 1
        number, note = self._sent, self.world.ledger.note
        note("sent", (number, key))
        try:
            response = await stub.serve(request)
            answer = Answer(response.status, parsed(response))
        except OutcomeUnknown as error:
            answer = Answer(0, {"error": type(error).__name__})
        note("sent back", (number, answer.status, answer.code))
        return answer

    async def calm(self) -> None:
        """End the faults, and wait until every router and every alarm had its time."""
        self.world.end_faults()
        await trio.sleep(180)


def sent(method: str, path: str, token: str, body: Any) -> WebRequest:
    """Return a request of whoever bears *token*."""
    headers = {"authorization": f"Bearer {token}"}
    return WebRequest(method, path, json.dumps(body, sort_keys=True).encode(), headers)


def parsed(response: WebResponse) -> dict[str, Any]:
    """Return the body of *response*."""
    body = response.body
    found: object = json.loads(body) if isinstance(body, bytes) and body else {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {"body": found}


def summary_of(answer: Answer) -> dict[str, Any]:
    """Return what an answer says of a run, without the approvals that only the first has."""
    return {
        name: value
        for name, value in answer.body.items()
        if name not in ("approval", "approvals") and answer.status == 200
    }


async def set_stage(
    world: World,
    topology: Topology,
    design: Design,
    *,
    born: str = "open",
    request_context: Callable[[str, Owner], Awaitable[Mapping[str, Any]]] | None = None,
) -> Stage:
    """Set up a deployment in *world*."""

    def log(kind: str, fields: dict[str, Any]) -> None:
        world.ledger.note(f"log {kind}", tuple(sorted(fields.items())))

    world.env["runs"] = RunsDeployment(
        workflows=WORKFLOWS,
        agents=WORKFLOWS,
        secrets=SECRETS,
        fence="database",
        reservations="database",
        authenticate=authenticate,
        design=design,
        topology="process" if topology == "process" else "objects",
        request_context=request_context,
        log=log,
    )
    direct = Direct(world)
    await DeploymentIdentity(direct, SECRETS.identity).provision()
    await ExecutionFence(direct, lambda: 0).seed(born)
    world.ledger.note("deployed", (topology, design))
    return Stage(world, topology, design)

"""Whoever else acts on a deployment: a router that died, an operator, a trusted program."""

from typing import Any, cast

import attrs

from ...actors import Program
from ...actors.runs import (
    OPERATIONS,
    AgentTopology,
    Operations,
    Owner,
    Reservation,
    Services,
    StartRequest,
    StartReservations,
    Target,
)
from ..world import World
from .deployment import SECRETS, Answer, Stage, sent
from .watching import Reserved, is_table, reserved_rows

__all__ = [
    "RUN",
    "THREAD",
    "close_when_decided",
    "dead_router",
    "inventory",
    "is_on_time",
    "kill",
    "purge",
    "reserve",
    "resume",
    "rewire",
    "row_of",
    "run_row",
]

RUN = "run-of-the-dead"
THREAD = "thread-1"
START_MS = 1_767_225_600_000
"""When worlds begin, milliseconds since 1970."""


def rewire(stage: Stage, **changes: Any) -> None:
    """Let the deployment of *stage* be wired otherwise from here on."""
    env = stage.world.env
    env["runs"] = attrs.evolve(cast(Any, env["runs"]), **changes)


def row_of(world: World, key: str) -> Reserved | None:
    """Return the reservation of *key* as it is stored, whatever anybody was told."""
    return reserved_rows(world).get(key)


def run_row(world: World, run_id: str) -> tuple[object, ...] | None:
    """Return status and thread of a run as they are stored."""
    if not is_table(world, "flowsafe_runs"):
        return None
    sql = "SELECT status, thread_id FROM flowsafe_runs WHERE run_id = ?"
    found = world.database.look(sql, run_id).rows
    return found[0] if found else None


def kill(world: World) -> None:
    """Kill every process of the deployment: what is not stored is gone."""
    world.default().crash("the host is killed")


def close_when_decided(stage: Stage, state: str = "draining") -> None:
    """Let the fence close behind the next decision to start, before anything is sent."""
    world, log = stage.world, cast(Any, stage.world.env["runs"]).log
    closed: list[str] = []

    def closing(kind: str, fields: dict[str, Any]) -> None:
        log(kind, fields)
        if kind == "start-decided" and not closed:
            closed.append(state)
            world.database.prepare(f"UPDATE flowsafe_execution_fence SET state = '{state}'")

    rewire(stage, log=closing)


def is_on_time(world: World) -> bool:
    """Whether nothing was late or out of order, so that a story's own moments are what it says."""
    return len(world.choices.deviations) == sum(world.choices.struck)


# ---- a router that died


def dead_router(stage: Stage) -> StartReservations:
    """Return the rows as a router reaches them that does one thing and is never heard of again."""
    world = stage.world
    database = world.client("a router that died").database
    return StartReservations(database, lambda: START_MS + int(world.now_s * 1000))


async def reserve(
    stage: Stage, key: str, *, who: str = "ann", workflow: str = "order", run_id: str = RUN
) -> Reservation:
    """Make the row of *key* for *who*, and go no further."""
    is_agent = stage.topology == "agents"
    target = Target("agent" if is_agent else "workflow", workflow)
    asked = StartRequest(key, Owner("human", who), target, THREAD if is_agent else None)
    return (await dead_router(stage).reserve(asked, lambda: run_id)).reservation


# ---- an operator


async def purge(stage: Stage) -> dict[str, int]:
    """Purge the deployment of what is old; returns how many of what."""
    return await stage.world.client("operator").get(Operations, OPERATIONS).purge()


async def inventory(stage: Stage) -> dict[str, Any]:
    """Take inventory as the operator; returns the sweep."""
    token = cast(str, SECRETS.maintenance_admin)
    answer = await stage.ask("operator", sent("GET", "/admin/inventory", token, {}))
    assert answer.status == 200, f"the inventory was answered {answer.status}"
    return dict(answer.body)


# ---- whoever goes on with a run


class Resumption(Program):
    """A trusted program that goes on with the run of an agent."""

    def __init__(self, thread_id: str, agent_id: str, run_id: str, who: str) -> None:
        """Go on with that run, in that thread."""
        self._where = (thread_id, agent_id, run_id)
        self._who = who
        self.answer = Answer(0, {})

    async def run(self) -> None:
        """Do it."""
        try:
            agents = AgentTopology(Services(self))
            shown = await agents.resume(*self._where, {"said": "yes"}, Owner("human", self._who))
        except Exception as error:
            status, reason = getattr(error, "status", 500), getattr(error, "reason", None)
            self.answer = Answer(status, {"error": str(error), "reason": reason})
        else:
            self.answer = Answer(200, shown)


async def resume(stage: Stage, run_id: str, *, workflow: str, who: str = "ann") -> Answer:
    """Go on with a run that waits, as *who*."""
    if stage.topology != "agents":
        path = f"/runs/{workflow}/{run_id}/resume"
        return await stage.ask(who, sent("POST", path, who, {"data": {"said": "yes"}}))
    found = run_row(stage.world, run_id)
    assert found is not None
    program = Resumption(str(found[1]), workflow, run_id, who)
    await stage.world.start(program, "trusted program").ended()
    return program.answer

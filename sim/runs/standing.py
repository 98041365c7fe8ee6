"""Stories of what stands in a deployment: schedules, decisions to come, and what grows old.

What a pass or a decision found before and after itself is noted by the story, while nobody else
changes it: a fence that was shut all the while must have let nothing through.
"""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from typing import Any

import trio

from ...actors.runs import (
    OPERATIONS,
    Approval,
    ApprovalService,
    Fire,
    Operations,
    ScheduleTick,
    Tally,
    approvals,
    gates,
)
from ..faults import Crash, FailQuery, LoseQuery, LoseQueryReply, LoseReply
from ..ledger import Entry
from ..mutants import Mutant
from ..properties import at_rest, sometimes
from ..scenario import scenario
from ..world import World
from .deployment import TOPOLOGIES, Answer, Design, Stage, Topology, sent, set_stage
from .notes import told
from .watching import Reserved, Watched, Watching, fence_of, is_table, stored_status

__all__ = [
    "STANDING",
    "a_fire_is_deferred",
    "decision_under_lock",
    "fires_run_once",
    "grown_old",
    "readable_runs_keep_their_keys",
    "shut_means_no_decision",
    "shut_means_no_fire",
    "tick_under_drain",
]

RUNS = "durasim.actors.runs"
OBJECTS = {"topology": "objects", "design": "router"}
FIRES = "flowsafe_schedule_triggers"
APPROVALS = "flowsafe_approvals"
EACH: dict[str, tuple[Any, ...]] = {
    "topology": ("process", "objects"),
    "design": ("router", "holder", "sealer"),
}
"""Schedules and approvals are the workflows'."""
HOMES = ("RunObject", "RunProcess")
"""Where workflows run."""
TRIES_MAX = 12
MONTH_S = 31 * 86_400


def stored(world: World, table: str) -> list[tuple[object, ...]]:
    """Return every row of a table, as it is stored; none without the table."""
    if not is_table(world, table):
        return []
    return world.database.look(f"SELECT * FROM {table} ORDER BY 1, 2").rows


# ---- what must hold


class ShutMeansNothing(Watching[None]):
    """What was done while the fence was shut has left the rows as they were."""

    def __init__(self, name: str, kind: str) -> None:
        """Look at the notes of *kind*."""
        self.name = name
        self._kind = kind

    def begin(self) -> None:
        """Nothing."""

    def noted(self, seen: Watched[None], entry: Entry, world: World) -> None:
        """Compare what was there before with what was there after."""
        del seen, world
        if entry.kind == self._kind:
            state, before, after = told(entry)
            assert state == "open" or before == after, f"the fence was {state}: rows were written"


shut_means_no_fire = ShutMeansNothing("a shut fence claims no fire", "pass")
shut_means_no_decision = ShutMeansNothing("a shut fence stores no decision", "decision")


@at_rest
def fires_run_once(world: World) -> None:
    """No fire of a schedule has run twice; one that is known to have started has run, none waits.

    One that is deferred may have run or not: what died may have begun before. In process nobody
    goes on with the shell of a start that died: there is a run, and it stays as it is.
    """
    began = [told(entry)[1] for entry in world.ledger.entries if entry.kind == "began"]
    for run_id, state in fires(world):
        count = began.count(run_id)
        assert count < 2, f"a fire that is {state} has run {count} times"
        assert (
            state == "deferred"
            or (state, count) == ("started", 1)
            or (state == "started" and is_dead_shell(world, str(run_id)))
        ), f"a fire is left {state}"


def is_dead_shell(world: World, run_id: str) -> bool:
    """Whether a run was made in process, by a start that died before it ran anything."""
    in_process = any("RunProcess" in each.host.classes for each in world.machines.values())
    return in_process and stored_status(world, run_id) == "pending"


def fires(world: World) -> list[tuple[object, ...]]:
    """Return run and state of each fire, as they are stored."""
    if not is_table(world, FIRES):
        return []
    return world.database.look(f"SELECT run_id, state FROM {FIRES}").rows


@sometimes
def a_fire_is_deferred(world: World) -> bool:
    """Without this, nobody was ever left in doubt."""
    return any(state == "deferred" for _, state in fires(world))


class ReadableRunsKeepTheirKeys(Watching[None]):
    """A reservation is deleted only when its run can be read no more (case 50)."""

    name = "a readable run keeps its key"

    def begin(self) -> None:
        """Nothing."""

    def changed(
        self, seen: Watched[None], before: Reserved | None, after: Reserved | None, world: World
    ) -> None:
        """Look for the run of a row that is gone."""
        del seen
        if before is not None and after is None:
            status = stored_status(world, before.run_id)
            assert status is None, f"{before.key} was deleted while its run is {status}"


readable_runs_keep_their_keys = ReadableRunsKeepTheirKeys()


# ---- stories


async def tick(stage: Stage) -> None:
    """Do one pass over the schedules, and note what it found and left."""
    world = stage.world
    state, before = fence_of(world).state, stored(world, FIRES)
    operations = world.client("timekeeper").get(Operations, OPERATIONS)
    try:
        await operations.tick()
    except Exception as error:
        # Nobody knows how far it came: what is late settles before anybody looks again.
        world.ledger.note("pass lost", type(error).__name__)
        await trio.sleep(60)
    world.ledger.note("pass", (state, before, stored(world, FIRES)))


@scenario(
    faults=(
        *(kind(home, at_most=1) for kind in (LoseReply, Crash) for home in HOMES),
        LoseQuery(FIRES, at_most=1),
        LoseQueryReply(FIRES, at_most=1),
        FailQuery("flowsafe_schedules", at_most=1),
    ),
    properties=(shut_means_no_fire, fires_run_once, a_fire_is_deferred),
    parameters=EACH,
)
async def tick_under_drain(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A schedule owes fires while a deployment drains: none is claimed, and none is lost (32)."""
    stage = await set_stage(world, topology, design)
    body = {"workflowId": "order", "input": {"key": "nightly"}, "everyMs": 60_000}
    for _ in range(TRIES_MAX):
        if (await stage.ask("ann", sent("POST", "/schedules", "ann", body))).status == 200:
            break
    for state in ("open", "draining", "migration-locked", "open"):
        now = fence_of(world).state
        if now != state:
            await stage.surely_move(now, state)
        await trio.sleep(70)
        await tick(stage)
    await stage.calm()
    for _ in range(2):
        await tick(stage)


async def decide(stage: Stage, name: str) -> Answer:
    """Approve what *name* asks, and note what the rows were before and after."""
    world = stage.world
    state, before = fence_of(world).state, stored(world, APPROVALS)
    path = f"/approvals/{name}/decision"
    answer = await stage.ask("ann", sent("POST", path, "ann", {"decision": "approved"}))
    if answer.status == 0:
        await trio.sleep(60)
    world.ledger.note("decision", (state, before, stored(world, APPROVALS)))
    return answer


@scenario(
    faults=(
        *(kind(home, at_most=1) for kind in (LoseReply, Crash) for home in HOMES),
        LoseQuery(APPROVALS, at_most=1),
        LoseQueryReply(APPROVALS, at_most=1),
    ),
    properties=(shut_means_no_decision,),
    parameters=EACH,
)
async def decision_under_lock(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Somebody approves while a deployment is locked: nothing is stored; then it goes on (29)."""
    stage = await set_stage(world, topology, design)
    answer = await stage.until_done("key-1", workflow="approval")
    if answer.status != 200:
        return
    for _ in range(TRIES_MAX):
        if stored(world, APPROVALS):
            break
        # It was not filed with the first answer, or that was lost: the next one makes it good.
        await stage.start("key-1", workflow="approval")
    (name,) = [str(row[0]) for row in stored(world, APPROVALS)]
    await stage.surely_move("open", "migration-locked")
    refused = await decide(stage, name)
    assert refused.status in (0, 503), f"a locked deployment answered {refused.status}"
    await stage.surely_move("migration-locked", "open")
    if sum(world.choices.struck):
        await stage.calm()
    world.end_faults()
    decided = await decide(stage, name)
    assert decided.status == 200, f"the decision was answered {decided.status}"
    done = await stage.start("key-1", workflow="approval")
    assert done.body["result"]["approved"] is True


@scenario(
    faults=(
        LoseQuery("flowsafe_runs.DELETE", at_most=1),
        FailQuery("flowsafe_runs.DELETE", at_most=1),
        LoseQueryReply("flowsafe_runs.DELETE", at_most=1),
    ),
    properties=(readable_runs_keep_their_keys,),
    parameters={**EACH, "topology": TOPOLOGIES},
)
async def grown_old(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Runs and their keys age and are purged: no key goes before its run (50, 52)."""
    stage = await set_stage(world, topology, design)
    await stage.start("key-1")
    operations = world.client("operator").get(Operations, OPERATIONS)
    for _ in range(3):
        await trio.sleep(MONTH_S)
        await operations.purge()
    await stage.start("key-1")


# ---- mutants


async def tick_claims_first(self: ScheduleTick) -> Tally:
    """Claim what is due, and only then ask the fence."""
    left = await self._schedules.unsettled(100)
    due = await self._schedules.due(100)
    claimed = [fire for fire in [await self._claim(each) for each in due] if fire is not None]
    if not await gates.may_pass(self._fence, "schedule-tick", self._log):
        return Tally()
    ends = [await self._settle(fire) for fire in left]
    ends += [await self._dispatch(fire) for fire in claimed]
    return Tally(len(due), len(claimed), ends.count("started"), ends.count("deferred"))


async def deferred_fire_started(self: ScheduleTick, fire: Fire) -> str:
    """Start again what may have begun."""
    try:
        await self._surface.start(fire)
    except Exception as error:
        return await self._mark(fire, "deferred", "dispatch-indeterminate", error)
    return await self._mark(fire, "started")


async def decision_before_gate(
    self: ApprovalService, name: str, decided: approvals.Decided, by: Any
) -> Any:
    """Store the decision, and only then ask the fence."""
    record: Approval | None = await self.get(name)
    assert record is not None
    record = await self._commit(record, decided, by)
    await self._admit(record)
    return await self._hand_on(record)


def purge_readable_run() -> str:
    """Take every run for gone."""
    return "1"


STANDING = (
    Mutant(
        "tick_claims_first", f"{RUNS}.tick:ScheduleTick.tick", tick_claims_first,
        tick_under_drain, (shut_means_no_fire,), parameters=OBJECTS, needs_fault=False,
    ),
    Mutant(
        "deferred_fire_started", f"{RUNS}.tick:ScheduleTick._settle", deferred_fire_started,
        tick_under_drain, (fires_run_once,), parameters=OBJECTS,
    ),
    Mutant(
        "decision_before_gate", f"{RUNS}.approvals:ApprovalService.decide", decision_before_gate,
        decision_under_lock, (shut_means_no_decision,), parameters=OBJECTS, needs_fault=False,
    ),
    Mutant(
        "purge_readable_run", f"{RUNS}.retention:run_is_gone", purge_readable_run,
        grown_old, (readable_runs_keep_their_keys,), parameters=OBJECTS,
    ),
)  # fmt: skip
"""Of whatever stands and grows old."""

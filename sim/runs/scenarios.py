"""Stories of keyed starts: drained and reopened, delivered twice, released late, lost on the way."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import trio

from ...actors.runs import Owner, RunObject, RunOwners, StartReservations
from ...actors.runs.reservations import StartRequest, Target
from ..faults import (
    ClockJump,
    Crash,
    DuplicateQuery,
    DuplicateRequest,
    Evict,
    FailQuery,
    LoseQuery,
    LoseQueryReply,
    LoseReply,
    LoseRequest,
    Restart,
    StaleIncarnation,
)
from ..properties import sometimes
from ..scenario import scenario
from ..world import World
from .deployment import DESIGNS, TOPOLOGIES, Design, Topology, set_stage
from .properties import (
    ANSWERS,
    CLAIMS,
    EVERYWHERE,
    answers_fit,
    live_deadlines_are_met,
    no_key_is_stranded,
    not_started_while_live,
    proof_slot_is_earned,
    refused_means_untouched,
    refused_runs_leave_nothing,
)

__all__ = [
    "claim_lost",
    "corrupt_row",
    "deadline_under_lock",
    "delivered_twice",
    "drain_midway",
    "drain_reopen",
    "duplicate_start",
    "echo_after_reopen",
    "fence_unreadable",
    "first_calls",
    "late_start",
    "lost_replies",
    "much_later",
    "operators_race",
    "proof_only",
    "proofs_race",
    "refused_start",
    "retried",
    "sent_again",
    "sent_while_live",
    "stale_release",
    "start_fails",
    "start_lost",
    "still_registered",
    "unkeyed",
]

EACH: dict[str, Any] = {"topology": TOPOLOGIES, "design": DESIGNS}
RESERVATIONS = "flowsafe_start_idempotency"
FENCE = "flowsafe_execution_fence"


@sometimes
def a_start_is_refused(world: World) -> bool:
    """Some start is refused by the fence."""
    return any(
        entry.kind == "answered" and entry.value[3] == "EXECUTION_FENCED"  # type: ignore[index]
        for entry in world.ledger.entries
    )


@scenario(
    properties=(*EVERYWHERE, refused_runs_leave_nothing, a_start_is_refused),
    parameters={**EACH, "keys": (1, 3)},
)
async def drain_reopen(
    world: World, topology: Topology = "objects", design: Design = "router", keys: int = 3
) -> None:
    """Drained, every start in flight refused, reopened: each key executes once (8.8)."""
    stage = await set_stage(world, topology, design)
    names = [f"key-{number}" for number in range(1, keys + 1)]
    await stage.surely_move("open", "draining")
    async with trio.open_nursery() as nursery:
        for number, key in enumerate(names):
            nursery.start_soon(start_as, stage, f"caller-{number}", key)
    await stage.surely_move("draining", "open")
    async with trio.open_nursery() as nursery:
        for number, key in enumerate(names):
            nursery.start_soon(finish_as, stage, f"caller-{number}", key)


@scenario(
    properties=(*EVERYWHERE, refused_runs_leave_nothing, a_start_is_refused),
    parameters={**EACH, "workflow": ("order", "approval")},
)
async def drain_midway(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    workflow: str = "order",
) -> None:
    """The fence closes while starts are on their way, each at a moment of its own (20, 25, 26)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        for number in range(2):
            nursery.start_soon(start_as, stage, f"caller-{number}", f"key-{number}", workflow)
        nursery.start_soon(stage.surely_move, "open", "draining")
    await stage.start("key-late", who="caller-2", workflow=workflow)
    await stage.surely_move("draining", "open")
    for number in range(2):
        await stage.until_done(f"key-{number}", who=f"caller-{number}", workflow=workflow)
    await stage.until_done("key-late", who="caller-2", workflow=workflow)


@scenario(
    properties=(*EVERYWHERE, refused_runs_leave_nothing),
    parameters={**EACH, "state": ("draining", "migration-locked", "proof-only")},
)
async def refused_start(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    state: str = "draining",
) -> None:
    """A start is refused, in process or over the wire, and its key starts later (20, 21, 28)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", state, "the-proof" if state == "proof-only" else None)
    answer = await stage.start("key-1")
    assert answer.code == "EXECUTION_FENCED", f"the answer was {answer.status} {answer.code}"
    await stage.surely_move(state, "open")
    await stage.until_done("key-1")


@scenario(
    faults=(FailQuery(FENCE, at_most=2),),
    properties=(*EVERYWHERE, refused_runs_leave_nothing),
    parameters=EACH,
)
async def fence_unreadable(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A fence that cannot be read is shut, and the claim goes back (case 27)."""
    stage = await set_stage(world, topology, design, born="migration-locked")
    await stage.start("key-1")
    await stage.surely_move("migration-locked", "open")
    await stage.start("key-1")
    world.end_faults()
    await stage.until_done("key-1")


@scenario(
    properties=EVERYWHERE,
    parameters={**EACH, "callers": (2, 10), "workflow": ("order", "approval", "quick")},
)
async def first_calls(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    callers: int = 10,
    workflow: str = "order",
) -> None:
    """Many first calls of one key at once: one of them starts it (1, 2, 3, 9, 16, 17)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        for _ in range(callers):
            nursery.start_soon(start_as, stage, "ann", "key-1", workflow)
    await stage.until_done("key-1", workflow=workflow)


@scenario(
    faults=(
        LoseQuery(RESERVATIONS, at_most=2),
        LoseQueryReply(RESERVATIONS, at_most=2),
        FailQuery(RESERVATIONS, at_most=2),
    ),
    properties=(*CLAIMS, *ANSWERS),
    parameters=EACH,
)
async def claim_lost(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """What is asked of the reservations is lost, or its answer is (L1, L2, L3, L7, L8, 23)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    await stage.start("key-1")
    await stage.start("key-2")
    await stage.calm()
    await stage.until_done("key-1")
    await stage.until_done("key-2")


@scenario(
    faults=(
        LoseRequest(RunObject, at_most=2),
        LoseReply(RunObject, at_most=2),
        LoseQuery(at_most=2),
        LoseQueryReply(at_most=2),
        Crash(RunObject, at_most=1),
        Restart(RunObject, at_most=1),
    ),
    properties=CLAIMS + ANSWERS,
    parameters={**EACH, "workflow": ("order", "approval")},
)
async def lost_replies(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    workflow: str = "order",
) -> None:
    """Anything is lost while the deployment drains and opens again (L1 to L11)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "caller-1", "key-1", workflow)
        nursery.start_soon(stage.surely_move, "open", "draining")
    await stage.start("key-2", who="caller-2", workflow=workflow)
    await stage.surely_move("draining", "open")
    for number in (1, 2):
        await stage.start(f"key-{number}", who=f"caller-{number}", workflow=workflow)
    await stage.calm()
    for number in (1, 2):
        await stage.until_done(f"key-{number}", who=f"caller-{number}", workflow=workflow)


@scenario(
    faults=(
        DuplicateRequest(RunObject, at_most=1),
        StaleIncarnation(RunObject, at_most=1),
        LoseReply(RunObject, at_most=1),
    ),
    properties=CLAIMS,
    parameters={"design": DESIGNS},
)
async def duplicate_start(world: World, design: Design = "router") -> None:
    """A start is delivered twice, and the fence closes between the two (case 41)."""
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        nursery.start_soon(drain_in, stage, 0.002)
        await trio.sleep(0.005)
        nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.surely_move("draining", "open")
    await stage.start("key-1")
    await stage.calm()
    await stage.until_done("key-1")


@scenario(
    faults=(DuplicateRequest(RunObject, at_most=1), LoseReply(RunObject, at_most=1)),
    properties=CLAIMS,
    parameters={"design": DESIGNS},
)
async def delivered_twice(world: World, design: Design = "router") -> None:
    """A start is delivered twice, and nobody dies: what has ended stays settled (case 24)."""
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        nursery.start_soon(drain_in, stage, 0.002)
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1")


@scenario(
    faults=(DuplicateQuery(f"{RESERVATIONS}.UPDATE", at_most=1), Crash(RunObject, at_most=1)),
    properties=CLAIMS,
    parameters=EACH,
)
async def stale_release(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A release takes effect twice, the second time when the key was claimed anew (case 42)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    async with trio.open_nursery() as nursery:
        for after_s in (0.8, 1.1):
            await trio.sleep(max(0.0, after_s - world.now_s))
            nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.calm()
    await stage.until_done("key-1")


FAILURES = ("policy", "forged", "step", "unwritable")


class Forged(Exception):
    """What has the fields of a refusal, and is none."""

    status = 503
    message = "the neighbour is fenced"
    reason: ClassVar[dict[str, Any]] = {"code": "EXECUTION_FENCED", "state": "draining"}


@scenario(
    faults=(FailQuery("flowsafe_runs.UPDATE", causes=("locked",), weight=4),),
    properties=(*CLAIMS, answers_fit, refused_means_untouched),
    parameters={**EACH, "failure": FAILURES},
)
async def start_fails(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    failure: str = "policy",
) -> None:
    """A start fails for another reason than the fence: its claim is kept (22, 44, 45)."""

    async def policy(run_id: str, owner: Owner) -> Mapping[str, Any]:
        del run_id, owner
        if failure == "forged" and topology != "process":
            raise Forged("the neighbour is fenced")
        raise PermissionError("EXECUTION_FENCED is what our neighbour says")

    is_policy = failure in ("policy", "forged")
    stage = await set_stage(
        world, topology, design, request_context=policy if is_policy else None
    )
    workflow = "refusing" if failure == "step" else "order"
    for _ in range(2):
        await stage.start("key-1", workflow=workflow)


@scenario(properties=(*EVERYWHERE, refused_runs_leave_nothing), parameters=EACH)
async def proof_only(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Locked but for one key: that one runs and binds the slot, nothing else does (34 to 39)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "proof-only", "the-proof")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "bob", "another")
        nursery.start_soon(start_as, stage, "ann", "the-proof")
        nursery.start_soon(start_as, stage, "cy", None)
    await stage.until_done("the-proof")
    await stage.surely_move("proof-only", "open")
    await stage.until_done("another", who="bob")


@scenario(
    faults=(FailQuery("flowsafe_runs.SELECT", at_most=2),),
    properties=(*CLAIMS, *ANSWERS),
    parameters={**EACH, "workflow": ("order", "approval")},
)
async def retried(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    workflow: str = "order",
) -> None:
    """A run has come to something; whoever asks again is shown the same (4, 5, 10, 14, 15)."""
    stage = await set_stage(world, topology, design)
    await stage.start("key-1", workflow=workflow)
    await stage.start("key-1", workflow=workflow)
    await stage.start("key-1", who="bob", workflow="quick")
    await stage.calm()
    await stage.until_done("key-1", workflow=workflow)


@scenario(properties=(*CLAIMS, *ANSWERS), parameters=EACH)
async def corrupt_row(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A row that makes no sense is never taken for absent or old (case 13)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    world.database.prepare(f"UPDATE {RESERVATIONS} SET updated_at = 'soon'")
    answer = await stage.start("key-1")
    assert answer.code == "IDEMPOTENT_START_UNREADABLE", f"it was answered {answer.status}"


@scenario(properties=(*CLAIMS, answers_fit), parameters={**EACH, "minutes": (1, 11)})
async def much_later(
    world: World, topology: Topology = "objects", design: Design = "router", minutes: int = 11
) -> None:
    """A run takes long; who asks again is told to wait, however long it takes (6)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1", "long")
        await trio.sleep(60 * minutes)
        await stage.start("key-1", workflow="long")


@scenario(properties=EVERYWHERE, parameters=EACH)
async def unkeyed(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A start without a key touches no reservation (2.6)."""
    stage = await set_stage(world, topology, design)
    await stage.start(None)
    await stage.start(None, workflow="approval")


@scenario(properties=CLAIMS, parameters=EACH)
async def operators_race(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Two operators move the fence at once: one of them does (case 31)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.move, "open", "draining")
        nursery.start_soon(stage.move, "open", "migration-locked")


@scenario(
    faults=(LoseRequest("RunOwners", at_most=1),),
    properties=(*CLAIMS, proof_slot_is_earned),
    parameters={"design": DESIGNS},
)
async def proofs_race(world: World, design: Design = "router") -> None:
    """A trusted program starts a run of its own with the proof's key (35, 40)."""
    stage = await set_stage(world, "objects", design)
    await stage.surely_move("open", "proof-only", "the-proof")
    await stage.start("the-proof")
    await stage.send_start("the-proof", "a-run-of-its-own")


@scenario(properties=CLAIMS, parameters={"design": DESIGNS})
async def sent_again(world: World, design: Design = "router") -> None:
    """A run that is there is answered with the fence while that is shut (3.2, case 41)."""
    stage = await set_stage(world, "objects", design)
    await stage.send_start("key-1", "run-1")
    answer = await stage.send_start("key-1", "run-1")
    assert answer.status == 409, f"a run that exists was answered {answer.status}"
    await stage.surely_move("open", "draining")
    answer = await stage.send_start("key-1", "run-1")
    assert answer.code == "EXECUTION_FENCED", f"the answer was {answer.status} {answer.code}"


@scenario(
    faults=(DuplicateRequest(RunObject, at_most=1),),
    properties=CLAIMS,
    parameters={"design": ("holder", "sealer")},
)
async def echo_after_reopen(world: World, design: Design = "holder") -> None:
    """A refused start arrives again when the deployment is open: its claim is another's now."""
    stage = await set_stage(world, "objects", design)
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    await trio.sleep(1)
    await stage.until_done("key-1")


@scenario(
    faults=(
        LoseRequest(RunObject, at_most=1),
        ClockJump(RunObject, at_most=1),
        Evict(RunObject, at_most=1),
    ),
    properties=(*CLAIMS, no_key_is_stranded),
    parameters={"design": ("holder", "sealer")},
)
async def start_lost(world: World, design: Design = "sealer") -> None:
    """A start is lost or late, and somebody asks about it (L4): only the sealer gets it back."""
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        for seconds in (0.001, 0.009, 0.09, 0.9):
            await trio.sleep(seconds)
            nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.start("key-1")
    await stage.calm()
    await stage.until_done("key-1")


@scenario(properties=(live_deadlines_are_met,), parameters={"design": DESIGNS})
async def deadline_under_lock(world: World, design: Design = "router") -> None:
    """A deadline falls due while nothing may run: it is met when it may (case 33)."""
    stage = await set_stage(world, "objects", design)
    await stage.start("key-1", workflow="patient")
    await stage.surely_move("open", "migration-locked")
    await trio.sleep(7200)
    await stage.surely_move("migration-locked", "open")
    await trio.sleep(3000)


@scenario(properties=CLAIMS, parameters={"topology": ("agents",), "design": DESIGNS})
async def sent_while_live(
    world: World, topology: Topology = "agents", design: Design = "router"
) -> None:
    """A refused start does not wait for a live leg of its run (1.10)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(stage.send_start, "key-1", "run-1", workflow="long"))
        await trio.sleep(60)
        await stage.surely_move("open", "draining")
        answer = await stage.send_start("key-1", "run-1", workflow="long")
        assert answer.code == "EXECUTION_FENCED", f"the answer was {answer.status} {answer.code}"


@scenario(
    faults=(Evict(RunObject, at_most=1),),
    properties=CLAIMS,
    parameters={"design": ("sealer",), "after_ms": (1, 5, 20)},
)
async def late_start(world: World, design: Design = "sealer", after_ms: int = 5) -> None:
    """A start arrives when its claim was asked about, and refused for good (8.2)."""
    stage = await set_stage(world, "objects", design)
    slow = StartReservations(world.client("slow router").database, lambda: START_MS)
    asked = StartRequest("key-1", Owner("human", "ann"), Target("workflow", "order"))
    await slow.reserve(asked, lambda: "run-1")
    claimed = await slow.claim("key-1", "run-1")
    assert claimed is not None
    world.ledger.note(
        "log start-decided",
        (("key", "key-1"), ("runId", "run-1"), ("stamp", claimed.updated_at)),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(after_ms / 1000)
        await stage.send_start("key-1", "run-1", stamp=claimed.updated_at)
    await stage.calm()
    await stage.until_done("key-1")


class SlowOwners(RunOwners, name=RunOwners.stored_name):
    """A registry that takes its time to forget."""

    async def reserve(self, run: str, token: str, kind: str, owner_id: str) -> None:
        """Reserve, in 5 ms."""
        await self.sleep(0.005)
        await super().reserve(run, token, kind, owner_id)

    async def release(self, run: str, token: str) -> bool:
        """Forget, in 200 ms."""
        await self.sleep(0.2)
        return await super().release(run, token)


@scenario(
    properties=(*CLAIMS, not_started_while_live),
    parameters={"design": ("holder", "sealer")},
)
async def still_registered(world: World, design: Design = "holder") -> None:
    """A claim is back, and the start that was refused is not quite over (19, 43)."""
    world.machine("registry", (SlowOwners,))
    stage = await set_stage(world, "objects", design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(0.001)
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(0.001)
        await stage.surely_move("open", "draining")
        await trio.sleep(0.05)
        nursery.start_soon(start_as, stage, "ann", "key-1")
    await stage.surely_move("draining", "open")
    await stage.until_done("key-1")


START_MS = 1_767_225_600_000
"""When worlds begin, milliseconds since 1970."""


async def drain_in(stage: Any, seconds: float) -> None:
    """Drain the deployment a while after."""
    await trio.sleep(seconds)
    await stage.surely_move("open", "draining")


async def start_as(stage: Any, who: str, key: str | None, workflow: str = "order") -> None:
    """Start *key* once, as *who*."""
    await stage.start(key, who=who, workflow=workflow)


async def finish_as(stage: Any, who: str, key: str, workflow: str = "order") -> None:
    """Start *key* until it is done, as *who*."""
    await stage.until_done(key, who=who, workflow=workflow)

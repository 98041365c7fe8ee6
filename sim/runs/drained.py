"""Stories of a fence: drained and reopened, unreadable, moved by two, but for one proof."""

from functools import partial

import trio

from ..faults import (
    FailQuery,
    LoseRequest,
)
from ..properties import sometimes
from ..scenario import scenario
from ..world import World
from .bystanders import row_of
from .deployment import DESIGNS, Answer, Design, Topology, set_stage
from .notes import told
from .properties import (
    CLAIMS,
    EVERYWHERE,
    live_deadlines_are_met,
    proof_slot_is_earned,
    refused_runs_leave_nothing,
)
from .reached import the_fence_does_not_answer
from .setting import EACH, FENCE, WIRED, finish_as, start_as
from .watching import Fence, fence_of

__all__ = [
    "deadline_under_lock",
    "drain_midway",
    "drain_reopen",
    "fence_unreadable",
    "operators_race",
    "proof_only",
    "proofs_race",
    "refused_start",
    "sent_again",
    "sent_while_live",
]


@sometimes
def a_start_is_refused(world: World) -> bool:
    """Some start is refused by the fence."""
    return any(
        entry.kind == "answered" and told(entry)[3] == "EXECUTION_FENCED"
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
    properties=(*EVERYWHERE, refused_runs_leave_nothing, the_fence_does_not_answer),
    parameters=EACH,
)
async def fence_unreadable(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A fence that cannot be read is shut, and the claim goes back (case 27)."""
    stage = await set_stage(world, topology, design, born="migration-locked")
    await stage.start("key-1")
    await stage.surely_move("migration-locked", "open")
    answer = await stage.start("key-1")
    if answer.status != 200:
        row = row_of(world, "key-1")
        assert (answer.status, answer.code) == (503, "EXECUTION_FENCE_UNREADABLE")
        assert row is not None
        assert row.state == "reserved", f"the key is left {row.state}"
    world.end_faults()
    await stage.until_done("key-1")


@scenario(properties=(*EVERYWHERE, refused_runs_leave_nothing), parameters=EACH)
async def proof_only(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Locked but for one key: that one runs and binds the slot, nothing else does (34 to 39)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "proof-only", "the-proof")
    answers: dict[str | None, Answer] = {}

    async def start(who: str, key: str | None) -> None:
        answers[key] = await stage.start(key, who=who)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(start, "bob", "another")
        nursery.start_soon(start, "ann", "the-proof")
        nursery.start_soon(start, "cy", None)
    for key in ("another", None):
        assert answers[key].code == "EXECUTION_FENCED", f"{key} was answered {answers[key].status}"
    proof = await stage.until_done("the-proof")
    assert fence_of(world) == Fence("proof-only", "the-proof", proof.run_id)
    await stage.surely_move("proof-only", "open")
    await stage.until_done("another", who="bob")


@scenario(
    faults=(LoseRequest("RunOwners", at_most=1),),
    properties=(*CLAIMS, proof_slot_is_earned),
    parameters=WIRED,
)
async def proofs_race(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A trusted program starts a run of its own with the proof's key (35, 40)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "proof-only", "the-proof")
    await stage.start("the-proof")
    bound = fence_of(world).proof_run_id
    answer = await stage.send_start("the-proof", "a-run-of-its-own")
    if bound is not None and not sum(world.choices.struck):
        assert answer.code == "EXECUTION_FENCED", f"a second proof was answered {answer.status}"


@scenario(properties=CLAIMS, parameters=WIRED)
async def sent_again(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A run that is there is answered with the fence while that is shut (3.2, case 41)."""
    stage = await set_stage(world, topology, design)
    await stage.send_start("key-1", "run-1")
    answer = await stage.send_start("key-1", "run-1")
    assert answer.status == 409, f"a run that exists was answered {answer.status}"
    await stage.surely_move("open", "draining")
    answer = await stage.send_start("key-1", "run-1")
    assert answer.code == "EXECUTION_FENCED", f"the answer was {answer.status} {answer.code}"


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


@scenario(properties=CLAIMS, parameters=EACH)
async def operators_race(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Two operators move the fence at once: one does, the other learns where it is (case 31)."""
    stage = await set_stage(world, topology, design)
    answers: list[Answer] = []

    async def move(following: str) -> None:
        answers.append(await stage.move("open", following))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(move, "draining")
        nursery.start_soon(move, "migration-locked")
    losers = [each for each in answers if each.status != 200]
    reason = {"code": "FENCE_CAS_CONFLICT", "state": fence_of(world).state}
    assert [(each.status, each.body.get("reason")) for each in losers] == [(409, reason)]


@scenario(properties=(live_deadlines_are_met,), parameters=WIRED)
async def deadline_under_lock(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A deadline falls due while nothing may run: it is met when it may (case 33)."""
    stage = await set_stage(world, topology, design)
    await stage.start("key-1", workflow="patient")
    await stage.surely_move("open", "migration-locked")
    await trio.sleep(7200)
    await stage.surely_move("migration-locked", "open")
    await trio.sleep(3000)

"""One loss at a time: the rows of the table of lost replies, each with what the next retry gets.

Which retry heals and which does not is the difference between the designs (2.9, 8.2). A story
judges by what is stored, so that it is right wherever its one fault strikes, or if none does.
"""

import trio

from ..faults import Crash, FailQuery, LoseQuery, LoseQueryReply, LoseReply, LoseRequest
from ..scenario import scenario
from ..world import World
from .bystanders import purge, row_of, run_row
from .deployment import Answer, Design, Stage, Topology, set_stage
from .logged import left_claims_are_logged
from .properties import STRICTLY, refused_runs_leave_nothing
from .reached import (
    a_claim_is_left,
    a_failed_release_has_landed,
    a_key_is_not_settled,
    a_proof_is_unheard,
    a_refusal_is_lost,
    a_release_is_lost,
    a_run_is_unheard,
    a_start_is_lost,
    the_rows_do_not_answer,
)
from .setting import EACH, FENCE, RESERVATIONS, WIRED, at_runs
from .watching import fence_of

__all__ = [
    "STORIES",
    "claim_unheard",
    "insert_unheard",
    "proof_unheard",
    "readback_failed",
    "refusal_unheard",
    "release_unapplied",
    "release_unheard",
    "router_dies",
    "run_unheard",
    "settle_lost",
    "start_unheard",
]

FENCED = ("EXECUTION_FENCED", "EXECUTION_FENCE_UNREADABLE")
UNREADABLE = "IDEMPOTENT_START_UNREADABLE"
UPDATE = f"{RESERVATIONS}.UPDATE"
MONTH_S = 31 * 86_400


async def last(stage: Stage, first: Answer, *, heals: bool) -> None:
    """Ask until an answer is final: it is the run, or for good that nobody knows of it.

    Args:
        stage: where.
        first: what was answered first; one that shows the run leaves nothing to heal.
        heals: whether the next retry gets the key back.
    """
    stage.world.end_faults()
    final = await stage.until_done("key-1")
    if heals or first.status == 200:
        assert final.status == 200, f"the key did not heal: {final.status} {final.code}"
    else:
        lost = final.code == "IDEMPOTENT_START_UNRESOLVABLE"
        assert lost, f"nobody can know what became of the run, and it was {final.status}"


def state_of(world: World) -> str | None:
    """Return the state of the row, as it is stored."""
    row = row_of(world, "key-1")
    return None if row is None else row.state


def run_of(world: World) -> str | None:
    """Return the run that the row means, as it is stored."""
    row = row_of(world, "key-1")
    return None if row is None else row.run_id


@scenario(
    faults=(
        LoseQueryReply(f"{RESERVATIONS}.CREATE", at_most=1),
        LoseQueryReply(f"{RESERVATIONS}.INSERT", at_most=1),
    ),
    properties=(*STRICTLY, the_rows_do_not_answer),
    parameters=EACH,
)
async def insert_unheard(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L1: the row is there, and its maker does not know: the next retry starts its run (3)."""
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1")
    run_id = run_of(world)
    if first.status != 200:
        # None: what was lost is the news that there is no table yet.
        assert first.code == UNREADABLE
        assert state_of(world) in (None, "reserved")
    await last(stage, first, heals=True)
    assert run_of(world) == run_id or run_id is None, "the retry made the row mean another run"


@scenario(
    faults=(
        FailQuery(f"{RESERVATIONS}.SELECT", at_most=1, causes=("locked", "masked")),
        LoseQuery(f"{RESERVATIONS}.SELECT", at_most=1),
    ),
    properties=(*STRICTLY, the_rows_do_not_answer),
    parameters=EACH,
)
async def readback_failed(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L2: the row cannot be read back: it is not taken for absent, and the next retry starts it.

    Case 14: whatever the failure is, it is 503 and nothing is started.
    """
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1")
    run_id = run_of(world)
    if first.status != 200:
        assert (first.status, first.code, state_of(world)) == (503, UNREADABLE, "reserved")
    await last(stage, first, heals=True)
    assert run_of(world) == run_id, "the retry made the row mean another run"


@scenario(
    faults=(LoseQueryReply(UPDATE, at_most=1),),
    properties=(*STRICTLY, the_rows_do_not_answer),
    parameters=EACH,
)
async def claim_unheard(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L3: the claim landed, and whoever claimed does not know: only the sealer gets it back."""
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1")
    if first.status != 200:
        assert (first.code, state_of(world)) == (UNREADABLE, "started")
    await last(stage, first, heals=design == "sealer")


@scenario(faults=at_runs(LoseRequest), properties=(*STRICTLY, a_start_is_lost), parameters=WIRED)
async def start_unheard(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L4: the start never arrives where its run would live: only the sealer gets the key back."""
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1")
    if first.status != 200:
        assert state_of(world) == "started"
    await last(stage, first, heals=design == "sealer")


@scenario(
    faults=(*at_runs(LoseReply), *at_runs(Crash)),
    properties=(*STRICTLY, a_run_is_unheard),
    parameters={**EACH, "workflow": ("order", "approval")},
)
async def run_unheard(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    workflow: str = "order",
) -> None:
    """L5: it ran, and nobody heard: what it came to is shown, and it never runs again (4)."""
    stage = await set_stage(world, topology, design)
    await stage.start("key-1", workflow=workflow)
    await stage.calm()
    row = row_of(world, "key-1")
    found = None if row is None else run_row(world, row.run_id)
    final = await stage.until_done("key-1", workflow=workflow)
    if found is not None and found[0] not in ("pending", "running"):
        assert final.status == 200, f"the run is {found[0]}, and was not shown: {final.code}"


@scenario(
    faults=at_runs(LoseReply),
    properties=(*STRICTLY, refused_runs_leave_nothing, a_refusal_is_lost),
    parameters=WIRED,
)
async def refusal_unheard(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L6: the refusal is lost: the router keeps the claim; whoever refused gives it back itself."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    first = await stage.start("key-1")
    is_heard = first.code in FENCED
    expected = "reserved" if is_heard or design != "router" else "started"
    assert state_of(world) == expected, f"the row is {state_of(world)}, not {expected}"
    await stage.surely_move("draining", "open")
    await last(stage, first, heals=expected == "reserved")


async def refused(stage: Stage) -> Answer:
    """Start the key while the deployment drains, and open it again; returns what was answered."""
    await stage.surely_move("open", "draining")
    answer = await stage.start("key-1")
    assert answer.status == 503, f"a drained deployment answered {answer.status}"
    await stage.surely_move("draining", "open")
    return answer


@scenario(
    faults=(LoseQuery(UPDATE, at_most=1), FailQuery(UPDATE, at_most=1, causes=("locked",))),
    properties=(*STRICTLY, refused_runs_leave_nothing, left_claims_are_logged, a_release_is_lost),
    parameters=EACH,
)
async def release_unapplied(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L7: the release does not land: the caller is told of the fence all the same (23).

    Who looks for the key finds it in the log (8.6); only the sealer gets it back.
    """
    stage = await set_stage(world, topology, design)
    first = await refused(stage)
    is_left = state_of(world) == "started"
    if is_left:
        assert first.code == "EXECUTION_FENCED", f"the refusal was replaced: {first.code}"
        told = world.ledger.count("log start-reservation-rollback-failed")
        assert told == 1, f"a claim is left, and the log says so {told} times"
    await last(stage, first, heals=not is_left or design == "sealer")


@scenario(
    faults=(LoseQueryReply(UPDATE, at_most=1),),
    properties=(
        *STRICTLY,
        refused_runs_leave_nothing,
        left_claims_are_logged,
        a_failed_release_has_landed,
    ),
    parameters=EACH,
)
async def release_unheard(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L8: the release lands, and nobody knows: the log speaks of a failure, the key works."""
    stage = await set_stage(world, topology, design)
    first = await refused(stage)
    if first.code == "EXECUTION_FENCED":
        assert state_of(world) == "reserved"
        await last(stage, first, heals=True)
    else:
        # It was the answer of the claim that was lost (L3).
        await last(stage, first, heals=design == "sealer")


@scenario(
    faults=tuple(Crash(who, at_most=1) for who in ("RunRouter", "AgentFront", "RunProcess")),
    properties=(*STRICTLY, left_claims_are_logged, a_claim_is_left),
    parameters=EACH,
)
async def router_dies(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L9: the router dies before its release: the claim is left, unless somebody else gave back."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    first = await stage.start("key-1")
    await trio.sleep(60)
    is_left = state_of(world) == "started"
    assert first.code != "EXECUTION_FENCED" or not is_left, "refused, and not given back"
    await stage.surely_move("draining", "open")
    await last(stage, first, heals=not is_left or design == "sealer")


@scenario(
    faults=(LoseQuery(UPDATE, at_most=1), FailQuery(UPDATE, at_most=1, causes=("locked",))),
    properties=(*STRICTLY, a_key_is_not_settled),
    parameters=EACH,
)
async def settle_lost(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L10: the run has ended and its key is not settled: it is shown, and the purge settles it.

    Cases 5 and 52: a row that says `started` does not stand in the way of a result; when its run is
    purged it is spent, its age counts from then, and it survives the pass.
    """
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1")
    await last(stage, first, heals=True)
    is_unsettled = state_of(world) == "started"
    await trio.sleep(MONTH_S)
    purged = await purge(stage)
    assert purged["runs"] == 1, f"{purged['runs']} runs were purged"
    assert purged["spent"] == is_unsettled
    if is_unsettled:
        assert state_of(world) == "terminal", "the row did not survive the pass of its run"
        answer = await stage.start("key-1")
        assert answer.code == "IDEMPOTENT_START_ALREADY_SETTLED", f"it was {answer.status}"


@scenario(
    faults=(LoseQueryReply(f"{FENCE}.UPDATE", at_most=1),),
    properties=(*STRICTLY, refused_runs_leave_nothing, a_proof_is_unheard),
    parameters=EACH,
)
async def proof_unheard(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """L11: the proof is bound to its run, and nobody knows: the same key starts that very run."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "proof-only", "key-1")
    first = await stage.start("key-1")
    run_id = run_of(world)
    assert fence_of(world).proof_run_id == run_id, "the slot is not the run's"
    if first.status != 200:
        assert (first.code, state_of(world)) == (FENCED[1], "reserved")
    await last(stage, first, heals=True)
    assert fence_of(world).proof_run_id == run_id == run_of(world)


STORIES = (
    claim_unheard,
    insert_unheard,
    proof_unheard,
    readback_failed,
    refusal_unheard,
    release_unapplied,
    release_unheard,
    router_dies,
    run_unheard,
    settle_lost,
    start_unheard,
)
"""One for each row."""

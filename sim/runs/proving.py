"""A deployment that is locked but for one proof: whose the slot is, and how it is lost (5.3)."""

import trio

from ..faults import FailQuery, SlowQuery
from ..scenario import scenario
from ..world import World
from .bystanders import is_on_time, resume, row_of, run_row
from .deployment import Answer, Design, Topology, set_stage
from .properties import STRICTLY, refused_runs_leave_nothing
from .reached import a_proof_is_not_bound_again, a_start_is_shut_out
from .setting import EACH, FENCE
from .watching import Fence, fence_of

__all__ = ["STORIES", "proof_bound_again", "proof_goes_on", "proof_moved"]

FENCED = "EXECUTION_FENCED"
KEY = "the-proof"


@scenario(
    faults=(SlowQuery(f"{FENCE}.SELECT", at_most=1),),
    properties=(*STRICTLY, refused_runs_leave_nothing, a_start_is_shut_out),
    parameters=EACH,
)
async def proof_moved(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """The fence moves between the reading that admits the proof and its binding: refused (36)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "proof-only", KEY)
    answers: list[Answer] = []

    async def start() -> None:
        answers.append(await stage.start(KEY))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(start)
        await trio.sleep(0.6)
        await stage.surely_move("proof-only", "draining")
    (answer,) = answers
    row = row_of(world, KEY)
    assert row is not None
    assert fence_of(world) == Fence("draining", None, None)
    is_slow = is_on_time(world) and sum(world.choices.struck) > 0
    if is_slow or answer.status != 200:
        assert (answer.status, answer.code, row.state) == (503, FENCED, "reserved")
    await stage.surely_move("draining", "open")
    final = await stage.until_done(KEY)
    assert (final.status, final.run_id) == (200, row.run_id)


@scenario(properties=STRICTLY, parameters=EACH)
async def proof_goes_on(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Two runs wait for a word: behind a lock the proof's goes on, and the other one stays (37)."""
    stage = await set_stage(world, topology, design)
    other = await stage.start("another", workflow="approval")
    await stage.surely_move("open", "proof-only", KEY)
    proof = await stage.start(KEY, workflow="approval")
    assert other.run_id is not None
    assert proof.run_id is not None
    assert fence_of(world).proof_run_id == proof.run_id
    refused = await resume(stage, other.run_id, workflow="approval")
    assert (refused.status, refused.code) == (503, FENCED)
    assert (run_row(world, other.run_id) or [None])[0] == "suspended"
    done = await resume(stage, proof.run_id, workflow="approval")
    assert (done.status, done.body.get("status")) == (200, "success")


@scenario(
    faults=(FailQuery(f"{FENCE}.UPDATE", at_most=1, causes=("locked",), weight=4),),
    properties=(*STRICTLY, a_proof_is_not_bound_again),
    parameters=EACH,
)
async def proof_bound_again(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """The fence moves away and comes back: the proof's replay binds its run again (38, 39).

    Leaving clears key and run; the replay of another key changes nothing; a binding that fails does
    not stop the replay; with a new key the run of the old one is no proof any more.
    """
    stage = await set_stage(world, topology, design)
    await stage.start("another")
    await stage.surely_move("open", "proof-only", KEY)
    proof = await stage.until_done(KEY)
    assert fence_of(world) == Fence("proof-only", KEY, proof.run_id)
    await stage.surely_move("proof-only", "open")
    assert fence_of(world) == Fence("open", None, None)
    await stage.surely_move("open", "proof-only", KEY)
    assert fence_of(world) == Fence("proof-only", KEY, None)
    replayed = await stage.start("another")
    assert replayed.status == 200
    assert fence_of(world).proof_run_id is None, "another key's run was bound as the proof"
    struck = sum(world.choices.struck)
    replayed = await stage.start(KEY)
    assert (replayed.status, replayed.run_id) == (200, proof.run_id)
    if sum(world.choices.struck) == struck:
        assert fence_of(world).proof_run_id == proof.run_id, "the replay did not bind its run"
    await stage.surely_move("proof-only", "proof-only", "another-proof")
    assert fence_of(world) == Fence("proof-only", "another-proof", None)


STORIES = (proof_bound_again, proof_goes_on, proof_moved)
"""Cases of section 5.3 beside those of a drain."""

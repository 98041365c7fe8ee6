"""Races for one key: who made its row, who claimed it, who is too late (section 5.1)."""

from functools import partial
from typing import Any

import trio

from ...actors.runs import StepContext, Workflow
from ..faults import SlowQuery
from ..scenario import scenario
from ..world import World
from .bystanders import RUN, dead_router, is_on_time, kill, reserve, rewire, row_of
from .deployment import WORKFLOWS, Answer, Design, Stage, Topology, set_stage
from .properties import (
    CLAIMS,
    STRICTLY,
    answers_fit,
    no_key_is_stranded,
    refused_means_untouched,
    refused_runs_leave_nothing,
)
from .reached import a_claim_is_taken_for_lost, somebody_is_late
from .setting import EACH, RESERVATIONS, start_as

__all__ = [
    "STORIES",
    "abandoned_row",
    "claim_window",
    "claimed_by_the_dead",
    "late_release",
    "outrun",
    "overtaken",
    "restarted",
    "touched_row",
]

PENDING = "IDEMPOTENT_START_PENDING"
UNRESOLVABLE = "IDEMPOTENT_START_UNRESOLVABLE"


async def unhurried(run: StepContext) -> dict[str, str]:
    """Charge somebody, and take three seconds for it."""
    run.effect("began", (run.payload["key"], run.run_id))
    await run.sleep(3)
    return {"paid": run.run_id}


async def keep(stage: Stage, answers: list[Answer], key: str, workflow: str = "order") -> None:
    """Start *key* once, and keep the answer."""
    answers.append(await stage.start(key, workflow=workflow))


@scenario(properties=STRICTLY, parameters=EACH)
async def abandoned_row(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Whoever made the row died: the next caller starts its run, and none of its own (case 3)."""
    stage = await set_stage(world, topology, design)
    await reserve(stage, "key-1")
    final = await stage.until_done("key-1")
    assert (final.status, final.run_id) == (200, RUN)


@scenario(properties=(*CLAIMS, answers_fit), parameters=EACH)
async def claimed_by_the_dead(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Five claim at once, one wins and dies: what left nothing runs no more by itself (7, 16)."""
    stage = await set_stage(world, topology, design)
    await reserve(stage, "key-1")
    dead, claims = dead_router(stage), list[Any]()

    async def claim(run_id: str) -> None:
        claims.append(await dead.claim("key-1", run_id))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(claim, RUN)
        nursery.start_soon(claim, "another-run")
    won = [each for each in claims if each is not None]
    assert len(won) == 1, f"{len(won)} of five claims won"
    await trio.sleep(900)
    final = await stage.until_done("key-1")
    if design == "sealer":
        assert (final.status, final.run_id) == (200, RUN)
    else:
        assert final.code == UNRESOLVABLE, f"the answer was {final.status} {final.code}"
        assert not world.ledger.count("began")


@scenario(
    faults=(SlowQuery(f"{RESERVATIONS}.SELECT", at_most=1),),
    properties=(*STRICTLY, somebody_is_late),
    parameters={**EACH, "workflow": ("order", "unhurried")},
)
async def overtaken(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    workflow: str = "order",
) -> None:
    """Whoever made the row is overtaken before its claim: it starts nothing (2, 17).

    It is told to wait while the winner's run executes, and shown the run when that has ended.
    """
    stage = await set_stage(world, topology, design)
    known = (*WORKFLOWS, Workflow("unhurried", (unhurried,)))
    rewire(stage, workflows=known, agents=known)
    answers: list[Answer] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep, stage, answers, "key-1", workflow)
        await trio.sleep(0.3)
        nursery.start_soon(keep, stage, answers, "key-1", workflow)
    assert world.ledger.count("began") == 1
    row = row_of(world, "key-1")
    assert row is not None
    assert [each.run_id for each in answers] == [row.run_id] * 2
    told = [each.code for each in answers if each.status != 200]
    if is_on_time(world):
        fine = told == [PENDING] if workflow == "unhurried" else told in ([], [PENDING])
        assert fine, f"one start and one of those who ask, and the answers are {told}"


@scenario(
    faults=(SlowQuery("flowsafe_runs.SELECT", at_most=1),),
    properties=(*STRICTLY, somebody_is_late),
    parameters=EACH,
)
async def outrun(world: World, topology: Topology = "objects", design: Design = "router") -> None:
    """Two find a row that nobody has claimed, and one is slow: it is shown what the other ran (17).

    It loses the claim when the run has ended already, and looks again before any verdict.
    """
    stage = await set_stage(world, topology, design)
    await reserve(stage, "key-1", workflow="quick")
    answers: list[Answer] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep, stage, answers, "key-1", "quick")
        await trio.sleep(0.3)
        nursery.start_soon(keep, stage, answers, "key-1", "quick")
    assert [each.run_id for each in answers] == [RUN, RUN]
    told = [each.code for each in answers if each.status != 200]
    # A claim whose start is on its way may be taken for lost (9); a run that has ended may not.
    fine = told in ([], [PENDING], [UNRESOLVABLE])
    assert fine, f"a run has ended, and somebody is told {told}"
    assert world.ledger.count("began") == 1


@scenario(
    faults=(SlowQuery(f"{RESERVATIONS}.UPDATE", at_most=1),),
    properties=(*STRICTLY, a_claim_is_taken_for_lost),
    parameters=EACH,
)
async def claim_window(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Somebody asks between a claim and its start: a false alarm, and one execution (case 9)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(0.3)
        answer = await stage.start("key-1")
        # The sealer takes such a claim for lost, and refuses it for good: the other one starts.
        allowed = (PENDING, UNRESOLVABLE, *(["RUN_ADMISSION_CONFLICT"] * (design == "sealer")))
        fine = answer.status == 200 or answer.code in allowed
        assert fine, f"the answer was {answer.status} {answer.code}"
    final = await stage.until_done("key-1")
    row = row_of(world, "key-1")
    assert row is not None
    assert (final.status, final.run_id) == (200, row.run_id)
    assert world.ledger.count("began") == 1


@scenario(
    faults=(
        SlowQuery(f"{RESERVATIONS}.CREATE", at_most=1),
        SlowQuery(f"{RESERVATIONS}.INSERT", at_most=1),
    ),
    properties=(*STRICTLY, refused_runs_leave_nothing, somebody_is_late),
    parameters=EACH,
)
async def touched_row(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A row comes back before its maker reads it: that one is no creator any more (case 19)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        await trio.sleep(0.3)
        answer = await stage.start("key-1")
        if is_on_time(world):
            assert answer.code == "EXECUTION_FENCED", f"it was told {answer.status} {answer.code}"
        await stage.surely_move("draining", "open")
    final = await stage.until_done("key-1")
    assert final.status == 200
    assert world.ledger.count("began") == 1


@scenario(properties=STRICTLY, parameters=EACH)
async def late_release(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A release comes when the key is spent: it changes nothing, and nobody may start it (24)."""
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1")
    before = row_of(world, "key-1")
    assert before is not None
    assert not await dead_router(stage).release("key-1", before.run_id)
    assert await dead_router(stage).claim("key-1", before.run_id) is None
    assert row_of(world, "key-1") == before
    again = await stage.start("key-1")
    assert (again.status, again.run_id) == (200, first.run_id)
    assert world.ledger.count("began") == 1


@scenario(
    properties=(*CLAIMS, answers_fit, refused_means_untouched, no_key_is_stranded),
    parameters={**EACH, "is_over": (False, True)},
)
async def restarted(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    is_over: bool = True,
) -> None:
    """Every process is killed, while a run executes or when it is over: it runs once (case 4)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(stage.start, "key-1"))
        await trio.sleep(0.6 if is_over else 0.2)
        kill(world)
    await trio.sleep(90)
    final = await stage.until_done("key-1")
    if is_on_time(world):
        # A leg that had begun and left nothing: nobody may try again but a person (L5).
        expected = (200, None) if is_over else (409, UNRESOLVABLE)
        assert (final.status, final.code) == expected
        assert world.ledger.count("began") == 1


STORIES = (
    abandoned_row,
    claim_window,
    claimed_by_the_dead,
    late_release,
    outrun,
    overtaken,
    restarted,
    touched_row,
)
"""Races of section 5.1, and a release of section 5.2 that is late."""

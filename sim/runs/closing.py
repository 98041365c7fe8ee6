"""A fence that closes at one moment of a start, and refusals that are not understood (5.2)."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import trio

from ..faults import FailQuery
from ..scenario import scenario
from ..world import World
from .bystanders import (
    RUN,
    close_when_decided,
    dead_router,
    is_on_time,
    kill,
    reserve,
    row_of,
    run_row,
)
from .deployment import Answer, Design, Stage, Topology, set_stage
from .homes import garbled_homes, slow_homes, slow_registry
from .properties import (
    CLAIMS,
    STRICTLY,
    answers_fit,
    not_started_while_live,
    refused_means_untouched,
    refused_runs_leave_nothing,
)
from .reached import a_recovery_fails, a_start_is_shut_out, somebody_has_to_wait
from .setting import EACH, STEADFAST, WIRED
from .watching import fence_of

__all__ = [
    "STORIES",
    "closed_behind_claim",
    "closed_between_gates",
    "closed_during_run",
    "killed_while_shut",
    "recovery_unread",
    "release_window",
    "started_twice",
    "unreadable_refusal",
]

FENCED = "EXECUTION_FENCED"
PENDING = "IDEMPOTENT_START_PENDING"
UNRESOLVABLE = "IDEMPOTENT_START_UNRESOLVABLE"


async def reopened(stage: Stage, key: str) -> None:
    """Open the deployment again: the key runs, once, under the id that it had."""
    row = row_of(stage.world, key)
    assert row is not None
    await stage.surely_move(fence_of(stage.world).state, "open")
    final = await stage.until_done(key)
    assert (final.status, final.run_id) == (200, row.run_id)
    assert stage.world.ledger.count("began", (key, row.run_id)) == 1


@asynccontextmanager
async def closing_behind(stage: Stage, after_s: float, state: str) -> AsyncGenerator[list[Answer]]:
    """Start the key, let the fence go to *state* so much later, and then what is inside happen.

    Yields the answer of the start, which is there when everything has ended.
    """
    answers: list[Answer] = []

    async def start() -> None:
        answers.append(await stage.start("key-1"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(start)
        await trio.sleep(after_s)
        await stage.surely_move("open", state)
        yield answers


def is_fenced(answer: Answer) -> bool:
    """Whether *answer* is the refusal of a shut fence, complete."""
    return (answer.status, answer.code) == (503, FENCED)


@scenario(properties=(*STRICTLY, refused_runs_leave_nothing, a_start_is_shut_out), parameters=EACH)
async def closed_behind_claim(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """The fence closes between a claim and its start: the claim goes back (20, 21)."""
    stage = await set_stage(world, topology, design)
    close_when_decided(stage)
    answer = await stage.start("key-1")
    assert is_fenced(answer), f"the answer was {answer.status} {answer.code}"
    row = row_of(world, "key-1")
    assert row is not None
    assert row.state == "reserved", f"the key is left {row.state}"
    await reopened(stage, "key-1")


@scenario(properties=STRICTLY, parameters=EACH)
async def closed_during_run(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """The fence closes while a run executes: it completes, and the next start is refused (25)."""
    stage = await set_stage(world, topology, design)
    async with closing_behind(stage, 0.2, "migration-locked") as answers:
        pass
    if is_on_time(world):
        assert [each.status for each in answers] == [200], "a run past its gate was preempted"
    refused = await stage.start("key-2")
    assert is_fenced(refused), f"the answer was {refused.status} {refused.code}"
    await reopened(stage, "key-2")


@scenario(
    properties=(
        *STRICTLY,
        refused_runs_leave_nothing,
        not_started_while_live,
        somebody_has_to_wait,
    ),
    parameters=WIRED,
)
async def closed_between_gates(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """The fence closes when the object has written: that is undone, the claim goes back (26).

    While it is being undone the start is still registered: whoever asks is told to wait (43).
    """
    slow_registry(world)
    stage = await set_stage(world, topology, design)
    async with closing_behind(stage, 0.002, "draining") as answers:
        await trio.sleep(0.05)
        meanwhile = await stage.start("key-1")
    if is_on_time(world):
        assert meanwhile.code == PENDING, f"it was told {meanwhile.status} {meanwhile.code}"
        assert [is_fenced(each) for each in answers] == [True]
        row = row_of(world, "key-1")
        assert row is not None
        assert row.state == "reserved", f"the key is left {row.state}"
    await reopened(stage, "key-1")


@scenario(
    faults=(FailQuery("flowsafe_runs.SELECT", at_most=1, causes=("locked",), weight=4),),
    properties=(
        *CLAIMS,
        answers_fit,
        refused_means_untouched,
        refused_runs_leave_nothing,
        a_recovery_fails,
    ),
    parameters=WIRED,
)
async def recovery_unread(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """What a refused start has left cannot be read: the refusal goes out all the same (47).

    The claim goes back; the journal stays, and the next start, or the alarm, settles it first.
    """
    slow_registry(world)
    stage = await set_stage(world, topology, design)
    async with closing_behind(stage, 0.002, "draining") as answers:
        pass
    world.end_faults()
    (answer,) = answers
    row = row_of(world, "key-1")
    assert row is not None
    if answer.code == FENCED:
        assert row.state == "reserved", f"the key is left {row.state}"
        await reopened(stage, "key-1")
    else:
        # It came before the drain; or what failed was the look for the run (case 22).
        assert answer.status == 200 or row.state == "started", (
            f"the claim went back for {answer.status} {answer.code}"
        )


@scenario(properties=(*STRICTLY, refused_runs_leave_nothing), parameters=EACH)
async def killed_while_shut(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Every process is killed while the fence is shut: a fresh one refuses by its row (28)."""
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    for _ in range(2):
        answer = await stage.start("key-1")
        assert is_fenced(answer), f"the answer was {answer.status} {answer.code}"
        kill(world)
    await reopened(stage, "key-1")


@scenario(properties=(*STRICTLY, refused_runs_leave_nothing), parameters=WIRED)
async def release_window(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A refusal is on its way, and somebody asks: at worst a false alarm, which heals (49)."""
    slow_homes(world)
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(stage.start, "key-1"))
        await trio.sleep(0.5)
        meanwhile = await stage.start("key-1")
        if not is_on_time(world):
            assert meanwhile.code in (FENCED, PENDING, UNRESOLVABLE)
        elif design == "router":
            assert meanwhile.code == UNRESOLVABLE, f"it was told {meanwhile.code}"
        else:
            assert is_fenced(meanwhile), f"it was told {meanwhile.status} {meanwhile.code}"
    await reopened(stage, "key-1")


@scenario(
    properties=(*CLAIMS, answers_fit, refused_means_untouched, refused_runs_leave_nothing),
    parameters=WIRED,
)
async def unreadable_refusal(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A refusal that cannot be read is none: the router keeps the claim (46).

    Whoever refused has given back what it was asked to start, whatever becomes of its answer.
    """
    garbled_homes(world)
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    answer = await stage.start("key-1")
    assert answer.code != FENCED, "words that nobody can read were taken for a refusal"
    row = row_of(world, "key-1")
    assert row is not None
    if design == "router":
        assert row.state == "started", "a claim went back for what nobody could read"
        await stage.surely_move("draining", "open")
        final = await stage.until_done("key-1")
        assert final.code == UNRESOLVABLE, f"the answer was {final.status} {final.code}"
        assert run_row(world, row.run_id) is None
    else:
        assert row.state == "reserved", f"the key is left {row.state}"
        await reopened(stage, "key-1")


@scenario(properties=CLAIMS, parameters={**WIRED, "design": STEADFAST})
async def started_twice(
    world: World, topology: Topology = "objects", design: Design = "holder"
) -> None:
    """A start comes again when its run died half-way and the fence is shut: no way back (41)."""
    stage = await set_stage(world, topology, design)
    await reserve(stage, "key-1")
    claimed = await dead_router(stage).claim("key-1", RUN)
    assert claimed is not None
    told = (("key", "key-1"), ("runId", RUN), ("stamp", claimed.updated_at))
    world.ledger.note("log start-decided", told)
    start = partial(stage.send_start, "key-1", RUN, stamp=claimed.updated_at)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start)
        await trio.sleep(0.2)
        kill(world)
        await stage.surely_move("open", "draining")
        again = await start()
        assert is_fenced(again), f"the answer was {again.status} {again.code}"
    row = row_of(world, "key-1")
    assert row is not None
    if is_on_time(world):
        assert (row.state, row.start_token is None) == ("started", False)
        await stage.surely_move("draining", "open")
        final = await stage.until_done("key-1")
        assert final.code == UNRESOLVABLE, f"the answer was {final.status} {final.code}"
        assert world.ledger.count("began") == 1


STORIES = (
    closed_behind_claim,
    closed_between_gates,
    closed_during_run,
    killed_while_shut,
    recovery_unread,
    release_window,
    started_twice,
    unreadable_refusal,
)
"""Cases of section 5.2, and of 5.4 where the premise is thin."""

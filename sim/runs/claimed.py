"""Stories of keys: asked for by many, asked for again, lost, and what makes no sense."""

from collections.abc import Mapping
from typing import Any, ClassVar

import trio

from ...actors.runs import Owner
from ..faults import (
    FailQuery,
    LoseQuery,
    LoseQueryReply,
)
from ..scenario import scenario
from ..world import World
from .deployment import Design, Topology, set_stage
from .properties import (
    ANSWERS,
    CLAIMS,
    EVERYWHERE,
    answers_fit,
    refused_means_untouched,
)
from .setting import EACH, RESERVATIONS, start_as

__all__ = [
    "claim_lost",
    "corrupt_row",
    "first_calls",
    "much_later",
    "retried",
    "start_fails",
    "unkeyed",
]


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
    stage = await set_stage(world, topology, design, request_context=policy if is_policy else None)
    workflow = "refusing" if failure == "step" else "order"
    for _ in range(2):
        await stage.start("key-1", workflow=workflow)


@scenario(
    faults=(
        FailQuery("flowsafe_runs.SELECT", at_most=2),
        FailQuery(f"{RESERVATIONS}.SELECT", at_most=1),
    ),
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
        answer = await stage.start("key-1", workflow="long")
        assert answer.code == "IDEMPOTENT_START_PENDING", f"it was answered {answer.code}"


@scenario(properties=EVERYWHERE, parameters=EACH)
async def unkeyed(world: World, topology: Topology = "objects", design: Design = "router") -> None:
    """A start without a key touches no reservation (2.6)."""
    stage = await set_stage(world, topology, design)
    await stage.start(None)
    await stage.start(None, workflow="approval")

"""What stories have in common: parameters, tables, and single moves of their participants."""

from typing import Any

import trio

from ...actors import DurableObject
from ...actors.runs import RunObject, RunProcess, ThreadObject
from ..fault import Fault
from .deployment import DESIGNS, TOPOLOGIES

__all__ = [
    "EACH",
    "FENCE",
    "OBJECTS",
    "RESERVATIONS",
    "STEADFAST",
    "TOPOLOGIES",
    "WIRED",
    "at_runs",
    "drain_in",
    "finish_as",
    "start_as",
]

EACH: dict[str, Any] = {"topology": TOPOLOGIES, "design": DESIGNS}
WIRED: dict[str, Any] = {"topology": ("objects", "agents"), "design": DESIGNS}
"""Where a message goes between whoever claims and whoever runs."""
STEADFAST: tuple[str, ...] = ("holder", "sealer")
"""Designs that stand every fault; the router has assumptions (8.2)."""


OBJECTS: tuple[type[DurableObject], ...] = (RunObject, ThreadObject)
HOMES = (*OBJECTS, RunProcess)
"""What runs live in: behind a wire, and wherever they may."""

RESERVATIONS = "flowsafe_start_idempotency"


FENCE = "flowsafe_execution_fence"


def at_runs(
    *kinds: type[Fault], at_most: int = 1, homes: tuple[type[DurableObject], ...] = HOMES
) -> tuple[Fault, ...]:
    """Return each kind of fault at whatever runs live in, one for each topology."""
    return tuple(kind(home, at_most=at_most) for kind in kinds for home in homes)


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

"""What stories have in common: parameters, tables, and single moves of their participants."""

from typing import Any

import trio

from .deployment import DESIGNS, TOPOLOGIES

__all__ = [
    "EACH",
    "FENCE",
    "RESERVATIONS",
    "drain_in",
    "finish_as",
    "start_as",
]

EACH: dict[str, Any] = {"topology": TOPOLOGIES, "design": DESIGNS}


RESERVATIONS = "flowsafe_start_idempotency"


FENCE = "flowsafe_execution_fence"


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

"""What the tests of version skew share: levels by name, permits of each kind, stories that hold."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from durasim.actors.fleet import Granted
from durasim.sim import World
from durasim.sim.fleet.acting import Run
from durasim.sim.fleet.fleet import CodeLevel, Fleet
from durasim.wire import content_hash

from .told import told

__all__ = [
    "KEYED",
    "RUN",
    "SHA",
    "drained",
    "every",
    "fenced",
    "holds",
    "keyed_permit",
    "legacy_permit",
    "producer",
]

SHA = content_hash("the original request")
KEYED = "11111111-1111-4111-8111-111111111111"
RUN = Run("run-1", "t")


def level_name(level: CodeLevel) -> str:
    """Return what a test calls a level."""
    return f"L{level.number}"


def every(*levels: CodeLevel) -> pytest.MarkDecorator:
    """One test for each of *levels*."""
    return pytest.mark.parametrize("level", levels, ids=level_name)


def holds(story: Callable[[World], Awaitable[None]], **rest: Any) -> None:
    """Tell *story*; all of it has to hold."""
    result = told(story, **rest)
    assert result.ok, result.failures


def producer(fleet: Fleet) -> dict[str, Any]:
    """Return the newest version as a caller in its code names it."""
    newest = fleet.ground.versions[-1]
    return fleet.deployment(newest).producer.wire()


async def keyed_permit(fleet: Fleet) -> None:
    """Have a keyed permit stored."""
    await fleet.registry("new").begin_keyed(KEYED, SHA, "exec", producer(fleet))


async def legacy_permit(fleet: Fleet) -> str:
    """Have a legacy permit stored; returns its id."""
    return str((await fleet.registry("old").begin_deploy_admission("exec"))["id"])


async def drained(fleet: Fleet) -> None:
    """Have a drain without a fence."""
    said = await fleet.ask("operator", "POST", "/drain", {"minutes": 90}, scope="drain")
    assert isinstance(said, Granted), said


async def fenced(fleet: Fleet) -> None:
    """Have a drain with a fence that was verified."""
    await drained(fleet)
    said = await fleet.ask("operator", "POST", "/deploy-fence", {}, scope="drain")
    assert isinstance(said, Granted), said
    assert said.value["fenceReady"] is True

"""What the checks of progress and of identities reject: each is shown something that may not be."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from durasim.sim import World
from durasim.sim.fleet.fleet import Fleet
from durasim.sim.fleet.inv_identity import IDENTITY
from durasim.sim.fleet.inv_progress import PROGRESS

from .small import NEW, STATE
from .told import told

Wrong = Callable[[Fleet], Awaitable[None]]


def said(fleet: Fleet, event: str, **rest: Any) -> None:
    """Note what a runner does."""
    fleet.ground.note("runner", {"by": "r", "event": event, **rest})


async def began(fleet: Fleet) -> None:
    """Have a runner whose drain lives."""
    fleet.ground.note("deploy", {"by": "r", "force": False, "mode": "registry", "image": None})
    now = fleet.ground.now_ms
    row = {"since": now, "until": now + 5_400_000, "by": "", "reason": ""}
    await fleet.registry("x").keep("drain", row)
    said(fleet, "drain lives")


async def gives_up_early(fleet: Fleet) -> None:
    """Give up after a minute."""
    await began(fleet)
    await trio.sleep(60)
    said(fleet, "report", outcome="failed", code="FENCE_NOT_READY")


async def gives_up_on_quiet(fleet: Fleet) -> None:
    """Give up after an hour in which nothing ran."""
    await began(fleet)
    said(fleet, "check A")
    await trio.sleep(3_600)
    said(fleet, "report", outcome="failed", code="PREFLIGHT_GAVE_UP")


async def refused_on_quiet(fleet: Fleet) -> None:
    """Refuse an attempt though nothing runs."""
    await began(fleet)
    said(fleet, "check A")
    said(fleet, "refused attempt", why="because")


async def not_ready_without_change(fleet: Fleet) -> None:
    """Upload the Worker alone, and not be ready though nothing runs."""
    await began(fleet)
    said(fleet, "check A")
    said(fleet, "check B, upload sent")
    said(fleet, "report", outcome="failed", code="NATIVE_TARGET_UNPROVEN")


async def outage_ends_it(fleet: Fleet) -> None:
    """Give up since the state Worker did not answer for a minute."""
    await began(fleet)
    fleet.break_state_worker()
    await trio.sleep(60)
    fleet.mend_state_worker()
    said(fleet, "report", outcome="failed", code="FENCE_NOT_READY")


async def nobodys_version(fleet: Fleet) -> None:
    """Store a permit that a Worker wrote whom the plane does not know."""
    await fleet.registry("x").keep("deploy:admission:p", {"workerVersion": "nobody"})


async def build_of_another(fleet: Fleet) -> None:
    """Store a fence whose build is not that of its Worker."""
    version = fleet.ground.versions[-1].id
    await fleet.registry("x").keep("drain", {"swapVersion": version, "swapBuild": "other"})


WRONG: tuple[tuple[str, Wrong], ...] = (
    ("LIV-01", gives_up_early),
    ("LIV-01", gives_up_on_quiet),
    ("LIV-02", refused_on_quiet),
    ("LIV-02", not_ready_without_change),
    ("LIV-04", outage_ends_it),
    ("INV-76", nobodys_version),
    ("INV-76", build_of_another),
)


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=lambda each: getattr(each, "__name__", each))
def test_a_check_rejects_what_may_not_be(name: str, wrong: Wrong) -> None:
    """What is wrong is reported, by the check whose sentence it breaks, and by no other."""

    async def story(world: World) -> None:
        await wrong(Fleet(world, NEW, STATE))

    result = told(story, *PROGRESS, *IDENTITY)
    assert [failure.property for failure in result.failures] == [name], result.failures


def test_a_runner_may_give_up_on_a_fleet_that_is_not_quiet() -> None:
    """A run that goes on is a reason, and a final code is one at once."""

    async def story(world: World) -> None:
        fleet = Fleet(world, NEW, STATE)
        fleet.store("Resident", "repo:o/a", {"reg:t": {"runId": "r"}})
        await began(fleet)
        said(fleet, "check A")
        said(fleet, "refused attempt", why="it runs")
        await trio.sleep(3_600)
        said(fleet, "report", outcome="failed", code="PREFLIGHT_GAVE_UP")
        await began(fleet)
        said(fleet, "report", outcome="failed", code="FENCE_ENDPOINT_MISSING")

    result = told(story, *PROGRESS, *IDENTITY)
    assert result.ok, result.failures

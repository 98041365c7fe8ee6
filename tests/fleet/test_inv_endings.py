"""What the checks of endings reject: each is shown something that may not be."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from durasim.actors import WebRequest, WebResponse, Worker
from durasim.sim import World
from durasim.sim.fleet.fleet import CodeLevel, Fleet
from durasim.sim.fleet.inv_endings import ENDINGS

from .small import STATE, SmallRegistry, SmallResident
from .told import told

MINUTE = 60_000
Wrong = Callable[[Fleet], Awaitable[None]]


class LyingRouter(Worker, name="FleetRouter"):
    """Says that a reading was refused and its fence taken back, and shows no audit."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Say so."""
        del request
        fence = {"status": "withdrawn", "fenceId": "f"}
        body = {"fenceReady": False, "deployDiagnostic": {"fence": fence}, "evidence": {}}
        return WebResponse(200, body)


class WaitingResident(SmallResident, name="Resident"):
    """Waits for whatever is asked of it."""

    async def reconcile_for_deploy(self, resource: str, build: str, target: Any) -> Any:
        """Say that it is deferred."""
        del resource, build, target
        return {"result": "deferred"}

    async def keep(self, key: str, row: Any) -> None:
        """Store a row."""
        await self.storage.put(key, row)


LIES = CodeLevel(5, SmallRegistry, WaitingResident, LyingRouter)


def drain(now: int, minutes: int = 60, **rest: Any) -> dict[str, Any]:
    """Return a drain row that begins at *now*."""
    return {"since": now, "until": now + minutes * MINUTE, "by": "", "reason": "", **rest}


def fence(now: int) -> dict[str, Any]:
    """Return a drain row with a fence."""
    return drain(now, swapFence=True, fenceId="f", swapVersion="v", swapAt=now)


async def long_drain(fleet: Fleet) -> None:
    """Keep a drain of two hours."""
    await fleet.registry("x").keep("drain", drain(fleet.ground.now_ms, 120))


async def drain_that_stays(fleet: Fleet) -> None:
    """Leave a drain there for two hours after its end."""
    await fleet.registry("x").keep("drain", drain(fleet.ground.now_ms))
    await trio.sleep(3 * 3_600)


async def lift_without_end(fleet: Fleet) -> None:
    """Keep a drain whose lift was asked, and for which nobody owes a report."""
    await fleet.registry("x").keep("drain", drain(fleet.ground.now_ms, liftAsked=True))


async def whole_and_silent(fleet: Fleet) -> None:
    """Let a replacement become whole, and never report."""
    progress: dict[str, Any] = {
        "build": "b",
        "target": {},
        "cycleIssued": True,
        "containerBeforeCycle": "old",
    }
    member = fleet.resident("x", "repo:o/a")
    await member.keep("image:pending", {"resource": "repo:o/a"})
    await member.keep("image:progress", progress)
    fleet.ground.boot("member-1", "new", "fleet-containers")
    fleet.ground.hydrate("member-1")


async def other_target(fleet: Fleet) -> None:
    """Ask for another target than that of the report that is owed."""
    member = fleet.resident("x", "repo:o/a")
    await member.keep("image:pending", {"resource": "repo:o/a"})
    await member.reconcile_for_deploy("repo:o/a", "b", {"image": "other"})


async def hidden_audit(fleet: Fleet) -> None:
    """Recover a permit, and show nothing of it for hours."""
    audit = {"id": "p", "recoveredAt": fleet.ground.now_ms}
    await fleet.registry("x").keep("deploy:recovered:p", audit)
    await trio.sleep(3_600)
    await fleet.ask("x", "GET", "/deploy-admissions", scope="admin", query={"id": "p"})


async def lost_files(fleet: Fleet) -> None:
    """Stop a container with the only copy of somebody's files."""
    await fleet.resident("x", "repo:o/a").work("t", "write")
    fleet.ground.stop("member-1")


async def ready_on_an_old_image(fleet: Fleet) -> None:
    """Report ready on a target that a retained container does not run."""
    await fleet.resident("x", "repo:o/a").work("t", "write save")
    await fleet.resident("x", "repo:o/a").keep("reg:t", {})
    fleet.ground.note("runner", {"by": "r", "event": "uploaded"})
    ready = {"by": "r", "event": "report", "outcome": "ready", "target": {"image": "new"}}
    fleet.ground.note("runner", ready)


async def late_report(fleet: Fleet) -> None:
    """Say not ready half an hour after the upload."""
    fleet.ground.note("runner", {"by": "r", "event": "uploaded"})
    await trio.sleep(1_800)
    failed = {"by": "r", "event": "report", "outcome": "failed", "target": None}
    fleet.ground.note("runner", failed)


async def fence_left_behind(fleet: Fleet) -> None:
    """Say that a reading was refused, and leave its fence."""
    await fleet.registry("x").keep("drain", fence(fleet.ground.now_ms))
    await fleet.ask("x", "POST", "/deploy-fence", {}, scope="drain")
    await fleet.registry("x").keep("drain", None)


WRONG: tuple[tuple[str, Wrong], ...] = (
    ("LIV-03", long_drain),
    ("LIV-03", drain_that_stays),
    ("LIV-08", lift_without_end),
    ("LIV-08", whole_and_silent),
    ("LIV-09", other_target),
    ("LIV-11", hidden_audit),
    ("LIV-13", lost_files),
    ("LIV-13", ready_on_an_old_image),
    ("LIV-13", late_report),
    ("LIV-14", fence_left_behind),
)


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=lambda each: getattr(each, "__name__", each))
def test_a_check_rejects_what_may_not_be(name: str, wrong: Wrong) -> None:
    """What is wrong is reported, by the check whose sentence it breaks."""

    async def story(world: World) -> None:
        await wrong(Fleet(world, LIES, STATE))

    result = told(story, *ENDINGS)
    assert name in [failure.property for failure in result.failures], result.failures


def test_nothing_is_rejected_where_nothing_happens() -> None:
    """A fleet at rest breaks no sentence."""

    async def story(world: World) -> None:
        Fleet(world, LIES, STATE)

    assert told(story, *ENDINGS).ok

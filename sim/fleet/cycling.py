"""Stories of members on their way to a new image, whose reports are lost, late, doubled or owed.

Source: spec/deploy-fence.md G.5 (G86 to G95, G104 to G106).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import attrs
import trio

from ...actors.fleet import BuildStamp, attempt
from ..faults import Crash, DuplicateRequest, Fault, LoseReply, LoseRequest
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, deploy, detached, ended
from .checks import Reached
from .deploying import closing
from .fleet import Fleet
from .ground import Artifact
from .invariants import EVERYWHERE
from .keeping import drained, refreshed, swept
from .levels import set_fleet
from .plane import APPLICATION, NativeContainer

__all__ = [
    "CYCLE",
    "STORIES",
    "another_build",
    "another_target",
    "crash_at_the_start",
    "debt_for_hours",
    "debt_meets_another",
    "held_first",
    "held_from_outside",
    "hydrates_into_a_debt",
    "native_rows_stay",
    "reports_cross",
    "retained_in_container",
    "skipped_over_debt",
    "slow_hydration",
    "stopped_is_not_back",
    "two_at_once",
    "without_target",
]

A: Final = "repo:o/a"
B: Final = "repo:o/b"
RUN: Final = Run("r1", "t1")
CYCLE: Final[tuple[Fault, ...]] = (
    LoseRequest("Registry.report_image_current", at_most=1),
    LoseReply("Registry.report_image_current", at_most=1),
    LoseReply("Registry.hold_for", at_most=1),
    LoseReply(NativeContainer.stop, at_most=1),
    DuplicateRequest(NativeContainer.stop, at_most=1),
    Crash("Resident", at_most=1),
)
"""Whatever may go wrong between a member, the Registry and a container on this way."""
REPORTED: Final = Reached("a member has reported", "call Registry.report_image_current")


def build_named(fleet: Fleet, name: str) -> str:
    """Have a build of that artifact id, and return it."""
    made: Artifact = fleet.artifact()
    stamp: BuildStamp = attrs.evolve(made.stamp, artifact_id=name)
    fleet.ground.artifacts[name] = attrs.evolve(made, stamp=stamp)
    return name


def selected(fleet: Fleet, image: str | None = None) -> dict[str, Any]:
    """Have the application select *image*, and return its target."""
    if image is not None:
        fleet.ground.select(APPLICATION, image)
    return fleet.ground.application(APPLICATION).wire()


async def reconciled(
    fleet: Fleet,
    build: str,
    target: Mapping[str, Any],
    *,
    times: int = 4,
    pause_s: float = 30,
    who: str = "deployer",
    resource: str = A,
) -> None:
    """Ask a member for *build* and *target*, until it says that it is verified, or some times."""
    member = fleet.resident(who, resource)
    for _ in range(times):
        outcome: Any = await attempt(member.reconcile_for_deploy(resource, build, dict(target)))
        if getattr(outcome, "value", {}).get("verified"):
            return
        await trio.sleep(pause_s)


async def booted(fleet: Fleet, member: str = "member-1") -> None:
    """Have the platform start the container of *member*, which nobody has asked for."""
    container = fleet.world.client("platform").get(NativeContainer, member)
    await attempt(container.start())


async def with_container(world: World) -> Fleet:
    """Set up a fleet that drains, and whose first member's container runs."""
    fleet = set_fleet(world)
    await refreshed(fleet, A, 1)
    await drained(fleet)
    return fleet


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def another_build(world: World) -> None:
    """One commit is built twice, with two images: the second build is another (G86)."""
    fleet = await with_container(world)
    first, second = build_named(fleet, "commit-a@1"), build_named(fleet, "commit-a@2")
    await reconciled(fleet, first, selected(fleet, "image:2"))
    await booted(fleet)
    await trio.sleep(30)
    await reconciled(fleet, second, selected(fleet, "image:3"))
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def another_target(world: World) -> None:
    """The application goes from one version to the next under the same Worker artifact (G87)."""
    fleet = await with_container(world)
    build = build_named(fleet, "commit-a@1")
    await reconciled(fleet, build, selected(fleet, "image:2"))
    await booted(fleet)
    await trio.sleep(30)
    await reconciled(fleet, build, selected(fleet, "image:3"))
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def debt_meets_another(world: World) -> None:
    """A member still owes a report for one target when it is asked for another (G88)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write save")
    await drained(fleet)
    first, second = build_named(fleet, "commit-a@1"), build_named(fleet, "commit-b@1")
    target = selected(fleet, "image:2")
    await reconciled(fleet, first, target, times=2)
    await reconciled(fleet, second, selected(fleet, "image:3"), times=2)
    await detached(fleet, RUN)
    await ended(fleet, RUN)
    await reconciled(fleet, first, target)
    await reconciled(fleet, second, selected(fleet))
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def slow_hydration(world: World) -> None:
    """The replacement takes minutes to become whole, and requests for it go on (G89)."""
    fleet = await with_container(world)
    build, target = build_named(fleet, "commit-a@1"), selected(fleet, "image:2")
    await reconciled(fleet, build, target, times=1, pause_s=1)
    fleet.ground.containers["member-1"].hydrate_s = 100
    await booted(fleet)
    async with trio.open_nursery() as nursery:
        for number in range(3):
            await trio.sleep(20)
            asking = partial(reconciled, who=f"deployer {number}")
            nursery.start_soon(asking, fleet, build, target)
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def stopped_is_not_back(world: World) -> None:
    """A container is stopped, and its replacement never comes up (G90)."""
    fleet = await with_container(world)
    await reconciled(fleet, build_named(fleet, "commit-a@1"), selected(fleet, "image:2"), times=1)
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def held_first(world: World) -> None:
    """A debt begins while the member is refreshed: the drain is held for it before (G91)."""
    fleet = await with_container(world)
    build, target = build_named(fleet, "commit-a@1"), selected(fleet, "image:2")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refreshed, fleet, A, 2)
        await reconciled(fleet, build, target)
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def reports_cross(world: World) -> None:
    """Two callbacks report one debt, and the next debt begins before both are answered (G92)."""
    fleet = await with_container(world)
    build, target = build_named(fleet, "commit-a@1"), selected(fleet, "image:2")
    await reconciled(fleet, build, target, times=1, pause_s=1)
    member = fleet.resident("platform", A)
    async with trio.open_nursery() as nursery:
        await booted(fleet)
        await trio.sleep(5)
        boot = str(fleet.ground.containers["member-1"].boot_id)
        for _ in range(3):
            nursery.start_soon(attempt, member.container_ready(boot))
        await reconciled(fleet, build, target, times=20, pause_s=0.2)
        await reconciled(fleet, build, selected(fleet, "image:3"), times=8, pause_s=0.5)
    await closing(fleet)


@scenario(
    faults=(*CYCLE, DuplicateRequest("Resident.container_ready", at_most=1)),
    properties=(*EVERYWHERE, REPORTED),
    settle_s=8_000,
)
async def hydrates_into_a_debt(world: World) -> None:
    """A container that booted on the old image becomes whole when a debt has begun (found here)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write save")
    await drained(fleet)
    fleet.ground.stop("member-1", "platform")
    fleet.ground.containers["member-1"].hydrate_s = 60
    await booted(fleet)
    await trio.sleep(10)
    build, target = build_named(fleet, "commit-a@1"), selected(fleet, "image:2")
    await reconciled(fleet, build, target, times=4, pause_s=20)
    await detached(fleet, RUN)
    await ended(fleet, RUN)
    await reconciled(fleet, build, target)
    await closing(fleet)


async def posted(fleet: Fleet, target: Mapping[str, Any], who: str = "deployer") -> None:
    """Ask the router to reconcile every member to *target*."""
    stamp = fleet.ground.versions[-1].artifact.stamp
    body = {
        "protocol": 2, "build": stamp.artifact_id, "commit": stamp.commit, "target": dict(target),
    }  # fmt: skip
    await fleet.ask(who, "POST", "/reconcile", body, scope="drain")


@scenario(faults=CYCLE[:2], properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def held_from_outside(world: World) -> None:
    """One member reports while the reconcile that it has answered waits for another (G93)."""
    fleet = await with_container(world)
    await refreshed(fleet, B, 1)
    await drained(fleet)
    target = selected(fleet, "image:2")
    first, second = (fleet.ground.containers[f"member-{n}"] for n in (1, 2))
    first.stop_fails = True
    await posted(fleet, target)
    second.hydrate_s = 60
    await booted(fleet, "member-2")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(posted, fleet, target)
        await trio.sleep(5)
        first.stop_fails = False
        fleet.ground.stop("member-1", "platform")
        await booted(fleet)
    await fleet.ask("deployer", "POST", "/undrain", scope="drain")
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def crash_at_the_start(world: World) -> None:
    """A member dies at any line between the hold and the stop (G94)."""
    fleet = await with_container(world)
    build, target = build_named(fleet, "commit-a@1"), selected(fleet, "image:2")
    await reconciled(fleet, build, target, times=6, pause_s=20)
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def two_at_once(world: World) -> None:
    """Two targets are asked for at once, and each asker waits for its hold (G95)."""
    fleet = await with_container(world)
    first, second = build_named(fleet, "commit-a@1"), build_named(fleet, "commit-b@1")
    before, after = selected(fleet), selected(fleet, "image:2")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: reconciled(fleet, first, before, who="deployer"))
        nursery.start_soon(lambda: reconciled(fleet, second, after, who="other"))
    await closing(fleet)


@scenario(
    faults=CYCLE,
    properties=(*EVERYWHERE, REPORTED),
    parameters={"owed": [True, False]},
    settle_s=8_000,
)
async def without_target(world: World, owed: bool) -> None:
    """A member has progress from before targets, complete or owed (G104)."""
    fleet = set_fleet(world)
    build = build_named(fleet, "commit-a@1")
    rows: dict[str, Any] = {"image:progress": {"build": build, "cycleIssued": True}}
    fleet.store("Resident", A, {**rows, "image:pending": {"resource": A}} if owed else rows)
    await drained(fleet)
    await reconciled(fleet, build, selected(fleet), times=2)
    await booted(fleet)
    await trio.sleep(60)
    await reconciled(fleet, build, selected(fleet))
    await closing(fleet)


@scenario(faults=CYCLE, properties=EVERYWHERE, settle_s=8_000)
async def debt_for_hours(world: World) -> None:
    """A report is owed for three hours, while timers look after the member (G105)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write")
    await drained(fleet)
    await reconciled(fleet, build_named(fleet, "commit-a@1"), selected(fleet, "image:2"), times=1)
    await swept(fleet, A, 18, 600)
    await reconciled(fleet, build_named(fleet, "commit-b@1"), selected(fleet, "image:3"), times=1)
    await closing(fleet)


@scenario(
    faults=CYCLE,
    properties=EVERYWHERE,
    parameters={"work": ["write", "write save"]},
    settle_s=8_000,
)
async def retained_in_container(world: World, work: str) -> None:
    """The image changes under the retained workspace of a run that has ended (G106)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work=work)
    await ended(fleet, RUN)
    await drained(fleet)
    build, target = build_named(fleet, "commit-a@1"), selected(fleet, "image:2")
    await reconciled(fleet, build, target, times=10, pause_s=60)
    await swept(fleet, A, 1, 60)
    await closing(fleet)


@scenario(faults=CYCLE, properties=(*EVERYWHERE, REPORTED), settle_s=8_000)
async def native_rows_stay(world: World) -> None:
    """A member that has worked is reconciled: what it knows of its work stays (L)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write save")
    await detached(fleet, RUN)
    await ended(fleet, RUN)
    await drained(fleet)
    await reconciled(fleet, build_named(fleet, "commit-a@1"), selected(fleet, "image:2"))
    await closing(fleet)


@scenario(faults=CYCLE[:2], properties=EVERYWHERE, settle_s=8_000)
async def skipped_over_debt(world: World) -> None:
    """A Worker alone is deployed while a member owes the report of an earlier image (G101)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write")
    await ended(fleet, RUN)
    await reconciled(fleet, build_named(fleet, "commit-a@1"), selected(fleet, "image:2"), times=1)
    await deploy(fleet, fleet.artifact()).report()
    await closing(fleet)


STORIES: Final = (
    another_build,
    another_target,
    debt_meets_another,
    slow_hydration,
    stopped_is_not_back,
    held_first,
    reports_cross,
    held_from_outside,
    crash_at_the_start,
    two_at_once,
    skipped_over_debt,
    without_target,
    debt_for_hours,
    retained_in_container,
    native_rows_stay,
    hydrates_into_a_debt,
)
"""In the order of their numbers."""

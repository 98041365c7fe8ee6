"""Stories of who may close and lift, of uploads that went wrong, and of what the force cannot do.

The names are those of the races that they tell (spec/deploy-fence.md G.1 and L).
"""

from collections.abc import Mapping
from typing import Any, Final

import trio

from ...actors.fleet import attempt
from ...wire import content_hash
from ..faults import AlarmTwice, LoseReply
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, deploy
from .attempting import IMAGE, newcomers, retained
from .deploying import ANYTHING, closing
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import L0, set_fleet

__all__ = [
    "STORIES",
    "g14_lift_by_the_old_worker",
    "g17_drain_over_a_fence",
    "g20_no_endpoint",
    "g21_lost_upload",
    "g22_new_run_on_an_old_container",
    "g23_lost_verdict",
    "g129_alarm_of_another_drain",
    "g130_debt_over_a_swap",
    "g131_forced_deploy",
    "gl_debt_under_a_fence",
    "gl_fence_expires",
    "gl_reserve_to_the_minute",
    "gl_without_a_credential",
]

DRAIN: Final = {"minutes": 90, "by": "somebody", "reason": "deploy"}


async def now_and_then(fleet: Fleet, path: str, body: Mapping[str, Any], **how: Any) -> None:
    """Ask a route every three seconds, for two minutes."""
    for _ in range(40):
        await trio.sleep(3)
        await fleet.ask("somebody", "POST", path, dict(body), **how)


async def deploy_among(fleet: Fleet, *rest: Any, image: str | None = None) -> None:
    """Deploy while the *rest* goes on."""
    async with trio.open_nursery() as nursery:
        for each in rest:
            nursery.start_soon(each)
        await deploy(fleet, fleet.artifact(image=image)).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g14_lift_by_the_old_worker(world: World) -> None:
    """G14: an undrain that lands on the Worker that set the fence does not lift it."""
    fleet = set_fleet(world)
    await retained(fleet)
    await deploy_among(
        fleet, lambda: now_and_then(fleet, "/undrain", {}, scope="drain"), lambda: newcomers(fleet)
    )


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g17_drain_over_a_fence(world: World) -> None:
    """G17: a second operator's drain does not take the place of a fenced one."""
    fleet = set_fleet(world)
    await retained(fleet)
    await deploy_among(
        fleet,
        lambda: now_and_then(fleet, "/drain", DRAIN, scope="drain"),
        lambda: newcomers(fleet),
    )


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g20_no_endpoint(world: World) -> None:
    """G20: a producer without the fence endpoint is not deployed over."""
    fleet = set_fleet(world, level=L0)
    await deploy(fleet, fleet.artifact()).report()
    await closing(fleet)


@scenario(
    faults=(LoseReply("NativePlane.upload", weight=5), *ANYTHING),
    properties=EVERYWHERE, parameters={"fails": [True, False]}, settle_s=8_000,
)  # fmt: skip
async def g21_lost_upload(world: World, fails: bool) -> None:
    """G21: after an upload of which nobody knows whether it landed there is no second one."""
    fleet = set_fleet(world)
    fleet.ground.containers_fail = fails
    await deploy(fleet, fleet.artifact(image=IMAGE)).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g22_new_run_on_an_old_container(world: World) -> None:
    """G22: the fleet opens when every container is new, and not before."""
    fleet = set_fleet(world)
    await attempt(fleet.resident("engine", "repo:o/a").refresh({"request": "first"}))
    await deploy_among(fleet, lambda: newcomers(fleet), image=IMAGE)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g23_lost_verdict(world: World) -> None:
    """G23: a fence whose ready verdict nobody has got is not stolen by the next attempt."""
    fleet = set_fleet(world)
    await retained(fleet)

    async def lose_verdict() -> None:
        await fleet.ask("nobody", "POST", "/deploy-fence", {}, scope="drain")

    started = deploy(fleet, fleet.artifact(), prepare=lose_verdict)
    await started.report()
    await closing(fleet)


@scenario(faults=(AlarmTwice("Registry"),), properties=EVERYWHERE, settle_s=8_000)
async def g129_alarm_of_another_drain(world: World) -> None:
    """G129: the alarm of a drain that has ended leaves the next one alone."""
    fleet = set_fleet(world)
    await fleet.ask("somebody", "POST", "/drain", {"minutes": 1}, scope="drain")
    await trio.sleep(60.2)
    await deploy_among(fleet, lambda: newcomers(fleet, 30, 0.7))


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, parameters={"force": [True, False]}, settle_s=8_000
)
async def g130_debt_over_a_swap(world: World, force: bool) -> None:
    """G130: a permit whose stack an upload has killed is debt, and stays it."""
    fleet = set_fleet(world)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work_long, fleet)
        await trio.sleep(20)
        if force:
            await deploy(fleet, fleet.artifact(), force=True).report()
        else:
            fleet.upload(fleet.artifact())
    await closing(fleet)


async def work_long(fleet: Fleet) -> None:
    """Work for a quarter of an hour."""
    await begun(fleet, Run("long", "t"), work="write run:900 save")


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, parameters={"level": ["L0", "L5"]}, settle_s=8_000
)
async def g131_forced_deploy(world: World, level: str) -> None:
    """G131: force goes over a busy fleet, and over nothing else."""
    fleet = set_fleet(world, level=L0) if level == "L0" else set_fleet(world)
    if level == "L5":
        await begun(fleet, Run("busy", "t"))

    async def prepare() -> None:
        await trio.sleep(0 if level == "L0" else 78 * 60)

    await deploy(fleet, fleet.artifact(), force=True, prepare=prepare).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def gl_without_a_credential(world: World) -> None:
    """L: who has no credential of drains neither closes nor lifts."""
    fleet = set_fleet(world)
    await retained(fleet)
    await fleet.ask("somebody", "POST", "/drain", DRAIN, scope="read")
    await fleet.ask("somebody", "POST", "/deploy-fence", {})
    await fleet.ask("somebody", "POST", "/undrain", {}, scope="operator")
    await deploy(fleet, fleet.artifact()).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def gl_debt_under_a_fence(world: World) -> None:
    """L: a fenced drain is not lifted while permits stand that nobody has settled."""
    fleet = set_fleet(world)
    await fleet.ask("somebody", "POST", "/drain", DRAIN, scope="drain")
    await fleet.ask("somebody", "POST", "/deploy-fence", {}, scope="drain")
    await trio.sleep(5)
    uploaded = fleet.upload(fleet.artifact())
    producer = fleet.deployment(uploaded).producer.wire()
    permit = "44444444-4444-4444-8444-444444444444"
    await attempt(
        fleet.registry("stranger").begin_keyed(permit, content_hash("x"), "reconcile", producer)
    )
    await fleet.ask("somebody", "POST", "/undrain", {}, scope="drain")
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, parameters={"minutes": [69, 70, 72]}, settle_s=8_000
)
async def gl_reserve_to_the_minute(world: World, minutes: int) -> None:
    """L: twenty minutes are enough, and less is not, wherever it is asked."""
    fleet = set_fleet(world)

    async def prepare() -> None:
        await trio.sleep(minutes * 60)

    await deploy(fleet, fleet.artifact(), prepare=prepare).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def gl_fence_expires(world: World) -> None:
    """L: an upload that takes longer than the drain is never called ready."""
    fleet = set_fleet(world)
    fleet.ground.upload_s = 25 * 60

    async def prepare() -> None:
        await trio.sleep(66 * 60)

    await deploy(fleet, fleet.artifact(), prepare=prepare).report()
    await closing(fleet)


STORIES: Final = (
    g14_lift_by_the_old_worker, g17_drain_over_a_fence, g20_no_endpoint, g21_lost_upload,
    g22_new_run_on_an_old_container, g23_lost_verdict, g129_alarm_of_another_drain,
    g130_debt_over_a_swap, g131_forced_deploy, gl_without_a_credential, gl_debt_under_a_fence,
    gl_reserve_to_the_minute, gl_fence_expires,
)  # fmt: skip
"""All of them."""

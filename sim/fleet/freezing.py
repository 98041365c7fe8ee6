"""Stories of native targets: lists that lag, lines that mislead, changes by somebody else.

The names are those of the races that they tell (spec/deploy-fence.md G.5).
"""

from typing import Any, Final

import attrs
import trio

from ...actors.fleet import Resident, attempt
from ..scenario import scenario
from ..world import World
from .acting import deploy
from .attempting import IMAGE, retained
from .deploying import ANYTHING, closing
from .fleet import Fleet
from .ground import Announces
from .invariants import EVERYWHERE
from .levels import L5, STATE, set_fleet
from .plane import APPLICATION

__all__ = [
    "STORIES",
    "g96_lagging_list",
    "g97_line_of_another",
    "g98_change_by_another",
    "g99_same_image",
    "g100_change_after_reading",
    "g102_old_runner",
    "g103_member_that_reads_otherwise",
    "gl_change_while_reconciling",
]

OTHER_IMAGE: Final = "registry.example/fleet:9"


async def refreshed(fleet: Fleet) -> None:
    """Bring the first member's container up."""
    await attempt(fleet.resident("engine", "repo:o/a").refresh({"request": "first"}))


async def somebody_deploys(fleet: Fleet, after_s: float) -> None:
    """Change the application, so many seconds after the upload has become active."""
    for _ in range(600):
        if len(fleet.ground.versions) > 1:
            break
        await trio.sleep(1)
    await trio.sleep(after_s)
    fleet.ground.select(APPLICATION, OTHER_IMAGE)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000,
    parameters={"build": [True, False], "announces": ["printed", "no image", "absent"]},
)  # fmt: skip
async def g96_lagging_list(world: World, build: bool, announces: Announces) -> None:
    """G96: a list that is forty seconds old is waited for, and proves nothing before."""
    fleet = set_fleet(world)
    fleet.ground.lag_ms = 40_000
    fleet.ground.announces = announces
    await deploy(fleet, fleet.artifact(image=IMAGE), build_mode=build).report()
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000,
    parameters={"announces": ["foreign", "unrecognised", "absent"]},
)  # fmt: skip
async def g97_line_of_another(world: World, announces: Announces) -> None:
    """G97: a line about another application approves no old target."""
    fleet = set_fleet(world)
    fleet.ground.announces = announces
    await deploy(fleet, fleet.artifact(), build_mode=True).report()
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000, parameters={"build": [True, False]}
)
async def g98_change_by_another(world: World, build: bool) -> None:
    """G98: no change was printed, and the reads differ: somebody else has deployed."""
    fleet = set_fleet(world)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(somebody_deploys, fleet, 1)
        await deploy(fleet, fleet.artifact(), build_mode=build).report()
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000,
    parameters={"announces": ["printed", "absent", "foreign"]},
)  # fmt: skip
async def g99_same_image(world: World, announces: Announces) -> None:
    """G99: where the planned image is the one that runs, no later version is waited for."""
    fleet = set_fleet(world)
    await retained(fleet)
    fleet.ground.announces = announces
    await deploy(fleet, fleet.artifact()).report()
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000, parameters={"after_s": [6, 9, 14, 40]}
)
async def g100_change_after_reading(world: World, after_s: int) -> None:
    """G100: what is read last is what was frozen, or nothing is called ready."""
    fleet = set_fleet(world)
    await refreshed(fleet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(somebody_deploys, fleet, after_s)
        await deploy(fleet, fleet.artifact(image=IMAGE)).report()
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000,
    parameters={"lacks": ["target", "build", "commit", "protocol"]},
)  # fmt: skip
async def g102_old_runner(world: World, lacks: str) -> None:
    """G102: a reconcile that lacks a part starts nothing."""
    fleet = set_fleet(world)
    await refreshed(fleet)
    stamp = fleet.ground.versions[-1].artifact.stamp
    order: dict[str, Any] = {
        "protocol": 2, "build": stamp.artifact_id, "commit": stamp.commit,
        "target": fleet.ground.application(APPLICATION).wire(),
    }  # fmt: skip
    del order[lacks]
    await fleet.ask("old runner", "POST", "/reconcile", order, scope="drain")
    await closing(fleet)


class Otherwise(Resident, name="Resident"):
    """A member that lost what it had written: the second one reads as if it had no target."""

    async def deploy_info(self) -> dict[str, Any]:
        """Say what runs here, without the target."""
        info = await super().deploy_info()
        if self.address.name == "repo:o/b":
            info.pop("imageTarget", None)
        return info


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g103_member_that_reads_otherwise(world: World) -> None:
    """G103: what a reconcile has answered is not what a member reads."""
    fleet = Fleet(world, attrs.evolve(L5, resident=Otherwise), STATE, ("repo:o/a", "repo:o/b"))
    await refreshed(fleet)
    await deploy(fleet, fleet.artifact(image=IMAGE)).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def gl_change_while_reconciling(world: World) -> None:
    """L: a target that was frozen stays, whatever somebody else deploys meanwhile."""
    fleet = set_fleet(world)
    await refreshed(fleet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(somebody_deploys, fleet, 9)
        await deploy(fleet, fleet.artifact(image=IMAGE)).report()
    await closing(fleet)


STORIES: Final = (
    g96_lagging_list, g97_line_of_another, g98_change_by_another, g99_same_image,
    g100_change_after_reading, g102_old_runner, g103_member_that_reads_otherwise,
    gl_change_while_reconciling,
)  # fmt: skip
"""All of them."""

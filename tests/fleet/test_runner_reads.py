"""What a deploy reads a second time, and what it never takes for an answer."""

from typing import Any, ClassVar

import attrs
import trio

from durasim.actors import WebResponse
from durasim.actors.fleet import DeployRunner, ImageTarget
from durasim.actors.fleet.codes import refused
from durasim.sim import World
from durasim.sim.fleet.acting import deploy
from durasim.sim.fleet.fleet import BEARERS
from durasim.sim.fleet.plane import APPLICATION, NativeContainer, NativePlane, SimPlane

from .scripts import Scripted, once, scripted, whole_deploy
from .told import told
from .whole import MEMBER, whole_fleet

IMAGE = "registry.example/fleet:2"


class FullPlane(NativePlane, name="NativePlane"):
    """Refuses uploads for certain."""

    async def upload(self, workers: list[str], build: dict[str, Any]) -> dict[str, Any]:
        """Refuse."""
        raise refused("UNDELIVERED", f"{workers} {build}")


def test_an_upload_that_was_refused_for_certain_failed() -> None:
    """Nothing was uploaded, and the fence stays until the drain ends."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        fleet.native.deploy((FullPlane, NativeContainer), {"ground": fleet.ground})
        report = await whole_deploy(fleet, image=IMAGE)
        assert (report["outcome"], report["code"]) == ("failed", "UNDELIVERED")
        assert len(fleet.ground.versions) == 1
        assert (await fleet.registry("a").draining())["swapFence"]

    assert told(story).ok


def test_the_old_source_is_not_taken_for_the_new_one() -> None:
    """Health is asked again until the new build answers."""
    stale = {"commit": "f" * 40, "artifactId": "old"}
    old = WebResponse(200, {"ok": True, "build": stale, "workerVersion": "v"})

    async def story(world: World) -> None:
        fleet = scripted(world, healthz=once(old))
        assert (await whole_deploy(fleet, image=IMAGE))["outcome"] == "ready"
        assert Scripted.seen["/healthz"] == 2

    assert told(story).ok


def test_a_report_that_is_owed_is_no_reason_to_skip() -> None:
    """Reads that are identical prove nothing of a member that still owes its report (G101)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        target = fleet.ground.application(APPLICATION).wire()
        debt = {"resource": MEMBER, "build": "build-2", "target": target, "token": "x"}
        progress = {"build": "build-2", "target": target, "cycleIssued": False}
        fleet.store("Resident", MEMBER, {"image:pending": debt, "image:progress": progress})
        report = await whole_deploy(fleet)
        assert report["outcome"] == "ready"
        assert report["target"] == target

    assert told(story).ok


def test_members_are_read_back_until_all_of_them_say_so() -> None:
    """What the second reading shows counts."""

    async def story(world: World) -> None:
        empty = WebResponse(200, {"ok": True, "count": 0, "residents": []})
        fleet = scripted(world, residents=once(empty))
        assert (await whole_deploy(fleet, image=IMAGE))["outcome"] == "ready"

    assert told(story).ok


def test_an_application_that_cannot_be_read_last_is_read_again() -> None:
    """A deploy that nobody watches tells nobody."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        artifact = fleet.artifact()
        plan = deploy(fleet, artifact).runner._plan  # pyright: ignore[reportPrivateUsage]
        await trio.sleep(200)
        runner = DeployRunner(
            attrs.evolve(plan, build=fleet.artifact().stamp), Once, drain_bearer=BEARERS.drain,
            read_bearer=BEARERS.read,
        )  # fmt: skip
        await world.start(runner, "quiet runner").ended()
        assert runner.report is not None
        assert runner.report.outcome == "ready"

    Once.reads = 0
    assert told(story).ok


class Once(SimPlane):
    """Fails the third read: the last one of a deploy of the Worker alone."""

    reads: ClassVar[int] = 0

    async def read_application(self, name: str) -> ImageTarget:
        """Read, or fail."""
        Once.reads += 1
        if Once.reads == 3:
            raise ValueError("unreadable")
        return await super().read_application(name)

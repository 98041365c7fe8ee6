"""The simulated native side: what it does, and what it says of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from durasim.actors import Program
from durasim.sim import DuplicateRequest, World, scenario, simulate
from durasim.sim.fleet.acting import Run, begun, detached, ended
from durasim.sim.fleet.fleet import FIRST_IMAGE, Fleet
from durasim.sim.fleet.ground import Announces
from durasim.sim.fleet.invariants import EVERYWHERE
from durasim.sim.fleet.levels import set_fleet
from durasim.sim.fleet.plane import APPLICATION, SimPlane

from .small import NEW, small_fleet
from .told import told


class Uploader(Program):
    """Works on the plane."""

    def __init__(self, work: Callable[[SimPlane], Awaitable[None]]) -> None:
        self.work = work

    async def run(self) -> None:
        """Do the work."""
        await self.work(SimPlane(self.objects))


def on_plane(work: Callable[[SimPlane, Fleet], Awaitable[None]], *, seed: int = 1) -> None:
    """Run *work* as a program; it must get through."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        run = world.start(Uploader(lambda plane: work(plane, fleet)), "uploader")
        assert await run.ended() == "done", run.error

    result = told(story, seed=seed)
    assert result.ok, result.failures


def notes(world: World, kind: str) -> list[Any]:
    """Return what was noted."""
    return [entry.value for entry in world.ledger.entries if entry.kind == kind]


def test_an_upload_runs_the_worker_before_its_container_part() -> None:
    """The version is active while the application is still the old one."""

    async def work(plane: SimPlane, fleet: Fleet) -> None:
        artifact = fleet.artifact(NEW, image="image:2")
        before = await plane.read_application(APPLICATION)
        seen: list[Any] = []

        async def look() -> None:
            await trio.sleep(12)
            active = fleet.ground.versions[-1].artifact is artifact
            seen.append((active, fleet.ground.application(APPLICATION)))

        fleet.world.spawn("look", look)
        reply = await plane.upload(("resident",), artifact.stamp.wire())
        assert seen == [(True, before)]
        assert reply.version == fleet.ground.versions[-1].id
        [line] = reply.announcements
        assert (line.application, line.change, line.image) == (APPLICATION, True, "image:2")
        after = await plane.read_application(APPLICATION)
        assert (after.version, after.image) == (before.version + 1, "image:2")

    on_plane(work)


def test_a_failed_container_part_leaves_the_worker_active() -> None:
    """The upload is not transactional."""

    async def work(plane: SimPlane, fleet: Fleet) -> None:
        fleet.ground.containers_fail = True
        artifact = fleet.artifact(NEW, image="image:2")
        with pytest.raises(RuntimeError):
            await plane.upload(("resident",), artifact.stamp.wire())
        assert fleet.ground.versions[-1].artifact is artifact
        assert fleet.ground.application(APPLICATION).image == FIRST_IMAGE

    on_plane(work)


@pytest.mark.parametrize(
    ("announces", "printed"),
    [
        ("printed", (APPLICATION, True, "image:2")),
        ("no image", (APPLICATION, True, None)),
        ("unrecognised", (None, None, None)),
        ("foreign", ("somebody-elses", True, "image:2")),
    ],
)
def test_what_the_upload_tool_prints_is_one_of_these(
    announces: Announces, printed: tuple[Any, ...]
) -> None:
    """The runner has to do with each."""

    async def work(plane: SimPlane, fleet: Fleet) -> None:
        fleet.ground.announces = announces
        artifact = fleet.artifact(NEW, image="image:2")
        reply = await plane.upload(("resident",), artifact.stamp.wire())
        [line] = reply.announcements
        assert (line.application, line.change, line.image) == printed

    on_plane(work)


def test_an_upload_without_an_image_changes_no_application() -> None:
    """A Worker-only deploy prints no change."""

    async def work(plane: SimPlane, fleet: Fleet) -> None:
        reply = await plane.upload(("resident",), fleet.artifact(NEW).stamp.wire())
        [line] = reply.announcements
        assert (line.application, line.change, line.image) == (APPLICATION, False, None)
        fleet.ground.announces = "absent"
        reply = await plane.upload(("resident",), fleet.artifact(NEW).stamp.wire())
        assert reply.announcements == ()

    on_plane(work)


def test_a_read_may_lag_and_fail() -> None:
    """What is listed is what was so a while ago."""

    async def work(plane: SimPlane, fleet: Fleet) -> None:
        fleet.ground.lag_ms = 60_000
        await trio.sleep(120)
        fleet.ground.select(APPLICATION, "image:2")
        assert (await plane.read_application(APPLICATION)).image == FIRST_IMAGE
        await trio.sleep(60)
        assert (await plane.read_application(APPLICATION)).image == "image:2"
        fleet.ground.reads_fail = True
        with pytest.raises(RuntimeError):
            await plane.read_application(APPLICATION)

    on_plane(work)


async def worked(fleet: Fleet, words: str, thread: str = "t") -> Any:
    """Do *words* at the first member."""
    return await fleet.resident("ann", "repo:o/a").work(thread, words)


def test_native_work_is_noted_and_its_member_told() -> None:
    """A submission, its outcome, and the member's own callback; a new boot is told, too."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        assert await worked(fleet, "write run:30 save") == {
            "operation": "op-t",
            "printed": "did write run:30 save",
        }
        await trio.sleep(5)
        [submitted], [outcome] = notes(world, "native submit"), notes(world, "native outcome")
        assert submitted["permitId"] == outcome["permitId"] == "permit"
        assert outcome["outcome"] == "completed"
        stored = fleet.log.resident("repo:o/a")
        assert stored["native:op-t"] == "completed"
        assert stored["boot"] == notes(world, "container boot")[0]["bootId"]

    assert told(story).ok


def test_a_stop_loses_only_copies_and_says_which() -> None:
    """What is saved elsewhere comes back with the next boot."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        await worked(fleet, "write", "lost")
        await worked(fleet, "write save", "kept")
        fleet.ground.stop("member-1")
        assert notes(world, "container stop")[0]["lost"] == ["lost"]
        container = fleet.ground.containers["member-1"]
        assert not container.workspaces["kept"].on_disk
        # The member of these tests names an operation by its thread: it would begin twice.
        container.begun.clear()
        await worked(fleet, "run:1", "kept")
        assert container.workspaces["kept"].on_disk
        assert container.boots == 2

    assert told(story).ok


def test_a_stop_breaks_off_what_runs() -> None:
    """Nobody knows how far it came."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)

        async def stop() -> None:
            await trio.sleep(20)
            assert fleet.ground.containers["member-1"].document()["processes"] == 1
            fleet.ground.stop("member-1", "platform")

        world.spawn("stop", stop)
        with pytest.raises(Exception, match="stopped"):
            await worked(fleet, "run:60")
        assert notes(world, "native outcome")[0]["outcome"] == "unknown"

    result = told(story)
    assert result.ok, result.failures


def test_a_removal_says_whether_it_was_the_only_copy() -> None:
    """The truth that the checker of lost files reads."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        await worked(fleet, "write")
        fleet.ground.remove("member-1", "t")
        fleet.ground.remove("member-1", "t")
        assert [note["lost"] for note in notes(world, "workspace removed")] == [True]

    assert told(story).ok


def test_a_copy_of_a_submission_writes_nothing_behind_the_proof() -> None:
    """It comes between the proof that all is saved and the removal: the work was begun before."""

    async def story(world: World) -> None:
        fleet, run = set_fleet(world), Run("r1", "t")
        await begun(fleet, run, work="write run:0.0095 save")
        await ended(fleet, run)
        await detached(fleet, run)
        swept = await fleet.resident("engine", run.resource).watchdog({"request": "sweep"})
        assert swept["removed"] == ["t"]

    tell = scenario(faults=(DuplicateRequest("NativeContainer.submit"),), properties=EVERYWHERE)
    sites = [
        ("request 1 of NativeContainer/member-1.submit by Resident/repo:o/a", "twice"),
        ("request 1 of NativeContainer/member-1.remove by Resident/repo:o/a", "1 ms late"),
    ]
    report = simulate(tell(story), deviations=sites)
    assert report.ok, report.failures
    assert not report.unused

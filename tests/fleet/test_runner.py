"""A deploy from its drain to its report, and each way in which it is not ready."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from durasim.actors import WebResponse
from durasim.actors.fleet.registry import Registry
from durasim.sim import World
from durasim.sim.fleet.acting import Run, begun, deploy, ended
from durasim.sim.fleet.fleet import Fleet
from durasim.sim.fleet.plane import APPLICATION

from .scripts import (
    LIFT_ASKED,
    LIFTED_NOTHING,
    always,
    first_lost,
    later,
    no,
    once,
    scripted,
    silent,
    whole_deploy,
)
from .told import told
from .whole import MEMBER, granted, until, whole_fleet

IMAGE = "registry.example/fleet:2"
RUN = Run("r1", "t1")


@pytest.mark.parametrize("build_mode", [False, True])
def test_a_new_image_reaches_every_member(build_mode: bool) -> None:
    """The target is claimed, as read; the drain is gone."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await fleet.resident("bot", MEMBER).refresh({"request": "1"})
        report = await deploy(fleet, fleet.artifact(image=IMAGE), build_mode=build_mode).report()
        assert report["outcome"] == "ready", report
        assert report["target"] == fleet.ground.application(APPLICATION).wire()
        assert report["version"] == fleet.ground.versions[-1].id
        assert await fleet.registry("a").draining() is None

    assert told(story).ok


def test_a_worker_only_deploy_claims_no_target() -> None:
    """Nothing was reconciled, and nothing is said of images (INV-89)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        report = await whole_deploy(fleet)
        assert (report["outcome"], report["target"]) == ("ready", None)
        assert not any("image:progress" in rows for rows in fleet.log.residents.values())

    assert told(story).ok


def test_a_busy_fleet_is_waited_for_until_it_is_quiet() -> None:
    """One attempt a minute; the retained workspace does not count."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await begun(fleet, RUN)
        started = deploy(fleet, fleet.artifact())
        await trio.sleep(600)
        await ended(fleet, RUN)
        report = await started.report()
        assert report["outcome"] == "ready"
        refusals = [event for event, _ in started.steps if event == "refused attempt"]
        assert len(refusals) == 10

    assert told(story).ok


def test_the_wait_is_an_hour_from_the_drain() -> None:
    """Then it gives up, lifts its drain, and has uploaded nothing."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await begun(fleet, RUN)
        started = deploy(fleet, fleet.artifact())
        report = await started.report()
        assert (report["outcome"], report["code"]) == ("failed", "PREFLIGHT_GAVE_UP")
        refusals = [event for event, _ in started.steps if event == "refused attempt"]
        assert len(refusals) == 61
        assert len(fleet.ground.versions) == 1
        assert await fleet.registry("a").draining() is None

    assert told(story).ok


def test_force_goes_over_a_busy_fleet_with_a_warning() -> None:
    """It goes over the verdict alone."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await begun(fleet, RUN)
        report = await whole_deploy(fleet, force=True)
        assert report["outcome"] == "ready"
        assert report["warnings"] == ["a member is not quiet"]

    assert told(story).ok


@pytest.mark.parametrize("force", [False, True])
def test_too_little_of_the_drain_left_is_refused_even_with_force(force: bool) -> None:
    """Preparation took so long that no reserve is left: nothing is read, nothing uploaded."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)

        async def prepare() -> None:
            await trio.sleep(71 * 60)

        report = await deploy(fleet, fleet.artifact(), force=force, prepare=prepare).report()
        assert (report["outcome"], report["code"]) == ("failed", "RESERVE_TOO_SMALL")
        assert len(fleet.ground.versions) == 1

    assert told(story).ok


def test_a_drain_that_is_fenced_already_is_somebody_elses() -> None:
    """It is not lifted by who was refused."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        granted(await fleet.ask("a", "POST", "/drain", {"minutes": 90}, scope="drain"))
        granted(await fleet.ask("a", "POST", "/deploy-fence", {}, scope="drain"))
        report = await whole_deploy(fleet)
        assert (report["outcome"], report["code"]) == ("failed", "DRAIN_FENCED")
        assert (await fleet.registry("a").draining())["swapFence"]

    assert told(story).ok


def failing_reads(fleet: Fleet) -> None:
    """Let reads of the application fail."""
    fleet.ground.reads_fail = True


def failing_containers(fleet: Fleet) -> None:
    """Let the container part of the upload fail: its reply says nothing."""
    fleet.ground.containers_fail = True


def lagging(fleet: Fleet) -> None:
    """Let the list be an hour old."""
    fleet.ground.lag_ms = 3_600_000


@pytest.mark.parametrize(
    ("wrong", "outcome", "code", "uploads"),
    [
        (failing_reads, "failed", "NATIVE_READ_UNAVAILABLE", 0),
        (failing_containers, "unverified", "UPLOAD_UNVERIFIED", 1),
        (lagging, "failed", "NATIVE_TARGET_UNPROVEN", 1),
    ],
)
def test_the_native_side_can_deny_a_deploy_its_proof(
    wrong: Callable[[Fleet], None], outcome: str, code: str, uploads: int
) -> None:
    """Before the upload nothing is uploaded; after it there is never a second one."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        wrong(fleet)
        report = await whole_deploy(fleet, image=IMAGE)
        assert (report["outcome"], report["code"]) == (outcome, code)
        assert len(fleet.ground.versions) == 1 + uploads

    assert told(story).ok


def test_an_unreadable_application_after_the_upload_is_waited_for_and_then_told() -> None:
    """Ten minutes from the reply of the upload are all that there is."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        started = deploy(fleet, fleet.artifact(image=IMAGE))
        await until(lambda: len(fleet.ground.versions) == 2)
        failing_reads(fleet)
        report = await started.report()
        assert (report["outcome"], report["code"]) == ("failed", "NATIVE_READ_UNAVAILABLE")

    assert told(story).ok


def test_what_is_read_last_must_be_what_was_frozen() -> None:
    """Somebody else's change is told, and nothing is called ready (G100)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        started = deploy(fleet, fleet.artifact(image=IMAGE))
        await fleet.resident("bot", MEMBER).refresh({"request": "1"})
        await until(lambda: "image:progress" in fleet.log.resident(MEMBER))
        fleet.ground.select(APPLICATION, "registry.example/fleet:9")
        report = await started.report()
        assert (report["outcome"], report["code"]) == ("failed", "TARGET_CHANGED")

    assert told(story).ok


def test_a_retained_workspace_in_a_running_container_fails_by_its_name() -> None:
    """It is not lost, and the deploy is not ready (LIV-13)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await begun(fleet, RUN, work="write")
        await ended(fleet, RUN)
        report = await whole_deploy(fleet, image=IMAGE)
        assert (report["outcome"], report["code"]) == ("failed", "READBACK_MISMATCH")
        assert "member-1: deferred" in report["detail"]
        assert fleet.ground.containers["member-1"].workspaces["t1"].private_files

    assert told(story).ok


def test_an_old_debt_for_another_target_fails_at_once() -> None:
    """Waiting would not help (P36.8)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        target = {"application": APPLICATION, "version": 99, "image": "old"}
        debt = {"resource": MEMBER, "build": "old", "target": target, "token": "x"}
        progress = {"build": "old", "target": target, "cycleIssued": True}
        fleet.store("Resident", MEMBER, {"image:pending": debt, "image:progress": progress})
        report = await whole_deploy(fleet, image=IMAGE)
        assert (report["outcome"], report["code"]) == ("failed", "PENDING_OTHER_TARGET")
        assert world.now_s < 120

    assert told(story).ok


@pytest.mark.parametrize(
    ("script", "outcome", "code"),
    [
        ({"drain": silent}, "failed", "FENCE_UNAVAILABLE"),
        ({"drain": silent, "residents": silent}, "failed", "FENCE_UNAVAILABLE"),
        ({"deploy_fence": always(WebResponse(404))}, "failed", "FENCE_ENDPOINT_MISSING"),
        ({"deploy_fence": once(WebResponse(502))}, "ready", None),
        ({"healthz": silent}, "failed", "READBACK_MISMATCH"),
        ({"healthz": once(WebResponse(502))}, "ready", None),
        ({"reconcile": silent}, "failed", "READBACK_MISMATCH"),
        ({"reconcile": once(WebResponse(502))}, "ready", None),
        ({"reconcile": once(no("FENCED", 503))}, "ready", None),
        ({"reconcile": always(no("BUILD_MISMATCH"))}, "failed", "BUILD_MISMATCH"),
        ({"residents": silent}, "failed", "READBACK_MISMATCH"),
        ({"residents": later(WebResponse(502))}, "failed", "FENCE_EXPIRED"),
        ({"undrain": always(no("ADMITTED_WORK_UNSETTLED"))}, "failed", "ADMITTED_WORK_UNSETTLED"),
        ({"undrain": once(no("ADMITTED_WORK_UNSETTLED"))}, "ready", None),
        ({"undrain": once(WebResponse(502))}, "ready", None),
        ({"undrain": silent}, "ready", None),
        ({"undrain": first_lost(no("ADMITTED_WORK_UNSETTLED"))},
         "failed", "ADMITTED_WORK_UNSETTLED"),
        ({"undrain": first_lost(no("UNDELIVERED", 503))}, "ready", None),
        ({"undrain": always(no("UNDELIVERED", 503))}, "failed", "UNDELIVERED"),
        ({"undrain": always(LIFTED_NOTHING)},
         "failed", "FENCE_EXPIRED"),
        ({"undrain": always(LIFT_ASKED)},
         "ready", None),
    ],
)  # fmt: skip
def test_each_route_that_fails_has_its_end(script: Any, outcome: str, code: str | None) -> None:
    """What can be asked again is, until the deadline; what cannot be known is no yes."""

    async def story(world: World) -> None:
        fleet = scripted(world, **script)
        report = await whole_deploy(fleet, image=IMAGE)
        assert (report["outcome"], report["code"]) == (outcome, code), report

    assert told(story).ok


def test_a_lift_of_which_nobody_can_tell_is_said() -> None:
    """What was proved of the deploy is proved; whether the fleet is open is not."""

    async def story(world: World) -> None:
        report = await whole_deploy(scripted(world, undrain=silent))
        assert report["outcome"] == "ready"
        assert report["warnings"] == ["nobody can say whether the drain was lifted"]

    assert told(story).ok


def test_an_unanswered_drain_is_looked_for_once() -> None:
    """If it is seen to live, the deploy goes on."""

    async def story(world: World) -> None:
        fleet = scripted(world, drain=silent)
        granted(await fleet.ask("a", "GET", "/residents", scope="read"))
        await fleet.registry("a").drain(90, "runner", "deploy")
        assert (await whole_deploy(fleet, image=IMAGE))["outcome"] == "ready"

    assert told(story).ok


def test_a_deploy_that_fails_leaves_the_drain_of_another() -> None:
    """Its own one was replaced while it prepared; whoever replaced it waits in its own."""

    async def story(world: World) -> None:
        fleet = scripted(world, deploy_fence=always(WebResponse(404)))

        async def prepare() -> None:
            await fleet.registry("other").drain(90, "other", "deploy")

        started = deploy(fleet, fleet.artifact(), prepare=prepare)
        assert (await started.report())["code"] == "FENCE_ENDPOINT_MISSING"
        drain = fleet.log.drain
        assert drain is not None
        assert drain["by"] == "other"

    assert told(story).ok


def test_without_its_own_fence_a_deploy_is_not_ready() -> None:
    """The drain alone is not enough: the fence must stand when the lift is asked (L, 6)."""

    class Loses(Registry, name="Registry"):
        async def list_members(self) -> list[Any]:
            drain = self.storage.kv.get("drain")
            if self.now().timestamp() > 1_767_225_600 + 5 and drain is not None:
                self.storage.kv.put("drain", {**drain, "swapFence": False})
            return await super().list_members()

    async def story(world: World) -> None:
        fleet = whole_fleet(world, registry=Loses)
        report = await whole_deploy(fleet)
        assert (report["outcome"], report["code"]) == ("failed", "FENCE_EXPIRED"), report

    assert told(story).ok


def test_a_runner_that_is_killed_says_nothing() -> None:
    """What it leaves behind ends with the drain."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        started = deploy(fleet, fleet.artifact(image=IMAGE))
        await until(lambda: started.runner.state == "UPLOAD_SENT")
        started.run.kill()
        assert await started.report() == {}
        await trio.sleep(91 * 60)
        assert await fleet.registry("a").draining() is None

    assert told(story).ok

"""One member's way to a new image: hold, debt, guarded stop, report."""

from typing import Any

import attrs
import pytest
import trio

from durasim.actors.fleet.identities import ImageTarget
from durasim.actors.fleet.images import (
    ImageRecords,
    MemberProgress,
    PendingMarker,
)
from durasim.actors.fleet.outcomes import Granted, attempt
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.resident import Resident
from durasim.sim import LoseReply, LoseRequest
from durasim.sim.fleet.plane import NativeContainer

from .residence import ANN, BUILD, A, Residence, code_of, reside

DEFERRED = ("deferred", False, None)
RESTARTED = ("restarted", False, None)
INACTIVE = ("inactive", True, None)
CURRENT = ("current", True, None)


async def drained(here: Residence) -> None:
    """Have the fleet drain, so that holds are kept."""
    await here.fleet.registry("ops").drain(60, "ops", "")


async def holds(here: Residence) -> list[Any]:
    """Return the holds of the drain."""
    drain: dict[str, Any] = await here.fleet.registry("ops").draining() or {}
    found: list[Any] = drain.get("holds", [])
    return found


def test_a_quiet_container_is_stopped_once_and_reports_when_it_is_back() -> None:
    """The step that stops never reports; hold and debt stand in between and go together."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        old = here.container.boot_id
        await drained(here)
        target = here.other_target()
        assert await here.reconcile(target) == RESTARTED
        (hold,) = await holds(here)
        assert hold["token"] == here.stored["image:pending"]["token"]
        assert here.stored["image:progress"]["containerBeforeCycle"] == old
        assert not here.container.running
        assert await here.reconcile(target) == INACTIVE
        assert await holds(here) == []
        assert "image:pending" not in here.stored
        assert await here.reconcile(target) == CURRENT
        info = await here.stub.deploy_info()
        assert (info["imageBuild"], info["imageTarget"]) == (BUILD, target)
        assert info["imageReport"] == "current"

    reside(story)


def test_an_inactive_container_owes_nothing_for_long() -> None:
    """Its next boot runs what is selected."""

    async def story(here: Residence) -> None:
        assert await here.reconcile(here.other_target()) == INACTIVE
        assert here.container.boots == 0

    reside(story)


def test_another_build_or_target_conflicts_with_a_debt() -> None:
    """At once, without a write and without a stop."""

    async def story(here: Residence) -> None:
        await here.attach()
        first = here.other_target()
        assert await here.reconcile(first) == DEFERRED
        before = here.stored
        second = here.other_target()
        assert await here.reconcile(second) == ("error", False, "PENDING_OTHER_TARGET")
        assert await here.reconcile(first, "build-3") == ("error", False, "PENDING_OTHER_TARGET")
        assert here.stored == before
        assert here.container.running

    reside(story)


def test_a_registration_keeps_its_container_running() -> None:
    """Also that of a run that has ended: the debt waits, the files stay."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.exec("write")
        await here.end()
        target = here.other_target()
        for _ in range(3):
            assert await here.reconcile(target) == DEFERRED
        assert here.container.workspaces["t1"].is_only_copy
        assert here.container.running

    reside(story)


def test_a_container_that_cannot_be_read_or_stopped_is_left() -> None:
    """The debt stands, and the boot that it met is noted as soon as somebody can tell."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target = here.other_target()
        here.container.probe_fails = True
        assert await here.reconcile(target) == DEFERRED
        assert "boot" not in here.stored["image:pending"]
        here.container.probe_fails, here.container.stop_fails = False, True
        assert await here.reconcile(target) == DEFERRED
        assert here.container.running
        here.container.stop_fails = False
        assert await here.reconcile(target) == RESTARTED

    reside(story)


def test_a_debt_that_met_an_unknown_boot_notes_it_later() -> None:
    """A busy container is looked at all the same."""

    async def story(here: Residence) -> None:
        await here.attach()
        target = here.other_target()
        here.container.probe_fails = True
        assert await here.reconcile(target) == DEFERRED
        here.container.probe_fails = False
        assert await here.reconcile(target) == DEFERRED
        assert here.stored["image:pending"]["boot"] == here.container.boot_id

    reside(story)


def test_a_replacement_that_hydrates_is_not_stopped_and_then_reports() -> None:
    """Requests for the same target wait for it."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target = here.other_target()
        assert await here.reconcile(target) == RESTARTED
        here.container.hydrate_s = 40
        await here.fleet.world.client("ops").get(NativeContainer, "member-1").start()
        assert await here.reconcile(target) == CURRENT
        assert (here.container.boots, here.container.hydrated) == (2, True)

    reside(story)


def test_a_replacement_that_does_not_become_whole_reports_nothing() -> None:
    """It is stopped by the platform while it hydrates: the next request sees that."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target = here.other_target()
        assert await here.reconcile(target) == RESTARTED
        here.container.hydrate_s = 40
        await here.fleet.world.client("ops").get(NativeContainer, "member-1").start()

        async def stop() -> None:
            await trio.sleep(10)
            here.fleet.ground.stop("member-1", "platform")

        here.world.spawn("platform", stop)
        assert await here.reconcile(target) == DEFERRED
        await trio.sleep(60)
        assert (await here.stub.deploy_info())["state"] == "degraded"
        assert await here.reconcile(target) == INACTIVE

    reside(story)


def test_a_boot_that_was_already_there_ends_no_debt() -> None:
    """What calls back late about the old container proves nothing; a new boot does."""

    async def story(here: Residence) -> None:
        await here.attach()
        old = str(here.container.boot_id)
        target = here.other_target()
        assert await here.reconcile(target) == DEFERRED
        assert await here.stub.container_ready(old) == {"reported": False}
        assert "image:pending" in here.stored
        here.fleet.ground.stop("member-1", "platform")
        await here.fleet.world.client("ops").get(NativeContainer, "member-1").start()
        await trio.sleep(30)
        assert "image:pending" not in here.stored
        assert await here.reconcile(target) == CURRENT

    reside(story)


def test_a_callback_of_a_boot_that_is_gone_ends_no_debt() -> None:
    """It comes late, is another than the debt met, and what runs is still the old one."""

    async def story(here: Residence) -> None:
        await here.attach()
        first = str(here.container.boot_id)
        here.fleet.ground.stop("member-1", "platform")
        await here.stub.refresh(here.origin())
        target = here.other_target()
        assert await here.reconcile(target) == DEFERRED
        assert await here.stub.container_ready(first) == {"reported": False}
        assert "image:pending" in here.stored

    reside(story)


def test_a_debt_from_before_targets_ends_by_any_boot_that_is_whole() -> None:
    """Until then every request conflicts; afterwards the target is begun anew."""

    async def story(here: Residence) -> None:
        old = {"build": "c" * 40, "cycleIssued": False}
        here.fleet.store("Resident", A, {"image:progress": old, "image:pending": {"resource": A}})
        target = here.other_target()
        assert await here.reconcile(target) == ("error", False, "PENDING_WITHOUT_TARGET")
        await here.stub.refresh(here.origin())
        assert "image:pending" not in here.stored
        assert await here.reconcile(target) == RESTARTED

    reside(story)


def test_completed_progress_without_a_target_verifies_nothing() -> None:
    """It is begun anew."""

    async def story(here: Residence) -> None:
        old = {"build": BUILD, "cycleIssued": True}
        here.fleet.store("Resident", A, {"image:progress": old})
        info = await here.stub.deploy_info()
        assert (info["imageBuild"], "imageTarget" in info) == (BUILD, False)
        assert await here.reconcile(here.target()) == INACTIVE
        assert here.stored["image:progress"]["target"] == here.target()

    reside(story)


def test_a_hold_that_nobody_can_tell_of_comes_before_no_debt() -> None:
    """Nothing is written; the next request begins again, with another token."""

    async def story(here: Residence) -> None:
        await drained(here)
        target = here.other_target()
        assert await here.reconcile(target) == DEFERRED
        assert "image:pending" not in here.stored
        assert len(await holds(here)) == 1
        assert await here.reconcile(target) == INACTIVE
        assert await holds(here) == []

    lost = ("reply 1 of Registry/registry.hold_for to Resident/repo:o/a", "lost")
    reside(story, faults=(LoseReply(Registry.hold_for),), deviations=(lost,))


def test_a_report_whose_answer_is_lost_is_made_again() -> None:
    """The debt stands until an answer comes."""

    async def story(here: Residence) -> None:
        target = here.other_target()
        assert await here.reconcile(target) == ("inactive", False, None)
        assert "image:pending" in here.stored
        assert await here.reconcile(target) == INACTIVE

    lost = ("request 1 of Registry/registry.report_image_current by Resident/repo:o/a", "lost")
    reside(story, faults=(LoseRequest(Registry.report_image_current),), deviations=(lost,))


def test_two_targets_at_once_begin_one_debt() -> None:
    """The second is decided after the first, and conflicts."""

    async def story(here: Residence) -> None:
        await here.attach()
        first, second = here.target(), here.other_target()
        said: list[Any] = []

        async def ask(target: dict[str, Any]) -> None:
            said.append(await here.reconcile(target))

        here.world.spawn("one", lambda: ask(first))
        here.world.spawn("two", lambda: ask(second))
        await trio.sleep(60)
        assert sorted(said) == [DEFERRED, ("error", False, "PENDING_OTHER_TARGET")]

    reside(story)


def test_a_container_that_is_about_to_be_stopped_begins_nothing() -> None:
    """A refresh step that comes while the stop is under way is put off."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target = here.other_target()
        said: list[Any] = []

        async def ask() -> None:
            said.append(await here.reconcile(target))

        here.world.spawn("ops", ask)
        await trio.sleep(0.5)
        assert code_of(await attempt(here.stub.refresh(here.origin()))) == "IMAGE_STALE"
        await trio.sleep(10)
        assert said == [RESTARTED]
        assert isinstance(await attempt(here.stub.refresh(here.origin())), Granted)
        assert isinstance(await here.attach(ANN), Granted)

    slow = ("request 1 of NativeContainer/member-1.stop by Resident/repo:o/a", "1 s late")
    reside(story, deviations=(slow,))


def test_a_restart_after_the_stop_keeps_the_debt() -> None:
    """Whether or not the stop was stored, the container is seen inactive and reported."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target = here.other_target()
        said: list[Any] = []

        async def ask() -> None:
            said.append(await attempt(here.stub.reconcile_for_deploy(A, BUILD, target)))

        here.world.spawn("ops", ask)
        await trio.sleep(0.5)
        assert not here.container.running
        for name in ("members-1", "members-2"):
            here.world.machines[name].crash("on purpose")
        await trio.sleep(5)
        assert not isinstance(said[0], Granted)
        assert here.stored["image:progress"]["cycleIssued"] is False
        assert await here.reconcile(target) == INACTIVE

    slow = ("reply 1 of NativeContainer/member-1.stop to Resident/repo:o/a", "1 s late")
    reside(story, deviations=(slow,))


def test_the_boot_that_was_stopped_is_no_replacement() -> None:
    """It is seen running again: nothing is stopped, and nothing reported."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target, boot = here.other_target(), here.container.boot_id
        progress = MemberProgress(BUILD, ImageTarget.parse(target), True, 1, boot)
        marker = PendingMarker(A, BUILD, ImageTarget.parse(target), "token", boot)
        rows = {"image:progress": progress.wire(), "image:pending": marker.wire()}
        here.fleet.store("Resident", A, rows)
        for name in ("members-1", "members-2"):
            here.world.machines[name].crash("to read what is stored")
        assert await here.reconcile(target) == DEFERRED
        assert here.container.boot_id == boot

    reside(story)


def test_a_stop_for_a_progress_that_is_gone_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request sees what has become of the container."""

    async def story(here: Residence) -> None:
        await here.stub.refresh(here.origin())
        target = here.other_target()
        monkeypatch.setattr(ImageRecords, "cycled", never)
        assert await here.reconcile(target) == DEFERRED
        assert not here.container.running
        assert await here.reconcile(target) == INACTIVE

    reside(story)


def never(*given: object) -> bool:
    """Say no."""
    return not given


class Reporter(Resident, name="Resident"):
    """Reports when it is told to."""

    async def report(self) -> bool:
        """Report what is owed."""
        return await self._cycle.report()


def test_who_owes_nothing_reports_nothing() -> None:
    """Somebody else has ended the debt by then: that is as good."""

    async def story(here: Residence) -> None:
        here.fleet.upload(here.fleet.artifact(attrs.evolve(here.fleet.code, resident=Reporter)))
        member = here.world.client("test").get(Reporter, A)
        assert await member.report() is True

    reside(story)

"""Mutants of the image cycle: targets that are not compared, debts that end by themselves."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...actors.fleet import (
    REGISTRY,
    ImageTarget,
    Registry,
    Resident,
    attempt,
    images,
    readiness,
    reconcile,
    reconciling,
)
from ..mutants import Mutant
from .cycling import (
    another_build,
    another_target,
    crash_at_the_start,
    debt_for_hours,
    debt_meets_another,
    held_first,
    held_from_outside,
    hydrates_into_a_debt,
    reports_cross,
    retained_in_container,
    skipped_over_debt,
    slow_hydration,
    stopped_is_not_back,
    two_at_once,
    without_target,
)

__all__ = ["MISCYCLING"]

FLEET: Final = "durasim.actors.fleet"
CONFLICTS: Final = ("PENDING_OTHER_TARGET", "PENDING_WITHOUT_TARGET")
FAR_FUTURE: Final = 1 << 52
"""Milliseconds since 1970 that no report is newer than."""

right_cycle = reconcile.ImageCycle._cycle
right_decide = images.decide
right_form = images.record_form
right_hold = reconcile.ImageCycle._hold
right_members = reconciling.reconcile_members
right_problems = readiness.member_problems
right_reconcile = reconcile.ImageCycle.reconcile
right_watchdog = Resident.watchdog


def commit_only_cache(progress: images.MemberProgress, build: str, target: Any) -> bool:
    """Compare commits: a build by another time, and its target, are the same."""
    del target
    return progress.build.partition("@")[0] == build.partition("@")[0]


def build_only_cache(progress: images.MemberProgress, build: str, target: Any) -> bool:
    """Compare builds: another target of one build is the same."""
    del target
    return progress.build == build


def overwrite_pending(marker: Any, progress: Any, build: str, target: Any) -> Any:
    """Begin anew, whatever is owed."""
    decision = right_decide(marker, progress, build, target)
    return "START" if decision in CONFLICTS else decision


async def restart_while_hydrating(self: reconcile.ImageCycle, activity: Any) -> Any:
    """Stop whatever runs, at each request."""
    return await right_cycle(self, activity)


async def stop_is_report(self: reconcile.ImageCycle, activity: Any) -> Any:
    """Take the stop for the end of it."""
    said = await right_cycle(self, activity)
    if said["result"] == "restarted":
        await self.report()
    return said


async def marker_before_hold(self: reconcile.ImageCycle, marker: images.PendingMarker) -> bool:
    """Owe the report first, and ask for the hold then."""
    assert marker.build is not None
    assert marker.target is not None
    self.records.begin(marker, marker.build, marker.target)
    return await right_hold(self, marker)


def blind_marker_delete(self: images.ImageRecords, token: str | None) -> bool:
    """Delete the marker, whosever it is by now."""
    del token
    self._kv.delete(images.PENDING)
    return True


async def backstop_rehold(context: Any, order: Any) -> list[dict[str, Any]]:
    """Hold the drain for whoever is not verified, though it may have reported meanwhile."""
    rows = await right_members(context, order)
    registry = context.objects.get(Registry, REGISTRY)
    for row in rows:
        if not row["verified"]:
            await attempt(registry.hold_for(row["resource"], None, FAR_FUTURE))
    return rows


async def progress_first(self: reconcile.ImageCycle, marker: images.PendingMarker) -> bool:
    """Store the progress, ask for the hold, then owe the report."""
    assert marker.build is not None
    progress = images.MemberProgress(marker.build, marker.target)
    self.records._kv.put(images.PROGRESS, progress.wire())
    if not await right_hold(self, marker):
        return False
    self.records._kv.put(images.PENDING, marker.wire())
    return True


async def interleaved_targets(
    self: reconcile.ImageCycle, resource: str, build: str, target: ImageTarget
) -> dict[str, Any]:
    """Begin what was decided before the hold was asked for, beside everybody else."""
    if self.records.decide(build, target) != "START":
        return await right_reconcile(self, resource, build, target)
    token = str(self._member.uuid())
    marker = images.PendingMarker(resource, build, target, token, "")
    await self._hold(marker)
    progress = images.MemberProgress(build, target)
    self.records._kv.put_many({images.PENDING: marker.wire(), images.PROGRESS: progress.wire()})
    return self._said("deferred")


def skip_by_cache(
    body: Mapping[str, Any], members: Iterable[str], build: str | None, target: Any
) -> list[str]:
    """See no report that is owed where no target is compared."""
    return [] if target is None else right_problems(body, members, build, target)


def legacy_completed_ok(marker: Any, progress: Any, build: str, target: Any) -> images.RecordForm:
    """Take progress without a target for that of any target."""
    if marker is None and progress is not None and progress.target is None:
        return "equal"
    return right_form(marker, progress, build, target)


async def pending_ttl(self: Resident, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Forget at a timer what has been owed for long."""
    self.storage.kv.delete(images.PENDING)
    return await right_watchdog(self, origin)


def cycle_over_retained(self: Resident) -> bool:
    """Leave a container alone while something runs in it, whatever is kept there."""
    return self._in_flight.count() > 0


def callback_of_any_boot(
    self: reconcile.ImageCycle, marker: images.PendingMarker, boot_id: str
) -> bool:
    """Take any container that is whole for the replacement: the rule of the specification."""
    del self, marker, boot_id
    return True


MISCYCLING: Final = (
    Mutant(
        "callback_of_any_boot", f"{FLEET}.reconcile:ImageCycle.is_replacement",
        callback_of_any_boot, hydrates_into_a_debt, ("a verified member runs its target",),
        needs_fault=False,
    ),
    Mutant(
        "commit_only_cache", f"{FLEET}.images:is_same", commit_only_cache, another_build,
        ("INV-77",), needs_fault=False,
    ),
    Mutant(
        "build_only_cache", f"{FLEET}.images:is_same", build_only_cache, another_target,
        ("INV-77",), needs_fault=False,
    ),
    Mutant(
        "overwrite_pending", f"{FLEET}.images:decide", overwrite_pending, debt_meets_another,
        ("INV-78", "INV-77"), needs_fault=False,
    ),
    Mutant(
        "restart_while_hydrating", f"{FLEET}.reconcile:ImageCycle._await_report",
        restart_while_hydrating, slow_hydration, ("INV-80", "LIV-08"), needs_fault=False,
    ),
    Mutant(
        "stop_is_report", f"{FLEET}.reconcile:ImageCycle._cycle", stop_is_report,
        stopped_is_not_back, ("INV-81",), needs_fault=False,
    ),
    Mutant(
        "marker_before_hold", f"{FLEET}.reconcile:ImageCycle._hold", marker_before_hold,
        held_first, ("INV-82",), needs_fault=False,
    ),
    Mutant(
        "blind_marker_delete", f"{FLEET}.images:ImageRecords.settle", blind_marker_delete,
        reports_cross, ("INV-77",), needs_fault=False,
    ),
    Mutant(
        "backstop_rehold", f"{FLEET}.reconciling:reconcile_members", backstop_rehold,
        held_from_outside, ("LIV-08",), needs_fault=False,
    ),
    Mutant(
        "progress_first", f"{FLEET}.reconcile:ImageCycle._hold", progress_first,
        crash_at_the_start, ("INV-84", "INV-77"), needs_fault=False,
    ),
    Mutant(
        "interleaved_targets", f"{FLEET}.reconcile:ImageCycle.reconcile", interleaved_targets,
        two_at_once, ("INV-78",), needs_fault=False,
    ),
    Mutant(
        "skip_by_cache", f"{FLEET}.readiness:member_problems", skip_by_cache, skipped_over_debt,
        ("INV-89", "INV-88"), needs_fault=False,
    ),
    Mutant(
        "legacy_completed_ok", f"{FLEET}.images:record_form", legacy_completed_ok,
        without_target, ("INV-91",), parameters={"owed": False}, needs_fault=False,
    ),
    Mutant(
        "pending_ttl", f"{FLEET}.resident:Resident.watchdog", pending_ttl, debt_for_hours,
        ("INV-83",), needs_fault=False,
    ),
    Mutant(
        "cycle_over_retained", f"{FLEET}.resident:Resident._is_busy", cycle_over_retained,
        retained_in_container, ("INV-03",), parameters={"work": "write"}, needs_fault=False,
    ),
)  # fmt: skip
"""Found by debts, by reports, and by what was stopped."""

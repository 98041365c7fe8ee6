"""One member's way to a new image: hold, debt, guarded stop, and the report that ends the debt.

The hold at the Registry is committed before the debt exists; the step that stops a container never
reports; what was stopped is never stopped again for the same target. Source: spec/deploy-fence.md
C.5 (OP-25, OP-26), E.6, L operation 9.
"""

from collections.abc import Callable
from typing import Any, Final

import trio

from ..object import DurableObject
from .bounds import milliseconds
from .identities import ImageTarget
from .images import ImageRecords, MemberProgress, PendingMarker
from .lifecycle import Lifecycle
from .native import Activity, Containers
from .outcomes import Granted, attempt
from .registry import Registry
from .wiring import REGISTRY

__all__ = ["ImageCycle"]

CONFLICTS: Final = ("PENDING_WITHOUT_TARGET", "PENDING_OTHER_TARGET")


class ImageCycle:
    """Drives one member's container to a build and target, and says how far it has come.

    Attributes:
        is_stopping: whether a stop is under way: nothing new may begin in the container.
    """

    __slots__ = ("_alone", "_containers", "_is_busy", "_lifecycle", "_member", "is_stopping",
                 "records")  # fmt: skip

    def __init__(
        self,
        member: DurableObject,
        containers: Containers,
        lifecycle: Lifecycle,
        is_busy: Callable[[], bool],
    ) -> None:
        """Drive the container of *member*; *is_busy* says whether it has to be left alone."""
        self._member = member
        self._containers = containers
        self._lifecycle = lifecycle
        self._is_busy = is_busy
        self._alone = trio.Lock()
        self.records = ImageRecords(member.storage)
        self.is_stopping = False

    async def reconcile(self, resource: str, build: str, target: ImageTarget) -> dict[str, Any]:
        """Do the next step towards *build* and *target*, one request at a time."""
        async with self._alone:
            decision = self.records.decide(build, target)
            activity: Activity | None = None
            if decision == "START":
                activity = await self._probe()
                marker = PendingMarker(
                    resource, build, target, str(self._member.uuid()), boot_of(activity)
                )
                if not await self._hold(marker):
                    return self._said("deferred")
                decision = self.records.begin(marker, build, target)
            if decision in CONFLICTS:
                return self._said("error", code=decision)
            if decision == "VERIFIED":
                return self._said("current", verified=True)
            activity = activity or await self._probe()
            if activity is None:
                return self._said("deferred")
            if not activity.running:
                return self._said("inactive", verified=await self.report())
            if decision == "AWAIT_REPORT":
                return await self._await_report(activity)
            return await self._cycle(activity)

    async def _probe(self) -> Activity | None:
        outcome = await attempt(self._containers.activity())
        return outcome.value if isinstance(outcome, Granted) else None

    async def _hold(self, marker: PendingMarker) -> bool:
        """Have the Registry keep the drain for the debt that is about to begin."""
        registry = self._member.objects.get(Registry, REGISTRY)
        outcome = await attempt(registry.hold_for(marker.resource, marker.token, None))
        return isinstance(outcome, Granted)

    async def _cycle(self, activity: Activity) -> dict[str, Any]:
        """Stop the boot that runs, unless anything runs in it or is registered there."""
        progress, boot = self.records.progress(), activity.boot_id
        if boot is None or progress is None or self._is_busy():
            self.records.note_boot(boot)
            return self._said("deferred")
        self.is_stopping = True
        try:
            stopped = await attempt(self._containers.stop(boot))
        finally:
            self.is_stopping = False
        if not isinstance(stopped, Granted):
            return self._said("deferred")
        if not self.records.cycled(progress, boot, milliseconds(self._member.now())):
            return self._said("deferred")
        return self._said("restarted")

    async def _await_report(self, activity: Activity) -> dict[str, Any]:
        """Let the replacement finish, and report it then; stops nothing."""
        progress, boot = self.records.progress(), activity.boot_id
        if progress is None or boot is None or boot == progress.container_before_cycle:
            return self._said("deferred")
        hydrated = await attempt(self._lifecycle.restored(boot))
        if not isinstance(hydrated, Granted) or not self._is_restored(progress):
            return self._said("deferred")
        return self._said("current", verified=await self.report())

    def _is_restored(self, progress: MemberProgress) -> bool:
        """Whether the container is whole, and became so after the stop of *progress*."""
        since = progress.cycle_stopped_at or 0
        return self._lifecycle.state == "warm" and self._lifecycle.last_restore_at >= since

    async def container_ready(self, boot_id: str) -> bool:
        """Report the boot of that id, which is whole, if it can be the replacement that is owed.

        Needs no permit: it begins nothing, and it is what ends a debt under a fence. A callback
        that comes late or twice is about a boot that no longer runs, and proves nothing. Returns
        whether no debt is left.
        """
        if self.records.pending() is None:
            return True
        activity = await self._probe()
        marker = self.records.pending()
        if activity is None or activity.boot_id != boot_id:
            return marker is None
        if marker is not None and not self.is_replacement(marker, boot_id):
            return False
        return await self.report()

    def is_replacement(self, marker: PendingMarker, boot_id: str) -> bool:
        """Whether the boot of that id began after the debt of *marker*.

        Of a debt without a target nobody can tell: its report is what has always ended it (P36.5).
        """
        progress = self.records.progress()
        if progress is not None and progress.cycle_issued:
            return progress.container_before_cycle != boot_id
        if marker.target is None:
            return True
        return marker.boot is not None and marker.boot != boot_id

    async def report(self) -> bool:
        """Tell the Registry that the member is current, then end the debt that this was about.

        A lost reply keeps the debt: it is reported again later. A debt that has begun meanwhile has
        another token, and stays. Returns whether no debt is left.
        """
        marker = self.records.pending()
        if marker is None:
            return True
        registry = self._member.objects.get(Registry, REGISTRY)
        resource = marker.resource or self._member.address.name
        outcome = await attempt(registry.report_image_current(resource, marker.token))
        return isinstance(outcome, Granted) and self.records.settle(marker.token)

    def _said(
        self, result: str, *, verified: bool = False, code: str | None = None
    ) -> dict[str, Any]:
        """Return what a request is answered, with what is stored: that is what is true."""
        progress = self.records.progress()
        target = None if progress is None or progress.target is None else progress.target.wire()
        return {
            "result": result,
            "verified": verified,
            "build": None if progress is None else progress.build,
            "target": target,
            "code": code,
        }


def boot_of(activity: Activity | None) -> str | None:
    """Return which boot runs: its id, "" if none does, None if nobody could tell."""
    return None if activity is None else activity.boot_id or ""

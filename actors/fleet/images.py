"""The image of one member's container: its progress, the report that it owes, and what to do next.

Progress and the pending marker begin in one commit. Only the report, by the token of its own
marker, ends a pending marker; no timer does. Source: spec/deploy-fence.md B.2, C.0, E.6 (P34, P36).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from ..storage import Storage
from .documents import as_int, as_mapping, as_text
from .identities import ImageTarget

__all__ = [
    "IMAGE_DECISIONS",
    "IMAGE_MACHINE",
    "ImageDecision",
    "ImageMove",
    "ImageRecords",
    "MemberProgress",
    "PendingMarker",
    "RecordForm",
    "decide",
    "record_form",
]

PROGRESS: Final = "image:progress"
PENDING: Final = "image:pending"

ImageDecision = Literal[
    "START",
    "VERIFIED",
    "RETRY_CYCLE",
    "AWAIT_REPORT",
    "PENDING_WITHOUT_TARGET",
    "PENDING_OTHER_TARGET",
]
RecordForm = Literal["none", "other", "equal", "equal, cycled"]


@attrs.frozen
class MemberProgress:
    """How far a member has come to one build and target.

    Attributes:
        build: artifact id that the reconcile named.
        target: what its container is to run; None in a row from before targets were kept.
        cycle_issued: whether its container was stopped for it.
        cycle_stopped_at: when, milliseconds since 1970.
        container_before_cycle: id of the boot that was stopped.
    """

    build: str
    target: ImageTarget | None
    cycle_issued: bool = False
    cycle_stopped_at: int | None = None
    container_before_cycle: str | None = None

    @classmethod
    def parse(cls, raw: object) -> "MemberProgress | None":
        """Return the progress that *raw* says, or None if it has not the form."""
        fields = as_mapping(raw) or {}
        build, issued = as_text(fields.get("build")), fields.get("cycleIssued")
        if build is None or not isinstance(issued, bool):
            return None
        return cls(
            build,
            ImageTarget.parse(fields.get("target")),
            issued,
            as_int(fields.get("cycleStoppedAt")),
            as_text(fields.get("containerBeforeCycle")),
        )

    def wire(self) -> dict[str, Any]:
        """Return it as it is stored."""
        parts = {
            "build": self.build,
            "target": None if self.target is None else self.target.wire(),
            "cycleIssued": self.cycle_issued,
            "cycleStoppedAt": self.cycle_stopped_at,
            "containerBeforeCycle": self.container_before_cycle,
        }
        return {name: value for name, value in parts.items() if value is not None}


@attrs.frozen
class PendingMarker:
    """The note that a member still owes the report for its progress.

    Attributes:
        resource: whose.
        build: as in the progress; None in a row from before targets were kept, as all that follow.
        target: as in the progress.
        token: names this one debt; a report deletes no other.
        boot: id of the boot that ran when the debt began; "" if none did, None if unknown.
    """

    resource: str
    build: str | None = None
    target: ImageTarget | None = None
    token: str | None = None
    boot: str | None = None

    @classmethod
    def parse(cls, raw: object) -> "PendingMarker | None":
        """Return the marker that *raw* says; None only if there is none: a debt stays a debt."""
        if raw is None:
            return None
        fields = as_mapping(raw) or {}
        resource, build, token, boot = (
            as_text(fields.get(k)) for k in ("resource", "build", "token", "boot")
        )
        return cls(resource or "", build, ImageTarget.parse(fields.get("target")), token, boot)

    def wire(self) -> dict[str, Any]:
        """Return it as it is stored."""
        parts = {
            "resource": self.resource,
            "build": self.build,
            "target": None if self.target is None else self.target.wire(),
            "token": self.token,
            "boot": self.boot,
        }
        return {name: value for name, value in parts.items() if value is not None}


IMAGE_DECISIONS: Final[Mapping[tuple[bool, RecordForm], ImageDecision]] = MappingProxyType(
    {
        (False, "none"): "START",
        (False, "other"): "START",
        (False, "equal"): "VERIFIED",
        (False, "equal, cycled"): "VERIFIED",
        (True, "none"): "PENDING_WITHOUT_TARGET",
        (True, "other"): "PENDING_OTHER_TARGET",
        (True, "equal"): "RETRY_CYCLE",
        (True, "equal, cycled"): "AWAIT_REPORT",
    }
)
"""Member image decision (C.0), by whether a report is owed and by what the records say."""


def record_form(
    marker: PendingMarker | None, progress: MemberProgress | None, build: str, target: ImageTarget
) -> RecordForm:
    """Return what is stored about *build* and *target*."""
    if progress is None or progress.target is None:
        return "none"
    if marker is not None:
        if marker.target is None:
            return "none"
        if (marker.build, marker.target) != (progress.build, progress.target):
            return "other"
    if not is_same(progress, build, target):
        return "other"
    return "equal, cycled" if progress.cycle_issued else "equal"


def is_same(progress: MemberProgress, build: str, target: ImageTarget) -> bool:
    """Whether *progress* is about exactly this build and this target."""
    return progress.build == build and progress.target == target


def decide(
    marker: PendingMarker | None, progress: MemberProgress | None, build: str, target: ImageTarget
) -> ImageDecision:
    """Return what a request for *build* and *target* asks of the member. Decides, and only that."""
    return IMAGE_DECISIONS[marker is not None, record_form(marker, progress, build, target)]


class ImageRecords:
    """What a member stores about its image. All writes of one method are one commit."""

    __slots__ = ("_kv",)

    def __init__(self, storage: Storage) -> None:
        self._kv = storage.kv

    def progress(self) -> MemberProgress | None:
        """Return the stored progress, or None if there is none that can be read."""
        return MemberProgress.parse(self._kv.get(PROGRESS))

    def pending(self) -> PendingMarker | None:
        """Return the marker of the report that is owed, or None if none is."""
        return PendingMarker.parse(self._kv.get(PENDING))

    def decide(self, build: str, target: ImageTarget) -> ImageDecision:
        """Return what a request for *build* and *target* asks, as things are stored now."""
        return decide(self.pending(), self.progress(), build, target)

    def begin(self, marker: PendingMarker, build: str, target: ImageTarget) -> ImageDecision:
        """Decide again, and begin the debt of *marker* if that is still what is to be done."""
        decision = self.decide(build, target)
        if decision == "START":
            progress = MemberProgress(build, target)
            self._kv.put_many({PENDING: marker.wire(), PROGRESS: progress.wire()})
        return decision

    def note_boot(self, boot: str | None) -> None:
        """Remember that *boot* runs under a debt of which nobody could tell which boot it met."""
        marker = self.pending()
        if marker is not None and marker.target is not None and marker.boot is None and boot:
            self._kv.put(PENDING, attrs.evolve(marker, boot=boot).wire())

    def cycled(self, before: MemberProgress, boot: str, now: int) -> bool:
        """Store that *boot* was stopped for *before*, unless the progress is another by now."""
        if self.progress() != before:
            return False
        issued = attrs.evolve(
            before, cycle_issued=True, cycle_stopped_at=now, container_before_cycle=boot
        )
        self._kv.put(PROGRESS, issued.wire())
        return True

    def settle(self, token: str | None) -> bool:
        """Delete the marker if it is still that of *token*; returns whether none is left."""
        marker = self.pending()
        if marker is None:
            return True
        if marker.token != token:
            return False
        self._kv.delete(PENDING)
        return True


@attrs.frozen
class ImageMove:
    """One row of the member's state machine, for people and for tests.

    Attributes:
        state: progress, and whether a report is owed.
        event: what happens.
        after: the state that follows.
        effect: what is done.
    """

    state: str
    event: str
    after: str
    effect: str


IMAGE_MACHINE: Final = (
    ImageMove("other or none, not owed", "reconcile T", "T, owed", "hold, then both in one commit"),
    ImageMove("T, not owed", "reconcile T", "T, not owed", "verified"),
    ImageMove("T, owed", "reconcile T, quiet, stopped", "T cycled, owed", "the boot is noted"),
    ImageMove("T, owed", "reconcile T, busy or unreadable", "T, owed", "deferred"),
    ImageMove("T, owed", "seen inactive", "T, not owed", "report"),
    ImageMove("T cycled, owed", "seen inactive", "T, not owed", "report"),
    ImageMove("T cycled, owed", "new boot, hydrated", "T, not owed", "report"),
    ImageMove("T cycled, owed", "reconcile T, hydrating", "T cycled, owed", "deferred, no stop"),
    ImageMove("P, owed", "reconcile T", "P, owed", "conflict, nothing written"),
    ImageMove("P, owed", "report by its token", "P, not owed", "the marker goes"),
    ImageMove("any", "time", "the same", "nothing"),
)
"""Member image progress (E.6)."""

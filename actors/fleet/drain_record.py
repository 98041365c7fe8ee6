"""The rows of drain and fence: what is stored, and how rows of every level are read.

One flat row says all: an old reader finds the fields that it knows, and a fence of an old writer is
read as one. Source: spec/deploy-fence.md B.1, L (operation 5).
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...wire import content_hash
from .documents import as_int, as_list, as_mapping, as_text

__all__ = ["DrainRecord", "Fence", "FenceOwner", "Hold", "Swap"]

OWNER_KINDS: Final = ("preflight", "recovery", "deciding", "decision", "controller")


@attrs.frozen
class FenceOwner:
    """Who set a fence.

    Attributes:
        kind: one of `OWNER_KINDS`.
        ref: names the attempt.
    """

    kind: str
    ref: str

    @classmethod
    def parse(cls, raw: object) -> "FenceOwner | None":
        """Return the owner that *raw*, a document, says, or None if it has not the form."""
        fields = as_mapping(raw)
        if fields is None:
            return None
        kind, ref = fields.get("kind"), fields.get("ref")
        return cls(kind, ref) if kind in OWNER_KINDS and isinstance(ref, str) else None

    def wire(self) -> dict[str, Any]:
        """Return it as a document."""
        return {"kind": self.kind, "ref": self.ref}


@attrs.frozen
class Swap:
    """The Worker that set a fence: an upload swaps it away.

    Attributes:
        version: UUID of the Worker version.
        build: artifact id.
        at: when the fence was set, milliseconds by the Registry's clock.
    """

    version: str
    build: str
    at: int

    def wire(self) -> dict[str, Any]:
        """Return it as the fields of the drain."""
        return {"swapVersion": self.version, "swapBuild": self.build, "swapAt": self.at}


@attrs.frozen
class Fence:
    """One closing of the fleet inside a drain.

    Attributes:
        fence_id: names this closing and no other; compared wherever one is named.
        owner: whose it is.
        swap: the Worker that set it.
    """

    fence_id: str
    owner: FenceOwner
    swap: Swap


@attrs.frozen
class Hold:
    """A member that owes an image report.

    Attributes:
        resource: whose.
        token: of the member's own marker; None if it was put on from outside.
    """

    resource: str
    token: str | None

    @classmethod
    def parse(cls, raw: object) -> "Hold | None":
        """Return the hold that *raw*, a document, says, or None if it has not the form."""
        fields = as_mapping(raw)
        if fields is None:
            return None
        resource = as_text(fields.get("resource"))
        return None if resource is None else cls(resource, as_text(fields.get("token")))

    def wire(self) -> dict[str, Any]:
        """Return it as a document."""
        return {"resource": self.resource, "token": self.token}


@attrs.frozen(kw_only=True)
class DrainRecord:
    """The one drain. Instants are milliseconds by the Registry's clock.

    Attributes:
        drain_id: names this drain.
        since: when it began.
        until: when it ends by itself.
        by: who asked for it.
        reason: why.
        holds: members that owe an image report, by name.
        reported_at: resource to the instant of its last report in this drain.
        holds_until: how long holds keep it; None before the first.
        lift_asked: whether undrain was asked while holds stood.
        fence: that stands in it.
        swap: of the last fence, which stays when an attempt takes its fence back.
    """

    drain_id: str
    since: int
    until: int
    by: str = ""
    reason: str = ""
    holds: tuple[Hold, ...] = ()
    reported_at: Mapping[str, int] = attrs.field(factory=dict[str, int])
    holds_until: int | None = None
    lift_asked: bool = False
    fence: Fence | None = None
    swap: Swap | None = None

    @classmethod
    def parse(cls, raw: object) -> "DrainRecord | None":
        """Return the record that *raw*, a stored row of any level, says, or None if it has not
        the form. Only the fields that every level writes are asked for.
        """
        fields = as_mapping(raw)
        if fields is None:
            return None
        since, until = as_int(fields.get("since")), as_int(fields.get("until"))
        by, reason = as_text(fields.get("by")), as_text(fields.get("reason"))
        if since is None or until is None or by is None or reason is None:
            return None
        swap = swap_of(fields)
        return cls(
            drain_id=as_text(fields.get("drainId")) or content_hash([since, until, by, reason]),
            since=since,
            until=until,
            by=by,
            reason=reason,
            holds=holds_of(fields.get("holds")),
            reported_at=reports_of(fields.get("reportedAt")),
            holds_until=as_int(fields.get("holdsUntil")),
            lift_asked=fields.get("liftAsked") is True,
            fence=fence_of(fields, since, until, swap),
            swap=swap,
        )

    def wire(self) -> dict[str, Any]:
        """Return the row as it is stored and answered; what is absent is left out."""
        found: dict[str, Any] = {
            "drainId": self.drain_id,
            "since": self.since,
            "until": self.until,
            "by": self.by,
            "reason": self.reason,
            "swapFence": self.fence is not None,
        }
        if self.holds:
            found["holds"] = [hold.wire() for hold in self.holds]
        if self.reported_at:
            found["reportedAt"] = dict(sorted(self.reported_at.items()))
        if self.holds_until is not None:
            found["holdsUntil"] = self.holds_until
        if self.lift_asked:
            found["liftAsked"] = True
        if self.swap is not None:
            found.update(self.swap.wire())
        if self.fence is not None:
            found.update(fenceId=self.fence.fence_id, owner=self.fence.owner.wire())
        return found


def swap_of(fields: Mapping[str, Any]) -> Swap | None:
    """Return the Worker of the last fence that a drain row tells, if it does."""
    version, at = as_text(fields.get("swapVersion")), as_int(fields.get("swapAt"))
    if version is None or at is None:
        return None
    return Swap(version, as_text(fields.get("swapBuild")) or "", at)


def fence_of(fields: Mapping[str, Any], since: int, until: int, swap: Swap | None) -> Fence | None:
    """Return the fence that stands in a drain row: one without a name is named by its drain."""
    if fields.get("swapFence") is not True:
        return None
    worker = swap or Swap("", "", since)
    named = as_text(fields.get("fenceId"))
    owner = FenceOwner.parse(fields.get("owner")) or FenceOwner("preflight", "")
    return Fence(named or content_hash([since, until, worker.version]), owner, worker)


def holds_of(raw: object) -> tuple[Hold, ...]:
    """Return the holds that *raw*, a list, tells, by name."""
    found = map(Hold.parse, as_list(raw))
    return tuple(sorted((each for each in found if each is not None), key=lambda h: h.resource))


def reports_of(raw: object) -> dict[str, int]:
    """Return the reports that *raw*, a map from resource to instant, tells."""
    rows = as_mapping(raw) or {}
    return {name: at for name, value in rows.items() if (at := as_int(value)) is not None}

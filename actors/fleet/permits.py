"""Which permits count, and what may happen to a permit.

A permit stands for a request that has not ended; it is bookkeeping and gives no right (P26.2).
Source: spec/deploy-fence.md C.0, C.2, E.2.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

from ...wire import content_hash
from .drain_record import Fence
from .identities import is_sha256, is_uuid
from .machines import Edge, Guard, Machine
from .permit_rows import Permit, RecoveryAudit, ReleaseReceipt, permits_of, record_sha

__all__ = [
    "KINDS",
    "PERMIT_MACHINE",
    "Counted",
    "Exempted",
    "Permit",
    "PermitFacts",
    "RecoveryAudit",
    "ReleaseReceipt",
    "counted",
    "is_well_formed",
    "permit_state",
    "permits_of",
    "record_sha",
]

KINDS: Final = (
    "attach",
    "deadline",
    "detach",
    "exec",
    "fleet",
    "op",
    "reconcile",
    "refresh",
    "watchdog",
)
"""What a permit can be for: all that holds one for its whole duration."""

State = Literal["absent", "keyed", "legacy", "released", "retired"]


# ---- the common calculation


@attrs.frozen(kw_only=True)
class Exempted:
    """The one record that a gate may leave out: part two makes these, `counted` knows them.

    Attributes:
        kind: "proposal" of a risk decision, its "window", or the "decision" of a late release.
        gates: where it may be used.
        record_id: the record that is left out; None for none.
        record_sha256: hash of its complete row.
        started_at: its start.
        audit_sha256: hash of the abandonment audit.
        state: of a window.
        expires_at: of a window, milliseconds; that instant is expired.
        fence_id: of a window.
        used_by: what a decision was used for.
    """

    kind: Literal["proposal", "window", "decision"]
    gates: frozenset[str]
    record_id: str | None = None
    record_sha256: str | None = None
    started_at: int | None = None
    audit_sha256: str | None = None
    state: str = "open"
    expires_at: int = 0
    fence_id: str | None = None
    used_by: str | None = None


@attrs.frozen
class Counted:
    """Which permits block a gate.

    Attributes:
        blocking: ids of those that count.
        excluded: id of the one that was left out.
        problem: code of why the exception does not hold.
    """

    blocking: frozenset[str]
    excluded: str | None = None
    problem: str | None = None

    @property
    def is_clear(self) -> bool:
        """Whether nothing stands in the way."""
        return self.problem is None and not self.blocking


def counted(
    permits: Mapping[str, Permit],
    exempted: Exempted | None,
    audit: Mapping[str, Any] | None,
    fence: Fence | None,
    now: int,
    gate: str,
) -> Counted:
    """Return which of *permits* block *gate*: the one calculation that every gate uses (P27.2).

    At most one record is left out, by an exception that lives, is unchanged and is for this gate.
    *audit* is the abandonment audit of that record.
    """
    ids = frozenset(permits)
    if exempted is None:
        return Counted(ids)
    problem = problem_of(permits, exempted, audit, fence, now, gate)
    if problem is not None or exempted.record_id is None:
        return Counted(ids, None, problem)
    return Counted(ids - {exempted.record_id}, exempted.record_id)


def problem_of(
    permits: Mapping[str, Permit],
    exempted: Exempted,
    audit: Mapping[str, Any] | None,
    fence: Fence | None,
    now: int,
    gate: str,
) -> str | None:
    """Return the code of why *exempted* leaves nothing out, or None if it holds."""
    if gate not in exempted.gates:
        return "EXCEPTION_NOT_FOR_GATE"
    if exempted.kind == "window":
        if exempted.state not in ("open", "claimed", "sealed") or now >= exempted.expires_at:
            return "WINDOW_NOT_LIVE"
        if fence is None or fence.fence_id != exempted.fence_id:
            return "WINDOW_FENCE_MISMATCH"
    if exempted.kind == "decision" and exempted.used_by is not None:
        return "DECISION_USED"
    if exempted.record_id is None:
        return None
    permit = permits.get(exempted.record_id)
    if permit is None:
        return "ORIGINAL_ABSENT"
    if permit.sha != exempted.record_sha256 or permit.started_at != exempted.started_at:
        return "ORIGINAL_CHANGED"
    unaudited = audit is None or content_hash(dict(audit)) != exempted.audit_sha256
    return "AUDIT_CHANGED" if exempted.kind != "proposal" and unaudited else None


# ---- the table


def is_well_formed(permit_id: object, provenance_sha256: object, kind: object) -> bool:
    """Whether a keyed begin has the form that it must have."""
    return is_uuid(permit_id) and is_sha256(provenance_sha256) and kind in KINDS


def permit_state(permit: Permit | None, *, has_receipt: bool, is_retired: bool) -> State:
    """Return the state of the permit machine: a row that stands comes before what is left of it."""
    if permit is not None:
        return "legacy" if permit.provenance_sha256 is None else "keyed"
    if is_retired:
        return "retired"
    return "released" if has_receipt else "absent"


@attrs.frozen(kw_only=True)
class PermitFacts:
    """What one event at a permit knows.

    Attributes:
        permit: that stands under the id.
        is_well_formed: whether what was asked has its form.
        is_retired: whether an audit of either kind names the id.
        is_recovered: whether a recovery audit does.
        has_receipt: whether a receipt names the id.
        receipt: that receipt, if it can be read.
        provenance_sha256: that was named.
        is_held: whether maintenance closes the fleet to what is asked.
        is_fenced: whether a fence stands.
        is_reconcile: whether the kind is `reconcile`.
        is_post_upload: whether the Worker that asks is newer than the fence.
        is_own_fence: whether the recovery's own fence stands.
        started_at: that was quoted.
        record_sha256: that was quoted.
    """

    permit: Permit | None = None
    is_well_formed: bool = True
    is_retired: bool = False
    is_recovered: bool = False
    has_receipt: bool = False
    receipt: ReleaseReceipt | None = None
    provenance_sha256: str | None = None
    is_held: bool = False
    is_fenced: bool = False
    is_reconcile: bool = False
    is_post_upload: bool = False
    is_own_fence: bool = False
    started_at: int | None = None
    record_sha256: str | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the receipt is that of the hash that was named."""
        receipt = self.receipt
        return receipt is not None and receipt.provenance_sha256 == self.provenance_sha256

    @property
    def is_exact(self) -> bool:
        """Whether the permit has the hash that was named."""
        return is_exact(self.permit, self.provenance_sha256)

    @property
    def is_quoted(self) -> bool:
        """Whether the permit is the one that was quoted."""
        return is_quoted(self.permit, self.started_at, self.record_sha256)


def is_exact(permit: Permit | None, provenance_sha256: str | None) -> bool:
    """Whether *permit* may be ended by *provenance_sha256*."""
    return permit is not None and permit.provenance_sha256 == provenance_sha256


def is_quoted(permit: Permit | None, started_at: int | None, record_sha256: str | None) -> bool:
    """Whether *permit* is, start and complete row, what was quoted of it."""
    return permit is not None and permit.started_at == started_at and permit.sha == record_sha256


Row = Edge[PermitFacts]
ANY: Final = "absent keyed legacy released retired"
GONE: Final = "absent released retired"
MALFORMED: Final = Guard[PermitFacts]("malformed", lambda facts: not facts.is_well_formed)
AUDITED: Final = Guard[PermitFacts]("an audit", lambda facts: facts.is_retired)
RECOVERED: Final = Guard[PermitFacts]("a recovery audit", lambda facts: facts.is_recovered)
RECEIVED: Final = Guard[PermitFacts]("a receipt", lambda facts: facts.has_receipt)
HELD: Final = Guard[PermitFacts]("maintenance held", lambda facts: facts.is_held)
TOO_EARLY: Final = Guard[PermitFacts](
    "fence, reconcile, Worker not newer than it",
    lambda facts: facts.is_fenced and facts.is_reconcile and not facts.is_post_upload,
)
CLOSED: Final = Guard[PermitFacts](
    "fence, any other kind", lambda facts: facts.is_fenced and not facts.is_reconcile
)
ACKNOWLEDGED: Final = Guard[PermitFacts](
    "a receipt of that hash", lambda facts: facts.is_acknowledged
)
INEXACT: Final = Guard[PermitFacts]("another hash", lambda facts: not facts.is_exact)
FOREIGN: Final = Guard[PermitFacts]("not under its own fence", lambda facts: not facts.is_own_fence)
CHANGED: Final = Guard[PermitFacts]("start or row differs", lambda facts: not facts.is_quoted)

PERMIT_MACHINE: Final = Machine[PermitFacts](
    "permit and receipt",
    ("absent", "keyed", "legacy", "released", "retired"),
    (
        Row(ANY, "begin keyed", None, MALFORMED, code="BAD_REQUEST"),
        Row(ANY, "begin keyed", None, AUDITED, code="ADMISSION_ID_RETIRED"),
        Row(ANY, "begin keyed", None, RECEIVED, code="ADMISSION_ID_RELEASED"),
        Row("keyed legacy", "begin keyed", None, code="ADMISSION_ID_EXISTS"),
        Row("absent", "begin keyed", None, HELD, code="MAINTENANCE_HELD"),
        Row("absent", "begin keyed", None, TOO_EARLY, code="RECONCILE_BEFORE_UPLOAD"),
        Row("absent", "begin keyed", None, CLOSED, code="FENCED"),
        Row("absent", "begin keyed", "keyed", effect="the row"),
        Row("absent", "begin legacy", None, HELD, code="MAINTENANCE_HELD"),
        Row("absent", "begin legacy", None, CLOSED, code="FENCED"),
        Row("absent", "begin legacy", "legacy", effect="the row, under an id made here"),
        Row(ANY, "end keyed", None, ACKNOWLEDGED, effect="nothing: that receipt"),
        Row(ANY, "end keyed", None, RECEIVED, code="HASH_MISMATCH"),
        Row("absent retired", "end keyed", None, code="ADMISSION_UNKNOWN"),
        Row("legacy", "end keyed", None, code="LEGACY_RECORD"),
        Row("keyed", "end keyed", None, INEXACT, code="HASH_MISMATCH"),
        Row("keyed", "end keyed", "released", effect="row goes, receipt comes, oldest goes"),
        Row("keyed", "end legacy", None, code="KEYED_RELEASE_NEEDS_HASH"),
        Row("legacy", "end legacy", "absent", effect="row goes, no receipt"),
        Row(GONE, "end legacy", None, effect="nothing"),
        Row(ANY, "recover", None, FOREIGN, code="RECOVERY_NEEDS_UNFENCED_DRAIN"),
        Row(ANY, "recover", None, RECOVERED, code="AUDIT_EXISTS"),
        Row(GONE, "recover", None, code="ADMISSION_NOT_FOUND"),
        Row("keyed legacy", "recover", None, CHANGED, code="QUOTE_MISMATCH"),
        Row("keyed legacy", "recover", "retired", effect="row goes, audit comes"),
    ),
)
"""E.2: what begin, end and recovery do to a permit, and by which code they are refused. Time,
restarts, uploads, the end of a drain and the eviction of receipts are no events of it."""

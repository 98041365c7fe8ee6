"""`Registry`: the one object that knows members, drain and fence, permits, receipts and audits.

Source: spec/deploy-fence.md B.1, C.3.
"""

from collections.abc import Mapping
from typing import Any

from .admitting import Admitting
from .codes import refused
from .drain_record import DrainRecord
from .draining import Document
from .identities import is_sha256
from .membership import Membership
from .permit_rows import Permit, RecoveryAudit
from .permits import PermitFacts

__all__ = ["Registry"]


def is_recovery_fence(
    record: DrainRecord | None, fence_id: str, producer: Mapping[str, Any]
) -> bool:
    """Whether the recovery's own fence stands in *record*: by its id and its Worker."""
    fence = None if record is None else record.fence
    return (
        fence is not None
        and fence.owner.kind == "recovery"
        and fence.fence_id == fence_id
        and fence.swap.version == producer.get("workerVersion")
    )


def audit_of(
    permit: Permit,
    evidence_url_sha256: str,
    record: DrainRecord,
    producer: Mapping[str, Any],
    now: int,
) -> RecoveryAudit:
    """Return the audit of the recovery of *permit* under the fence that stands in *record*."""
    assert record.fence is not None
    fence = {
        "fenceId": record.fence.fence_id,
        "since": record.since,
        "until": record.until,
        "swapVersion": record.fence.swap.version,
    }
    by = {key: producer.get(key) for key in ("workerVersion", "artifactId")}
    return RecoveryAudit(
        permit.id, permit.row, permit.sha, permit.started_at or 0, evidence_url_sha256, now, fence,
        by,
    )  # fmt: skip


class Registry(Admitting):
    """The Registry of a fleet. It holds no credential: only the fleet's own code calls it."""

    def __init__(self) -> None:
        super().__init__()
        self._members = Membership(self.storage)

    # ---- inventory and recovery

    async def list_admissions(self) -> Document:
        """Return `admissions`: id, start and kind of every permit, as ever (OP-13)."""
        permits = self._admissions.permits().values()
        return {"admissions": [permit.compact() for permit in permits]}

    async def quote_admission(self, permit_id: str) -> Document:
        """Return one `admission`, its `quote`, and the `evidence` that names its id (OP-13)."""
        permit = self._admissions.permit(permit_id)
        quote = None
        if permit is not None:
            quote = {"id": permit_id, "startedAt": permit.started_at, "recordSha256": permit.sha}
        return {
            "admission": None if permit is None else permit.compact(),
            "quote": quote,
            "evidence": {
                "recovered": self._admissions.recovered(permit_id),
                "abandoned": self._admissions.abandoned(permit_id),
                "receipt": self._admissions.receipt(permit_id),
            },
        }

    async def recover_quoted(
        self,
        permit_id: str,
        expected_started_at: int,
        expected_record_sha256: str,
        evidence_url_sha256: str,
        fence_id: str,
        producer: Mapping[str, Any],
    ) -> Document:
        """Put an audit in the place of exactly the permit that was quoted (OP-14); returns it.

        Raises:
            FleetRefused: BAD_REQUEST, RECOVERY_NEEDS_UNFENCED_DRAIN (its own fence does not stand),
                AUDIT_EXISTS, ADMISSION_NOT_FOUND or QUOTE_MISMATCH: the permit stays.
        """
        if not is_sha256(evidence_url_sha256):
            raise refused("BAD_REQUEST", "evidence is named by its hash")
        now = self._now()
        record = self._live(now)
        asked = PermitFacts(
            is_own_fence=is_recovery_fence(record, fence_id, producer),
            started_at=expected_started_at,
            record_sha256=expected_record_sha256,
        )
        facts, _ = self._permit_event(permit_id, "recover", asked)
        assert facts.permit is not None
        assert record is not None
        audit = audit_of(facts.permit, evidence_url_sha256, record, producer, now)
        self._admissions.recover(audit)
        return audit.wire()

    async def read_recovery(self, permit_id: str) -> Document:
        """Return the stored recovery `audit` of that id; None says nothing."""
        return {"audit": self._admissions.recovered(permit_id)}

    # ---- members

    async def add_member(
        self, resource: str, physical_member: str, config: Mapping[str, Any] | None = None
    ) -> Document:
        """List a new member, which cannot be used yet; returns its row (OP-32).

        Raises:
            FleetRefused: FENCED, a fence stands; BAD_REQUEST, it is listed already or has no name.
                Nothing was written.
        """
        self._require_same_members()
        row = self._members.add(resource, physical_member, config or {}, self._now())
        return row.wire()

    async def activate_member(self, resource: str) -> Document:
        """Say that a member can be used; returns its row (OP-32).

        Raises:
            FleetRefused: NOT_FOUND, there is none. Nothing was written.
        """
        return self._members.activate(resource).wire()

    async def remove_member(self, resource: str) -> Document:
        """Take a member off the list; returns the row that it had (OP-32).

        Raises:
            FleetRefused: FENCED, a fence stands; NOT_FOUND, there is none. Nothing was written.
        """
        self._require_same_members()
        return self._members.remove(resource).wire()

    async def list_members(self) -> list[Any]:
        """Return the rows of all members, by resource."""
        return self._members.rows()

    def _require_same_members(self) -> None:
        """Refuse to change the list while a fence stands: whoever set it may have read the list.

        A permit from before the fence is no excuse. It may have ended when permits are counted,
        and a recovery counts none.
        """
        record = self._live(self._now())
        if record is not None and record.fence is not None:
            raise refused("FENCED", "the list of members stays as it is under a fence")

"""The part of the Registry that admits requests and settles them.

Each request is one turn, without an await between what it reads and what it writes: its writes are
one transaction. Source: spec/deploy-fence.md C.2.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from .documents import as_text
from .drain import is_post_upload, worker_of
from .draining import Document, Draining
from .machines import Edge
from .maintenance import is_closed
from .permit_rows import ReleaseReceipt, keyed_row
from .permits import PERMIT_MACHINE, PermitFacts, is_well_formed, permit_state

__all__ = ["Admitting"]


class Admitting(Draining, name="Admitting"):
    """Permits and receipts of one fleet."""

    def _gate(self, kind: str | None, producer: Mapping[str, Any], now: int) -> PermitFacts:
        """Return what the gates say of a request of *kind* by *producer*."""
        record = self._live(now)
        fence = None if record is None else record.fence
        return PermitFacts(
            is_held=is_closed(self._held(), kind, producer.get("commit")),
            is_fenced=fence is not None,
            is_reconcile=kind == "reconcile",
            is_post_upload=is_post_upload(fence, worker_of(producer)),
        )

    def _permit_event(
        self, permit_id: str, event: str, asked: PermitFacts
    ) -> tuple[PermitFacts, Edge[PermitFacts]]:
        """Return what *event* knows beside what was *asked*, and the row that it takes."""
        receipt = self._admissions.receipt(permit_id)
        recovered = self._admissions.recovered(permit_id) is not None
        facts = attrs.evolve(
            asked,
            permit=self._admissions.permit(permit_id),
            is_retired=recovered or self._admissions.abandoned(permit_id) is not None,
            is_recovered=recovered,
            has_receipt=receipt is not None,
            receipt=ReleaseReceipt.parse(receipt),
        )
        state = permit_state(
            facts.permit, has_receipt=facts.has_receipt, is_retired=facts.is_retired
        )
        return facts, PERMIT_MACHINE.step(state, event, facts, recovered=recovered)

    # ---- admission

    async def begin_keyed(
        self, permit_id: str, provenance_sha256: str, kind: str, producer: Mapping[str, Any]
    ) -> Document:
        """Admit a request under the caller's own id (OP-07, OP-12); gates and row are one.

        Raises:
            FleetRefused: BAD_REQUEST, ADMISSION_ID_RETIRED, ADMISSION_ID_RELEASED,
                ADMISSION_ID_EXISTS, MAINTENANCE_HELD, RECONCILE_BEFORE_UPLOAD or FENCED: no permit
                was written, and none is granted.
        """
        now = self._now()
        well_formed = is_well_formed(permit_id, provenance_sha256, kind)
        asked = attrs.evolve(self._gate(kind, producer, now), is_well_formed=well_formed)
        self._permit_event(permit_id, "begin keyed", asked)
        version = as_text(producer.get("workerVersion"))
        self._admissions.admit(permit_id, keyed_row(now, kind, provenance_sha256, version))
        return {"granted": True, "startedAt": now}

    async def read_admission(self, permit_id: str) -> Document:
        """Return the stored `row` of that id, and an `audit` of it if there is one (OP-08).

        No row does not say that a begin was refused: it may still be on its way.
        """
        permit = self._admissions.permit(permit_id)
        found: Document = {"row": None if permit is None else dict(permit.row)}
        audit = self._admissions.recovered(permit_id) or self._admissions.abandoned(permit_id)
        return found if audit is None else {**found, "audit": audit}

    async def end_keyed(
        self, permit_id: str, provenance_sha256: str, producer: Mapping[str, Any]
    ) -> Document:
        """Release the permit of that id and hash; returns its receipt (OP-09).

        Raises:
            FleetRefused: HASH_MISMATCH or LEGACY_RECORD, the permit stays. ADMISSION_UNKNOWN, there
                is none; `recovered` says whether an audit names it. No receipt was written.
        """
        asked = PermitFacts(provenance_sha256=provenance_sha256)
        facts, edge = self._permit_event(permit_id, "end keyed", asked)
        if edge.next is None and facts.receipt is not None:
            return facts.receipt.wire()
        assert facts.permit is not None
        by = {key: producer.get(key) for key in ("workerVersion", "artifactId")}
        return self._admissions.release(facts.permit, self._now(), by).wire()

    async def read_receipt(self, permit_id: str) -> Document:
        """Return the stored `receipt` of that id; None says nothing (OP-10)."""
        return {"receipt": self._admissions.receipt(permit_id)}

    async def begin_deploy_admission(self, kind: str | None = None) -> Document:
        """Admit a request of old code, under an id made here (OP-11).

        Raises:
            FleetRefused: MAINTENANCE_HELD or FENCED: no permit was written.
        """
        now = self._now()
        permit_id = str(self.uuid())
        self._permit_event(permit_id, "begin legacy", self._gate(None, {}, now))
        row: Document = {"startedAt": now}
        self._admissions.admit(permit_id, row if kind is None else {**row, "kind": kind})
        return {"id": permit_id}

    async def end_deploy_admission(self, permit_id: str) -> Document:
        """End a request of old code; one that is not there has ended (OP-11).

        Raises:
            FleetRefused: KEYED_RELEASE_NEEDS_HASH: the permit stays.
        """
        _, edge = self._permit_event(permit_id, "end legacy", PermitFacts())
        if edge.next is not None:
            self._admissions.end_legacy(permit_id)
        return {"ended": edge.next is not None}

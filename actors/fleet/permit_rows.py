"""The rows of permits: permits of every level, release receipts, recovery audits.

Source: spec/deploy-fence.md B.1.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...wire import content_hash
from .documents import as_int, as_mapping, as_text

__all__ = [
    "Permit",
    "RecoveryAudit",
    "ReleaseReceipt",
    "keyed_row",
    "permits_of",
    "record_sha",
]

SCHEMA: Final = 2
"""Of a keyed row."""


def record_sha(permit_id: str, row: Mapping[str, Any]) -> str:
    """Return the hash of the complete stored *row* of *permit_id*: it binds key and row."""
    return content_hash({**row, "id": permit_id})


@attrs.frozen
class Permit:
    """A row of a request that was admitted and has not ended, of any level.

    Attributes:
        id: of the permit.
        row: as it is stored, complete.
    """

    id: str
    row: Mapping[str, Any] = attrs.field(hash=False)

    @classmethod
    def of(cls, permit_id: str, raw: object) -> "Permit":
        """Return the permit of the stored row *raw*. One that makes no sense counts all the same,
        and nobody can end or recover it."""
        return cls(permit_id, as_mapping(raw) or {})

    @property
    def started_at(self) -> int | None:
        """When it was admitted, milliseconds by the Registry's clock."""
        return as_int(self.row.get("startedAt"))

    @property
    def kind(self) -> str | None:
        """What it is for."""
        return as_text(self.row.get("kind"))

    @property
    def provenance_sha256(self) -> str | None:
        """The caller's hash of the original request; None on a legacy row."""
        return as_text(self.row.get("provenanceSha256"))

    @property
    def sha(self) -> str:
        """The hash of the complete row."""
        return record_sha(self.id, self.row)

    def compact(self) -> dict[str, Any]:
        """Return what a list of permits shows: id, start and kind, and never a hash (P23.4)."""
        found: dict[str, Any] = {"id": self.id, "startedAt": self.started_at}
        return found if self.kind is None else {**found, "kind": self.kind}


def keyed_row(now: int, kind: str, provenance_sha256: str, version: str | None) -> dict[str, Any]:
    """Return the row of a keyed permit that is admitted at *now*."""
    row: dict[str, Any] = {
        "startedAt": now,
        "kind": kind,
        "provenanceSha256": provenance_sha256,
        "schema": SCHEMA,
    }
    return row if version is None else {**row, "workerVersion": version}


def permits_of(rows: Mapping[str, Any], prefix: str) -> dict[str, Permit]:
    """Return the permits of stored *rows*, whose keys begin with *prefix*, by id."""
    named = ((key.removeprefix(prefix), raw) for key, raw in rows.items())
    return {permit_id: Permit.of(permit_id, raw) for permit_id, raw in named}


@attrs.frozen
class ReleaseReceipt:
    """Proof that a keyed permit was released by its exact id and hash.

    Attributes:
        id: of the permit.
        provenance_sha256: of the permit.
        started_at: of the permit.
        kind: of the permit.
        record_sha256: of the permit's row.
        released_at: milliseconds by the Registry's clock.
        seq: grows with each receipt.
        producer: the Worker that released it.
    """

    id: str
    provenance_sha256: str
    started_at: int
    kind: str
    record_sha256: str
    released_at: int
    seq: int
    producer: Mapping[str, Any] = attrs.field(hash=False)

    @classmethod
    def parse(cls, raw: object) -> "ReleaseReceipt | None":
        """Return the receipt that *raw*, a document, says, or None if it has not the form."""
        fields = as_mapping(raw)
        if fields is None:
            return None
        permit_id, provenance, sha = (
            as_text(fields.get(k)) for k in ("id", "provenanceSha256", "recordSha256")
        )
        started, released, seq = (as_int(fields.get(k)) for k in ("startedAt", "releasedAt", "seq"))
        kind, producer = as_text(fields.get("kind")), as_mapping(fields.get("producer"))
        if (
            permit_id is None
            or provenance is None
            or sha is None
            or kind is None
            or producer is None
        ):
            return None
        if started is None or released is None or seq is None:
            return None
        return cls(permit_id, provenance, started, kind, sha, released, seq, producer)

    def wire(self) -> dict[str, Any]:
        """Return it as it is stored and answered."""
        return {
            "id": self.id,
            "provenanceSha256": self.provenance_sha256,
            "startedAt": self.started_at,
            "kind": self.kind,
            "recordSha256": self.record_sha256,
            "releasedAt": self.released_at,
            "seq": self.seq,
            "producer": dict(self.producer),
        }


@attrs.frozen
class RecoveryAudit:
    """That a permit was recovered by quote: what it was, and what an operator attested.

    Attributes:
        id: of the permit.
        original: its complete row.
        record_sha256: of that row.
        started_at: of the permit.
        evidence_url_sha256: hash of the link to the request-end receipt; the link is kept nowhere.
        recovered_at: milliseconds by the Registry's clock.
        fence: under which it was done: fenceId, since, until, swapVersion.
        producer: the Worker that did it.
    """

    id: str
    original: Mapping[str, Any] = attrs.field(hash=False)
    record_sha256: str
    started_at: int
    evidence_url_sha256: str
    recovered_at: int
    fence: Mapping[str, Any] = attrs.field(hash=False)
    producer: Mapping[str, Any] = attrs.field(hash=False)

    @classmethod
    def parse(cls, raw: object) -> "RecoveryAudit | None":
        """Return the audit that *raw*, a document, says, or None if it has not the form."""
        fields = as_mapping(raw)
        if fields is None or fields.get("requestEnd") != "operator-attested":
            return None
        permit_id, sha, evidence = (
            as_text(fields.get(k)) for k in ("id", "recordSha256", "evidenceUrlSha256")
        )
        started, recovered = as_int(fields.get("startedAt")), as_int(fields.get("recoveredAt"))
        original, fence, producer = (
            as_mapping(fields.get(k)) for k in ("original", "fence", "producer")
        )
        if (
            permit_id is None
            or sha is None
            or evidence is None
            or started is None
            or recovered is None
        ):
            return None
        if original is None or fence is None or producer is None:
            return None
        return cls(permit_id, original, sha, started, evidence, recovered, fence, producer)

    def wire(self) -> dict[str, Any]:
        """Return it as it is stored and answered: nothing in it says that anything is verified."""
        return {
            "id": self.id,
            "original": dict(self.original),
            "recordSha256": self.record_sha256,
            "startedAt": self.started_at,
            "evidenceUrlSha256": self.evidence_url_sha256,
            "requestEnd": "operator-attested",
            "nativeOutcome": "unverified",
            "recoveredAt": self.recovered_at,
            "fence": dict(self.fence),
            "producer": dict(self.producer),
        }

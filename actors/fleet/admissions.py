"""What a Registry keeps of requests: permits, receipts, audits, by the id of the permit.

Every method reads first and writes last, without waiting in between: its writes are part of one
turn and stand or fall together. Source: spec/deploy-fence.md B.1, C.2.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..storage import Storage
from .bounds import RECEIPTS_MAX
from .documents import as_int, as_mapping
from .permit_rows import Permit, RecoveryAudit, ReleaseReceipt, permits_of

__all__ = ["ABANDONED", "ADMISSION", "RECEIPT", "RECEIPT_SEQ", "RECOVERED", "Admissions"]

ADMISSION: Final = "deploy:admission:"
RECEIPT: Final = "deploy:receipt:"
RECEIPT_SEQ: Final = "deploy:receiptSeq"
RECOVERED: Final = "deploy:recovered:"
ABANDONED: Final = "deploy:abandoned:"


class Admissions:
    """The permits of one Registry and what is left of them.

    Receipts are evicted by their number, which is remembered as long as the incarnation lives and
    read again by the next one.
    """

    __slots__ = ("_numbered", "_storage")

    def __init__(self, storage: Storage) -> None:
        """Keep them in *storage*."""
        self._storage = storage
        self._numbered: dict[int, str] | None = None

    def permits(self) -> dict[str, Permit]:
        """Return all permits that stand, by id."""
        return permits_of(self._storage.kv.list(prefix=ADMISSION), ADMISSION)

    def permit(self, permit_id: str) -> Permit | None:
        """Return the permit of that id."""
        raw = self._storage.kv.get(ADMISSION + permit_id)
        return None if raw is None else Permit.of(permit_id, raw)

    def receipt(self, permit_id: str) -> Any:
        """Return the stored receipt of that id, or None."""
        return self._storage.kv.get(RECEIPT + permit_id)

    def recovered(self, permit_id: str) -> Any:
        """Return the stored recovery audit of that id, or None."""
        return self._storage.kv.get(RECOVERED + permit_id)

    def abandoned(self, permit_id: str) -> Any:
        """Return the stored abandonment audit of that id, or None."""
        return self._storage.kv.get(ABANDONED + permit_id)

    def admit(self, permit_id: str, row: Mapping[str, Any]) -> None:
        """Write the row of a permit."""
        self._storage.kv.put(ADMISSION + permit_id, dict(row))

    def end_legacy(self, permit_id: str) -> None:
        """Delete a legacy permit: no receipt is left of it."""
        self._storage.kv.delete(ADMISSION + permit_id)

    def release(self, permit: Permit, now: int, producer: Mapping[str, Any]) -> ReleaseReceipt:
        """Delete a keyed permit, write its receipt and evict the oldest receipts, as one."""
        seq = (as_int(self._storage.kv.get(RECEIPT_SEQ)) or 0) + 1
        numbered = self._receipts()
        receipt = ReleaseReceipt(
            permit.id, permit.provenance_sha256 or "", permit.started_at or 0, permit.kind or "",
            permit.sha, now, seq, producer,
        )  # fmt: skip
        evicted = [number for number in numbered if is_evicted(number, seq)]

        def write() -> None:
            self._storage.kv.put(RECEIPT + permit.id, receipt.wire())
            self._storage.kv.put(RECEIPT_SEQ, seq)
            self._storage.kv.delete(ADMISSION + permit.id)
            self._storage.kv.delete_many([RECEIPT + numbered[number] for number in evicted])

        # A deletion looks at what it deletes, and that may fail: then nothing is written.
        self._storage.transaction_sync(write)
        for number in evicted:
            del numbered[number]
        numbered[seq] = permit.id
        return receipt

    def recover(self, audit: RecoveryAudit) -> None:
        """Write the audit and delete its permit, as one."""

        def write() -> None:
            self._storage.kv.put(RECOVERED + audit.id, audit.wire())
            self._storage.kv.delete(ADMISSION + audit.id)

        self._storage.transaction_sync(write)

    def _receipts(self) -> dict[int, str]:
        """Return the ids of the stored receipts by number."""
        if self._numbered is None:
            rows = self._storage.kv.list(prefix=RECEIPT)
            numbers = {key: as_int((as_mapping(row) or {}).get("seq")) for key, row in rows.items()}
            found = sorted((n, key) for key, n in numbers.items() if n is not None)
            self._numbered = {number: key.removeprefix(RECEIPT) for number, key in found}
        return self._numbered


def is_evicted(number: int, newest: int) -> bool:
    """Whether the receipt *number* is no longer kept when *newest* is written."""
    return number <= newest - RECEIPTS_MAX

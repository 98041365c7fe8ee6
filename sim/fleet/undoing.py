"""Mutants of the Registry's permits, receipts and audits, and of who may ask (K.5)."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Mapping
from typing import Any, Final

from ...actors import WebRequest
from ...actors.fleet import FleetRefused, FleetRouter, Registry, permit_rows
from ..mutants import Mutant
from .meddling import (
    end_by_a_stranger,
    end_by_old_code,
    gate_and_row_in_one,
    permit_gives_no_right,
    retired_id,
    two_debts,
)
from .permitting import end_of_many, receipt_with_its_row, settled_in_one

__all__ = ["UNDOING"]

FLEET: Final = "durasim.actors.fleet"
END_KEYED: Final = f"{FLEET}.admitting:Admitting.end_keyed"
BEGIN_KEYED: Final = f"{FLEET}.admitting:Admitting.begin_keyed"
Producer = Mapping[str, Any]

right_begin = Registry.begin_keyed
right_end = Registry.end_keyed
right_allows = FleetRouter.allows
right_recover = Registry.recover_quoted


async def delete_then_receipt(
    self: Registry, permit_id: str, provenance_sha256: str, producer: Producer
) -> Any:
    """Delete the row, and write the receipt after that."""
    row = self.storage.kv.get(f"deploy:admission:{permit_id}")
    if row is None or row.get("provenanceSha256") != provenance_sha256:
        return await right_end(self, permit_id, provenance_sha256, producer)
    self.storage.kv.delete(f"deploy:admission:{permit_id}")
    await self.storage.sync()
    self.storage.kv.put(f"deploy:admission:{permit_id}", row)
    return await right_end(self, permit_id, provenance_sha256, producer)


async def receipt_then_delete(
    self: Registry, permit_id: str, provenance_sha256: str, producer: Producer
) -> Any:
    """Write the receipt, and delete the row after that."""
    row = self.storage.kv.get(f"deploy:admission:{permit_id}")
    receipt = await right_end(self, permit_id, provenance_sha256, producer)
    if row is not None:
        self.storage.kv.put(f"deploy:admission:{permit_id}", row)
        await self.storage.sync()
        self.storage.kv.delete(f"deploy:admission:{permit_id}")
    return receipt


def end_by_id(permit: permit_rows.Permit | None, provenance_sha256: str | None) -> bool:
    """Let whoever knows the id end it."""
    del provenance_sha256
    return permit is not None


async def legacy_end_any(self: Registry, permit_id: str) -> Any:
    """Delete whatever stands under the id."""
    self._admissions.end_legacy(permit_id)
    return {"ended": True}


async def gate_outside_txn(
    self: Registry, permit_id: str, provenance_sha256: str, kind: str, producer: Producer
) -> Any:
    """Pass the gate in one turn, and write the row in a later one."""
    granted = await right_begin(self, permit_id, provenance_sha256, kind, producer)
    if kind != "attach":
        return granted
    row = self.storage.kv.get(f"deploy:admission:{permit_id}")
    self.storage.kv.delete(f"deploy:admission:{permit_id}")

    async def write() -> None:
        await self.sleep(20)
        self.storage.kv.put(f"deploy:admission:{permit_id}", row)

    self.wait_until(write)
    return granted


async def reuse_retired_id(
    self: Registry, permit_id: str, provenance_sha256: str, kind: str, producer: Producer
) -> Any:
    """Look at permits and receipts, and at no audit."""
    if self._admissions.recovered(permit_id) is None or self._gate(kind, producer, 0).is_fenced:
        return await right_begin(self, permit_id, provenance_sha256, kind, producer)
    self._admissions.admit(
        permit_id, permit_rows.keyed_row(self._now(), kind, provenance_sha256, None)
    )
    return {"granted": True, "startedAt": self._now()}


def permit_is_privilege(self: FleetRouter, scope: str, request: WebRequest) -> int | None:
    """Let in whoever quotes a permit."""
    if request.headers.get("x-permit"):
        return None
    return right_allows(self, scope, request)


def receipts_unbounded(number: int, newest: int) -> bool:
    """Keep every receipt."""
    del number, newest
    return False


async def recovery_needs_zero_permits(self: Registry, permit_id: str, *rest: Any) -> Any:
    """Recover nothing while another permit stands."""
    if len(self._admissions.permits()) > 1:
        raise FleetRefused("QUOTE_MISMATCH", "another permit stands")
    return await right_recover(self, permit_id, *rest)


UNDOING: Final = (
    # What is seen is the commit in between: no crash has to come.
    Mutant(
        "delete_then_receipt", END_KEYED, delete_then_receipt, settled_in_one, ("INV-33",),
        needs_fault=False,
    ),
    Mutant(
        "receipt_then_delete", END_KEYED, receipt_then_delete, receipt_with_its_row, ("INV-32",),
        needs_fault=False,
    ),
    Mutant(
        "end_by_id", f"{FLEET}.permits:is_exact", end_by_id, end_by_a_stranger, ("INV-40",),
        needs_fault=False,
    ),
    Mutant(
        "legacy_end_any", f"{FLEET}.admitting:Admitting.end_deploy_admission", legacy_end_any,
        end_by_old_code, ("INV-33", "INV-40"), needs_fault=False,
    ),
    Mutant(
        "gate_outside_txn", BEGIN_KEYED, gate_outside_txn, gate_and_row_in_one,
        ("INV-09", "INV-10"), parameters={"after": 1}, needs_fault=False,
    ),
    Mutant(
        "reuse_retired_id", BEGIN_KEYED, reuse_retired_id, retired_id, ("INV-39",),
        needs_fault=False,
    ),
    Mutant(
        "permit_is_privilege", f"{FLEET}.router:FleetRouter.allows", permit_is_privilege,
        permit_gives_no_right, ("INV-41",), needs_fault=False,
    ),
    Mutant(
        "receipts_unbounded", f"{FLEET}.admissions:is_evicted", receipts_unbounded, end_of_many,
        ("INV-34",), needs_fault=False,
    ),
    Mutant(
        "recovery_needs_zero_permits", f"{FLEET}.registry:Registry.recover_quoted",
        recovery_needs_zero_permits, two_debts, ("LIV-06",), needs_fault=False,
    ),
)  # fmt: skip
"""What the Registry and the router do wrong."""

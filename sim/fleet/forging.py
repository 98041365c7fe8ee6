"""Mutants of recoveries: rows, audits, links and words that are not what they are taken for."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Mapping
from typing import Any, Final

from ...actors import WebRequest
from ...actors.fleet import (
    OperatorRecovery,
    Refused,
    Registry,
    Resident,
    Uncertain,
    attempt,
    operator,
    permit_rows,
    recovery,
    registry,
    requests,
    views,
)
from ...wire import content_hash
from ..mutants import Mutant
from .recovering import (
    g44_row_rewritten,
    g46_lost_commit,
    g47_second_recovery,
    g48_late_commit,
    g49_no_receipt,
    g50_words_of_a_recovery,
    g51_old_service,
    g52_old_tool,
    g53_abandonment,
    g55_late_end,
    g56_member_that_refreshes,
    g57_audit_of_another,
)
from .stalling import FLEET

__all__ = ["FORGING"]

right_commit = recovery.Recovery._commit
right_recorded = recovery.recorded
right_recover = Registry.recover_quoted
right_end = Registry.end_keyed
right_audit = registry.audit_of
right_compact = permit_rows.Permit.compact
right_url = requests.evidence_url
right_run = OperatorRecovery.run
right_quote = operator.quote_of


def compare_key_only(permit: Any, started_at: Any, record_sha256: Any) -> bool:
    """Delete whatever has the id."""
    del started_at, record_sha256
    return permit is not None


def hash_without_start(permit: Any, started_at: Any, record_sha256: Any) -> bool:
    """Compare all but the start."""
    if permit is None:
        return False
    row = {"id": permit.id, **permit.row, "startedAt": started_at}
    return bool(content_hash(row) == record_sha256)


async def retry_recovery(self: recovery.Recovery, fence_id: str) -> dict[str, Any]:
    """Send the deletion again if nobody knows."""
    order = self._order
    for _ in range(2):
        outcome = await attempt(
            self._registry.recover_quoted(
                order.id, order.started_at, order.record_sha256, order.evidence_sha256, fence_id,
                self._producer.wire(),
            )
        )  # fmt: skip
        if not isinstance(outcome, Uncertain):
            break
    return right_recorded(order)


async def overwrite_audit(self: Registry, *given: Any) -> Any:
    """Write the audit, whatever there was."""
    stored = self._admissions.recovered(given[0])
    if stored is None:
        return await right_recover(self, *given)
    audit = {**stored, "evidenceUrlSha256": given[3]}
    self.storage.kv.put(f"deploy:recovered:{given[0]}", audit)
    return audit


def late_commit_any_fence(record: Any, fence_id: str, producer: Mapping[str, Any]) -> bool:
    """Take any fence of the same Worker for one's own."""
    del fence_id
    fence = None if record is None else record.fence
    return fence is not None and fence.swap.version == producer.get("workerVersion")


def idle_is_ended(fields: Mapping[str, Any]) -> str:
    """Do without a receipt."""
    return right_url(fields) if "evidence" in fields else "https://nothing.example/idle"


def url_is_proof(order: Any) -> dict[str, Any]:
    """Say that the end was verified: there is a link."""
    return {**right_recorded(order), "requestEnd": "verified"}


async def client_falls_back(self: OperatorRecovery) -> None:
    """Ask the older route where no quote is given."""
    await right_run(self)
    if self.report is not None and self.report.code == "NOT_FOUND":
        body = {"id": self._permit, "evidence": self._evidence}
        await self._send(WebRequest("POST", "/recover-admission", body))


async def keep_legacy_route(context: Any, request: Any) -> dict[str, Any]:
    """Delete the row of that id."""
    stub = context.objects.get(Registry, "registry")
    outcome = await attempt(stub.end_deploy_admission(request.body["id"]))
    return {"ok": not isinstance(outcome, Refused), "recovered": request.body["id"]}


def boolean_abandon(fields: Mapping[str, Any]) -> bool:
    """Take everything for a request that ended."""
    del fields
    return False


async def recovery_cleans_up(self: recovery.Recovery, fence_id: str) -> dict[str, Any]:
    """Settle the native work of every member, too."""
    done = await right_commit(self, fence_id)
    for member in await self._registry.list_members():
        resident = self._context.objects.get(Resident, member["resource"])
        await attempt(resident.native_outcome("any", "completed"))
    return done


async def late_end_receipt(self: Registry, *given: Any) -> Any:
    """Write a receipt for a permit that was recovered."""
    audit = self._admissions.recovered(given[0])
    if audit is None:
        return await right_end(self, *given)
    permit = permit_rows.Permit.of(given[0], audit["original"])
    return self._admissions.release(permit, self._now(), given[2]).wire()


def recover_while_refreshing(view: views.View) -> bool:
    """Take the states in which a deploy may meet a member."""
    return views.is_quiet(view) and view.get("activeProcesses") == 0


def partial_audit_match(audit: object, *rest: Any) -> bool:
    """Take any audit for one's own."""
    del rest
    return audit is not None


def quote_from_compact_list(body: Mapping[str, Any], permit: str) -> Any:
    """Make a quote of the row in the list."""
    found = right_quote(body, permit)
    rows = [row for row in body.get("admissions") or () if row["id"] == permit]
    if found is not None or not rows:
        return found
    return operator.Quote(permit, rows[0]["startedAt"], content_hash(rows[0]))


def audit_keeps_url(*given: Any) -> Any:
    """Keep the link beside its hash."""
    audit = right_audit(*given)
    fence = {**audit.fence, "evidence": "https://evidence.example/kept"}
    return permit_rows.RecoveryAudit(
        audit.id, audit.original, audit.record_sha256, audit.started_at,
        audit.evidence_url_sha256, audit.recovered_at, fence, audit.producer,
    )  # fmt: skip


def compact_adds_hash(self: permit_rows.Permit) -> dict[str, Any]:
    """Add the hash of the row."""
    return {**right_compact(self), "recordSha256": self.sha}


FORGING: Final = (
    Mutant(
        "compare_key_only", f"{FLEET}.permits:is_quoted", compare_key_only, g44_row_rewritten,
        ("INV-43", "INV-42"), parameters={"change": "kind"}, needs_fault=False,
    ),
    Mutant(
        "hash_without_start", f"{FLEET}.permits:is_quoted", hash_without_start,
        g44_row_rewritten, ("INV-43",), parameters={"change": "start"}, needs_fault=False,
    ),
    Mutant(
        "retry_recovery", f"{FLEET}.recovery:Recovery._commit", retry_recovery, g46_lost_commit,
        ("INV-47", "INV-45"),
    ),
    Mutant(
        "overwrite_audit", f"{FLEET}.registry:Registry.recover_quoted", overwrite_audit,
        g47_second_recovery, ("INV-45",), needs_fault=False,
    ),
    Mutant(
        "late_commit_any_fence", f"{FLEET}.registry:is_recovery_fence", late_commit_any_fence,
        g48_late_commit, ("INV-46",), needs_fault=False,
    ),
    Mutant(
        "idle_is_ended", f"{FLEET}.requests:evidence_url", idle_is_ended, g49_no_receipt,
        ("INV-51",), needs_fault=False,
    ),
    Mutant(
        "url_is_proof", f"{FLEET}.recovery:recorded", url_is_proof, g50_words_of_a_recovery,
        ("INV-48", "INV-104"), needs_fault=False,
    ),
    Mutant(
        "client_falls_back", f"{FLEET}.operator:OperatorRecovery.run", client_falls_back,
        g51_old_service, ("INV-50",), needs_fault=False,
    ),
    Mutant(
        "keep_legacy_route", f"{FLEET}.recovery:recover_legacy", keep_legacy_route, g52_old_tool,
        ("INV-50",), needs_fault=False,
    ),
    Mutant(
        "boolean_abandon", f"{FLEET}.recovery:is_abandonment", boolean_abandon, g53_abandonment,
        ("INV-51",), needs_fault=False,
    ),
    Mutant(
        "recovery_cleans_up", f"{FLEET}.recovery:Recovery._commit", recovery_cleans_up,
        g50_words_of_a_recovery, ("INV-49", "INV-01"), needs_fault=False,
    ),
    Mutant(
        "late_end_receipt", f"{FLEET}.admitting:Admitting.end_keyed", late_end_receipt,
        g55_late_end, ("INV-32", "INV-36"), needs_fault=False,
    ),
    Mutant(
        "recover_while_refreshing", f"{FLEET}.views:is_idle", recover_while_refreshing,
        g56_member_that_refreshes, ("INV-46",), parameters={"state": "refreshing"},
        needs_fault=False,
    ),
    Mutant(
        "partial_audit_match", f"{FLEET}.recovery:is_full_match", partial_audit_match,
        g57_audit_of_another, ("INV-105",),
    ),
    Mutant(
        "quote_from_compact_list", f"{FLEET}.operator:quote_of", quote_from_compact_list,
        g51_old_service, ("INV-43",), needs_fault=False,
    ),
    Mutant(
        "audit_keeps_url", f"{FLEET}.registry:audit_of", audit_keeps_url,
        g50_words_of_a_recovery, ("INV-44",), needs_fault=False,
    ),
    Mutant(
        "compact_adds_hash", f"{FLEET}.permit_rows:Permit.compact", compact_adds_hash,
        g50_words_of_a_recovery, ("INV-52",), needs_fault=False,
    ),
)  # fmt: skip
"""Found in the stories of recoveries."""

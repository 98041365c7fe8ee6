"""The admin's tool: look at permits, and recover one debt by its quote (OP-13, OP-14).

It sends a quoted recovery once, and never falls back to another route: where there is no quote, it
stops (P22.5). Source: spec/deploy-fence.md C.3, H.2.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

from ..program import Program
from ..worker import WebRequest
from .documents import as_int, as_mapping
from .identities import is_sha256
from .outcomes import Granted, Outcome, Refused, answered
from .router import FleetRouter

__all__ = ["OperatorRecovery", "Quote", "RecoveryReport", "quote_of"]

RECOVERY_CALL_S: Final = 600.0
"""Seconds to wait for the handler, which reads every member and asks a second time at most once."""


@attrs.frozen
class Quote:
    """What an admin read of a permit, and sends back as the expectation.

    Attributes:
        id: of the permit.
        started_at: when it was accepted, milliseconds by the Registry's clock.
        record_sha256: of the complete row.
    """

    id: str
    started_at: int
    record_sha256: str


@attrs.frozen(kw_only=True)
class RecoveryReport:
    """How a recovery ended.

    Attributes:
        outcome: "recovered"; "refused": the row stays; "unknown": nobody can say.
        code: why; None if it was recovered.
        seen: what the inventory showed after an unknown outcome; None if it was not read.
    """

    outcome: Literal["recovered", "refused", "unknown"]
    code: str | None = None
    seen: Mapping[str, Any] | None = None


def quote_of(body: Mapping[str, Any], permit: str) -> Quote | None:
    """Return the quote of *permit* that an inventory gives; a list without quotes gives none.

    A quote is never made here: only the Registry sees the complete row.
    """
    raw = as_mapping(body.get("quote"))
    if raw is None or raw.get("id") != permit:
        return None
    started, sha = as_int(raw.get("startedAt")), raw.get("recordSha256")
    return Quote(permit, started, sha) if started is not None and is_sha256(sha) else None


def why_none(read: Outcome[Mapping[str, Any]]) -> str:
    """Return the code that says why an inventory gave no quote; no recovery was sent then.

    A service that does not know quotes has no such interface; one that quoted nothing has no such
    permit.
    """
    if isinstance(read, Refused):
        return read.code
    if isinstance(read, Granted):
        return "ADMISSION_NOT_FOUND" if "quote" in read.value else "NOT_FOUND"
    return "UNDELIVERED"


class OperatorRecovery(Program):
    """Recover one permit whose request ended, as a person has checked.

    Attributes:
        report: how it ended; None until then.
    """

    def __init__(self, bearer: str, permit: str, evidence: str, quote: Quote | None = None) -> None:
        """Recover *permit* with the credential of admins.

        Args:
            bearer: of admins.
            permit: its id.
            evidence: link to what shows that the request ended.
            quote: what was read of it before; without one it is read now.
        """
        self.report: RecoveryReport | None = None
        self._bearer = bearer
        self._permit = permit
        self._evidence = evidence
        self._quote = quote

    async def run(self) -> None:
        """Quote, send once, and look if the answer was lost."""
        quote = self._quote
        if quote is None:
            read = await self._inventory()
            quote = quote_of(read.value, self._permit) if isinstance(read, Granted) else None
            if quote is None:
                self.report = RecoveryReport(outcome="refused", code=why_none(read))
                return
        self.report = await self._reported(await self._recover(quote))

    async def _recover(self, quote: Quote) -> Outcome[Mapping[str, Any]]:
        body = {
            "id": quote.id,
            "evidence": self._evidence,
            "expectedStartedAt": quote.started_at,
            "expectedRecordSha256": quote.record_sha256,
            "disposition": "request-ended",
        }
        return await self._send(WebRequest("POST", "/recover-quoted-admission", body))

    async def _reported(self, outcome: Outcome[Mapping[str, Any]]) -> RecoveryReport:
        if isinstance(outcome, Granted):
            is_ours = outcome.value.get("recovered") == self._permit
            return RecoveryReport(outcome="recovered" if is_ours else "unknown")
        if isinstance(outcome, Refused):
            return RecoveryReport(outcome="refused", code=outcome.code)
        read = await self._inventory()
        seen = read.value if isinstance(read, Granted) else None
        return RecoveryReport(outcome="unknown", code="RECOVERY_OUTCOME_UNKNOWN", seen=seen)

    async def _inventory(self) -> Outcome[Mapping[str, Any]]:
        query = {"id": self._permit}
        return await self._send(WebRequest("GET", "/deploy-admissions", {}, {}, query))

    async def _send(self, request: WebRequest) -> Outcome[Mapping[str, Any]]:
        router = self.objects.worker(FleetRouter, deadline_s=RECOVERY_CALL_S)
        headers = {**request.headers, "authorization": f"Bearer {self._bearer}"}
        return await answered(router.fetch(attrs.evolve(request, headers=headers)))

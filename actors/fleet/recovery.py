"""Quoted recovery: one debt is retired on a person's word that the request ended (OP-13 to OP-16).

The hash and the link identify bytes; they prove nothing about the world. What the recovery writes
says "operator-attested" and "unverified", and nothing else. Source: spec/deploy-fence.md C.3, E.3.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...wire import content_hash
from ..context import Context
from ..worker import WebRequest
from .codes import FleetRefused, refused
from .documents import as_mapping
from .fencing import known_producer, set_fence, take_back
from .identities import Producer, is_sha256
from .machines import Edge, Machine
from .outcomes import Granted, Outcome, Refused, attempt
from .registry import Registry
from .requests import evidence_url, fields_of, integer_field, text_field, value_of
from .views import is_idle, read_probes, read_views
from .wiring import REGISTRY

__all__ = ["RECOVERY_MACHINE", "Recovery", "inventory", "recover_legacy", "recover_quoted"]

Row = Edge[None]

RECOVERY_MACHINE: Final = Machine[None](
    "quoted recovery",
    tuple("START WANT_FENCE READING COMMIT_SENT AUDIT_READ RECOVERED REFUSED UNKNOWN".split()),
    (
        Row("START", "row equals the quote, no audit", "WANT_FENCE"),
        Row("START", "refused", "REFUSED"),
        Row("WANT_FENCE", "fence set", "READING", effect="its own fence stands"),
        Row("WANT_FENCE", "refused", "REFUSED"),
        Row("READING", "not idle or unreadable", "REFUSED", effect="withdraws its fence"),
        Row("READING", "all idle", "COMMIT_SENT", effect="sends the one deletion"),
        Row("COMMIT_SENT", "granted", "RECOVERED", effect="withdraws its fence"),
        Row("COMMIT_SENT", "refused", "REFUSED", effect="withdraws its fence"),
        Row("COMMIT_SENT", "uncertain", "AUDIT_READ", effect="sends the one read of the audit"),
        Row("AUDIT_READ", "full match", "RECOVERED", effect="withdraws its fence"),
        Row("AUDIT_READ", "no full match", "UNKNOWN", effect="withdraws its fence"),
    ),
)
"""E.3: a handler that dies leaves permit or audit as committed, and a fence that ends with the
drain."""

ASKED: Final = frozenset("id evidence expectedStartedAt expectedRecordSha256 disposition".split())
ENDED: Final = "request-ended"


@attrs.frozen(kw_only=True)
class Order:
    """What an admin asks for.

    Attributes:
        id: of the permit.
        started_at: milliseconds, as quoted.
        record_sha256: of the complete row, as quoted.
        evidence_sha256: of the link to the request's end, of which nothing else is kept.
    """

    id: str
    started_at: int
    record_sha256: str
    evidence_sha256: str

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Order":
        """Return the order that a body says.

        Raises:
            FleetRefused: BAD_REQUEST; ABANDONMENT_UNSUPPORTED for anything but a request that
                ended: no flag, version, count or upload stands for its end (P24.4).
        """
        url = evidence_url(fields)
        quoted = text_field(fields, "expectedRecordSha256")
        if not is_sha256(quoted):
            raise refused("BAD_REQUEST", "expectedRecordSha256: 64 hex characters are needed")
        order = cls(
            id=text_field(fields, "id"),
            started_at=integer_field(fields, "expectedStartedAt"),
            record_sha256=quoted,
            evidence_sha256=content_hash(url),
        )
        if is_abandonment(fields):
            raise refused("ABANDONMENT_UNSUPPORTED")
        return order


def is_abandonment(fields: Mapping[str, Any]) -> bool:
    """Whether the body asks for more than the recovery of a request that ended."""
    return text_field(fields, "disposition") != ENDED or not set(fields) <= ASKED


class Recovery:
    """One recovery by the handler that was asked for it, which lives as long as its request.

    Attributes:
        state: of `RECOVERY_MACHINE`.
    """

    def __init__(self, context: Context, order: Order, producer: Producer) -> None:
        """Recover *order*; *context* is the handler's."""
        self.state = "START"
        self._context = context
        self._order = order
        self._producer = producer

    @property
    def _registry(self) -> Registry:
        return self._context.objects.get(Registry, REGISTRY)

    async def run(self) -> dict[str, Any]:
        """Recover it, and return what was recorded.

        Raises:
            FleetRefused: by the code that says why. After RECOVERY_OUTCOME_UNKNOWN nobody can say
                whether it was recovered; after every other one the row is as it was.
        """
        await self._compare_quote()
        fence_id = await self._close()
        try:
            await self._require_idle()
            recorded = await self._commit(fence_id)
        finally:
            await take_back(self._context, fence_id)
        return recorded

    def _go(self, event: str) -> None:
        edge = RECOVERY_MACHINE.step(self.state, event, None)
        assert edge.next is not None
        self.state = edge.next

    def _refuse(self, error: FleetRefused) -> FleetRefused:
        self._go("refused")
        return error

    async def _compare_quote(self) -> None:
        found = as_mapping(value_of(await attempt(self._registry.quote_admission(self._order.id))))
        problem = problem_of_quote(found or {}, self._order)
        if problem is not None:
            raise self._refuse(refused(problem))
        self._go("row equals the quote, no audit")

    async def _close(self) -> str:
        try:
            fence = await set_fence(self._context, "recovery", self._producer, ())
        except FleetRefused as error:
            if error.code == "FENCE_UNAVAILABLE":
                error = refused("RECOVERY_NEEDS_UNFENCED_DRAIN")
            raise self._refuse(error) from None
        self._go("fence set")
        return str(fence["fenceId"])

    async def _require_idle(self) -> None:
        outcome = await attempt(self._registry.list_members())
        views = None
        if isinstance(outcome, Granted):
            views = await read_probes(self._context, await read_views(self._context, outcome.value))
        if views is None or not all(is_idle(view) for view in views):
            self._go("not idle or unreadable")
            raise refused("RECOVERY_NOT_IDLE", residents=views)
        self._go("all idle")

    async def _commit(self, fence_id: str) -> dict[str, Any]:
        order = self._order
        outcome: Outcome[Any] = await attempt(
            self._registry.recover_quoted(
                order.id,
                order.started_at,
                order.record_sha256,
                order.evidence_sha256,
                fence_id,
                self._producer.wire(),
            )
        )
        if isinstance(outcome, Granted):
            self._go("granted")
        elif isinstance(outcome, Refused):
            raise self._refuse(refused(outcome.code, outcome.detail))
        else:
            self._go("uncertain")
            await self._read_audit(fence_id)
        return recorded(order)

    async def _read_audit(self, fence_id: str) -> None:
        outcome = await attempt(self._registry.read_recovery(self._order.id))
        said = as_mapping(outcome.value) if isinstance(outcome, Granted) else None
        if not is_full_match((said or {}).get("audit"), self._order, fence_id, self._producer):
            self._go("no full match")
            raise refused("RECOVERY_OUTCOME_UNKNOWN")
        self._go("full match")


def problem_of_quote(found: Mapping[str, Any], order: Order) -> str | None:
    """Return the code by which what the Registry quotes now forbids the order, or None."""
    evidence = as_mapping(found.get("evidence")) or {}
    if evidence.get("recovered") is not None:
        return "AUDIT_EXISTS"
    quote = as_mapping(found.get("quote"))
    if found.get("admission") is None or quote is None:
        return "ADMISSION_NOT_FOUND"
    expected = (order.id, order.started_at, order.record_sha256)
    if (quote.get("id"), quote.get("startedAt"), quote.get("recordSha256")) != expected:
        return "QUOTE_MISMATCH"
    return None


def is_full_match(audit: object, order: Order, fence_id: str, producer: Producer) -> bool:
    """Whether *audit* is what this handler's deletion writes, in every field that it sent."""
    fields = as_mapping(audit)
    if fields is None or producer.version is None:
        return False
    fence = as_mapping(fields.get("fence")) or {}
    by = as_mapping(fields.get("producer")) or {}
    return (
        fields.get("id"),
        fields.get("startedAt"),
        fields.get("recordSha256"),
        fields.get("evidenceUrlSha256"),
        fence.get("fenceId"),
        by.get("workerVersion"),
    ) == (
        order.id,
        order.started_at,
        order.record_sha256,
        order.evidence_sha256,
        fence_id,
        producer.version.id,
    )


def recorded(order: Order) -> dict[str, Any]:
    """Return what a recovery says: what was attested, and that the native outcome is not known."""
    return {
        "recovered": order.id,
        "recordSha256": order.record_sha256,
        "evidenceSha256": order.evidence_sha256,
        "requestEnd": "operator-attested",
        "nativeOutcome": "unverified",
    }


async def recover_quoted(context: Context, request: WebRequest) -> dict[str, Any]:
    """Recover one quoted permit (OP-14).

    Raises:
        FleetRefused: see `Recovery.run`; BAD_REQUEST and ABANDONMENT_UNSUPPORTED before anything
            was read.
    """
    order = Order.of(fields_of(request))
    return {"ok": True, **await Recovery(context, order, known_producer(context)).run()}


async def recover_legacy(context: Context, request: WebRequest) -> dict[str, Any]:
    """Refuse a recovery without a quote (OP-15).

    Raises:
        FleetRefused: LEGACY_RECOVERY_REFUSED, always. The row stays.
    """
    del context, request
    raise refused("LEGACY_RECOVERY_REFUSED")


async def inventory(context: Context, request: WebRequest) -> dict[str, Any]:
    """List the permits, or with `?id=` quote one of them with all that is known of it (OP-13)."""
    registry = context.objects.get(Registry, REGISTRY)
    named = request.query.get("id")
    if named is None:
        listed = as_mapping(value_of(await attempt(registry.list_admissions()))) or {}
        return {"ok": True, "admissions": listed.get("admissions")}
    found = as_mapping(value_of(await attempt(registry.quote_admission(named)))) or {}
    return {"ok": True, **{k: found.get(k) for k in ("admission", "quote", "evidence")}}

"""How a request gets its permit and settles it: one begin, one end, at most one read after each.

Whoever asks for a permit names it and its provenance before the first call; only the very stack
that did so, while it lives, may act on what it learns. Source: spec/deploy-fence.md C.2, E.2.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar
from unicodedata import normalize as nfc

import attrs

from ...wire import content_hash
from ..context import Context
from .codes import refused
from .documents import as_mapping
from .outcomes import Granted, Outcome, Refused, attempt
from .permit_rows import Permit
from .registry import Registry
from .wiring import REGISTRY, fleet_of

__all__ = ["Ticket", "normalize", "with_permit"]

T = TypeVar("T")
FIELDS: Final = ("actor", "method", "request", "resource", "route")
"""Of an origin, what names the original request: no secret, no clock, no count of tries."""


def normalize(kind: str, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of a request: the same for the same original request, always.

    *origin* names the method, the route as a template, the resource, the actor and the request as
    its caller numbered it; whatever else it holds is left out.
    """
    found = {name: nfc("NFC", str(origin[name])) for name in FIELDS if name in origin}
    if "method" in found:
        found["method"] = found["method"].lower()
    if "route" in found:
        found["route"] = found["route"].partition("?")[0]
    return {**found, "kind": kind.lower()}


@attrs.frozen
class Ticket:
    """What a stack knows of its permit before the first call, and never changes.

    Attributes:
        permit: id, made by this stack.
        provenance_sha256: of the original request.
        kind: what it is for.
        producer: the Worker in which the stack runs, as a document.
    """

    permit: str
    provenance_sha256: str
    kind: str
    producer: Mapping[str, Any] = attrs.field(hash=False)


def ticket_for(context: Context, kind: str, origin: Mapping[str, Any]) -> Ticket:
    """Return a new ticket for a request of *kind*."""
    provenance = content_hash(normalize(kind, origin))
    return Ticket(str(context.uuid()), provenance, kind, fleet_of(context).producer.wire())


def is_undecided(outcome: Outcome[Any]) -> bool:
    """Whether a begin may have been admitted for all its answer says.

    A copy of it that the network made is told that the id exists: that grants nothing, and may hide
    the grant of the first one.
    """
    if isinstance(outcome, Refused):
        return outcome.code == "ADMISSION_ID_EXISTS"
    return not isinstance(outcome, Granted)


def is_match(outcome: Outcome[Mapping[str, Any]], ticket: Ticket) -> bool:
    """Whether the one read after an undecided begin shows this stack's own permit."""
    if not isinstance(outcome, Granted):
        return False
    row = as_mapping(outcome.value.get("row"))
    if row is None or outcome.value.get("audit") is not None:
        return False
    permit = Permit(ticket.permit, row)
    return (permit.provenance_sha256, permit.kind) == (ticket.provenance_sha256, ticket.kind)


async def begin(registry: Registry, ticket: Ticket) -> None:
    """Ask for the permit once; if nobody can tell how that ended, read its row once.

    Raises:
        FleetRefused: by the code of the refusal, or OUTCOME_UNKNOWN: nothing may be done for the
            request, and no permit may be ended.
    """
    asked = registry.begin_keyed(
        ticket.permit, ticket.provenance_sha256, ticket.kind, dict(ticket.producer)
    )
    outcome = await attempt(asked)
    if is_undecided(outcome):
        if not is_match(await attempt(registry.read_admission(ticket.permit)), ticket):
            raise refused("OUTCOME_UNKNOWN", permit=ticket.permit)
    elif isinstance(outcome, Refused):
        raise refusal_of(outcome)


def refusal_of(outcome: Refused) -> Exception:
    """Return the error by which a refusal goes on to whoever asked for the request."""
    return refused(outcome.code, outcome.detail)


def is_receipt_of(outcome: Outcome[Mapping[str, Any]], ticket: Ticket) -> bool:
    """Whether the one read after an uncertain end shows the receipt of this stack's permit."""
    if not isinstance(outcome, Granted):
        return False
    receipt = as_mapping(outcome.value.get("receipt"))
    return receipt is not None and receipt.get("provenanceSha256") == ticket.provenance_sha256


async def end(registry: Registry, ticket: Ticket) -> bool:
    """End the permit once; if nobody can tell how that ended, read its receipt once.

    Returns whether it is known to be settled.
    """
    asked = registry.end_keyed(ticket.permit, ticket.provenance_sha256, dict(ticket.producer))
    outcome = await attempt(asked)
    if isinstance(outcome, Granted):
        return True
    if isinstance(outcome, Refused):
        return False
    return is_receipt_of(await attempt(registry.read_receipt(ticket.permit)), ticket)


async def settle(context: Context, registry: Registry, ticket: Ticket) -> None:
    """End the permit, and tell the operators how that stands; it is no error of the work."""
    settled = await end(registry, ticket)
    code = "SETTLED" if settled else "SETTLEMENT_UNKNOWN"
    fleet_of(context).report(code, {"permit": ticket.permit, "kind": ticket.kind})


async def with_permit(
    context: Context,
    kind: str,
    origin: Mapping[str, Any],
    work: Callable[[str], Awaitable[T]],
) -> T:
    """Run *work* under a permit of its own, whose id it is given, and return what it returns.

    The permit is ended whether *work* returns or raises, unless this stack is dead by then: it
    stays, until somebody recovers it.

    Raises:
        FleetRefused: *work* was not begun: by the code of the Registry's refusal, or
            OUTCOME_UNKNOWN. Nothing else may be tried by this stack.
        Exception: whatever *work* raised.
    """
    ticket = ticket_for(context, kind, origin)
    registry = context.objects.get(Registry, REGISTRY)
    await begin(registry, ticket)
    try:
        return await work(ticket.permit)
    finally:
        await settle(context, registry, ticket)

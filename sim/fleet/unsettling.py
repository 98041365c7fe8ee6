"""Mutants of callers and their permits: who asks again, adopts, guesses, or forgets (K.5)."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs

from ...actors import Context
from ...actors.fleet import (
    REGISTRY,
    FleetRefused,
    Granted,
    Outcome,
    Refused,
    Registry,
    admission,
    attempt,
    bounds,
    documents,
    operations,
)
from ..mutants import Mutant
from .meddling import end_is_not_done, second_end
from .permitting import (
    absent_is_not_refused,
    asked_again_after_restart,
    begin_reply_lost,
    begin_twice,
    caller_dies_at_work,
    end_and_recovery,
    end_of_many,
    hash_is_fixed,
    late_begin,
    one_read,
    row_of_another,
    work_fails,
)

__all__ = ["UNSETTLING"]

FLEET: Final = "durasim.actors.fleet"
WITH_PERMIT: Final = f"{FLEET}.admission:with_permit"
TTL_MS: Final = 10 * bounds.MINUTE_MS
Work = Callable[[str], Awaitable[Any]]
Origin = Mapping[str, Any]

right_alarm = Registry.alarm
right_end = admission.end
right_note = operations.NativeRows.note


async def finally_is_settlement(self: Registry, info: Any) -> None:
    """Sweep permits that are older than any request should be."""
    await right_alarm(self, info)
    for permit_id, permit in self._admissions.permits().items():
        if (permit.started_at or 0) < self._now() - TTL_MS:
            self._admissions.end_legacy(permit_id)


async def registry_made_id(context: Context, kind: str, origin: Origin, work: Work) -> Any:
    """Let the Registry make the id; whoever does not hear it asks for another one."""
    del origin
    registry = context.objects.get(Registry, REGISTRY)
    outcome: Outcome[Any] = await attempt(registry.begin_deploy_admission(kind))
    if not isinstance(outcome, Granted | Refused):
        outcome = await attempt(registry.begin_deploy_admission(kind))
    if not isinstance(outcome, Granted):
        raise FleetRefused("FENCED", "it did not work")
    try:
        return await work(outcome.value["id"])
    finally:
        await attempt(registry.end_deploy_admission(outcome.value["id"]))


async def under(context: Context, ticket: admission.Ticket, work: Work) -> Any:
    """Do *work* under *ticket*, as it is done once the permit is granted."""
    registry = context.objects.get(Registry, REGISTRY)
    try:
        return await work(ticket.permit)
    finally:
        await admission.settle(context, registry, ticket)


async def asked(context: Context, ticket: admission.Ticket) -> Outcome[Any]:
    """Send the begin of *ticket*."""
    registry = context.objects.get(Registry, REGISTRY)
    return await attempt(
        registry.begin_keyed(
            ticket.permit, ticket.provenance_sha256, ticket.kind, dict(ticket.producer)
        )
    )


async def retry_begin(context: Context, kind: str, origin: Origin, work: Work) -> Any:
    """Begin again under a fresh id if nobody can say how the first one ended."""
    ticket = admission.ticket_for(context, kind, origin)
    outcome = await asked(context, ticket)
    if not isinstance(outcome, Granted | Refused):
        ticket = attrs.evolve(ticket, permit=str(context.uuid()))
        outcome = await asked(context, ticket)
    if not isinstance(outcome, Granted):
        raise FleetRefused("FENCED", "it did not work")
    return await under(context, ticket, work)


async def absent_means_refused(context: Context, kind: str, origin: Origin, work: Work) -> Any:
    """Take a row that is not there for a refusal, and ask for the whole request again."""
    registry = context.objects.get(Registry, REGISTRY)
    for _ in range(2):
        ticket = admission.ticket_for(context, kind, origin)
        outcome = await asked(context, ticket)
        if isinstance(outcome, Granted):
            return await under(context, ticket, work)
        if isinstance(outcome, Refused):
            break
        if admission.is_match(await attempt(registry.read_admission(ticket.permit)), ticket):
            return await under(context, ticket, work)
    raise FleetRefused("FENCED", "it did not work")


def match_by_id_only(outcome: Outcome[Mapping[str, Any]], ticket: admission.Ticket) -> bool:
    """Take any row under the id for the stack's own."""
    del ticket
    return isinstance(outcome, Granted) and outcome.value.get("row") is not None


async def poll_until_found(registry: Registry, ticket: admission.Ticket) -> None:
    """Read the row until it comes."""
    begin = registry.begin_keyed(
        ticket.permit, ticket.provenance_sha256, ticket.kind, dict(ticket.producer)
    )
    outcome: Outcome[Any] = await attempt(begin)
    if isinstance(outcome, Refused):
        raise admission.refusal_of(outcome)
    for _ in range(5):
        if isinstance(outcome, Granted):
            return
        read: Outcome[Any] = await attempt(registry.read_admission(ticket.permit))
        if admission.is_match(read, ticket):
            return
    raise FleetRefused("OUTCOME_UNKNOWN", "it never came")


async def restart_adopts_permit(context: Context, kind: str, origin: Origin, work: Work) -> Any:
    """Go on with the permit of the same kind that an earlier stack has left."""
    registry = context.objects.get(Registry, REGISTRY)
    ticket = admission.ticket_for(context, kind, origin)
    listed: Outcome[Any] = await attempt(registry.list_admissions())
    for row in listed.value["admissions"] if isinstance(listed, Granted) else ():
        if row.get("kind") == kind:
            return await under(context, attrs.evolve(ticket, permit=row["id"]), work)
    await admission.begin(registry, ticket)
    return await under(context, ticket, work)


async def exists_is_granted(registry: Registry, ticket: admission.Ticket) -> None:
    """Take "it exists" for a grant."""
    begin = registry.begin_keyed(
        ticket.permit, ticket.provenance_sha256, ticket.kind, dict(ticket.producer)
    )
    outcome: Outcome[Any] = await attempt(begin)
    if isinstance(outcome, Refused):
        if outcome.code != "ADMISSION_ID_EXISTS":
            raise admission.refusal_of(outcome)
    elif not isinstance(outcome, Granted):
        read: Outcome[Any] = await attempt(registry.read_admission(ticket.permit))
        if not admission.is_match(read, ticket):
            raise FleetRefused("OUTCOME_UNKNOWN", "nobody can say")


async def hash_after_reply(registry: Registry, ticket: admission.Ticket) -> None:
    """Count the reply into the hash: a begin that was not heard is another request."""
    begin = registry.begin_keyed(
        ticket.permit, ticket.provenance_sha256, ticket.kind, dict(ticket.producer)
    )
    outcome: Outcome[Any] = await attempt(begin)
    if isinstance(outcome, Refused):
        raise admission.refusal_of(outcome)
    if not isinstance(outcome, Granted):
        object.__setattr__(ticket, "provenance_sha256", ticket.provenance_sha256[::-1])
        await attempt(registry.read_admission(ticket.permit))


async def absence_is_receipt(registry: Registry, ticket: admission.Ticket) -> bool:
    """Take a row that is gone for one that was released."""
    ending = registry.end_keyed(ticket.permit, ticket.provenance_sha256, dict(ticket.producer))
    if isinstance(await attempt(ending), Granted):
        return True
    listed: Outcome[Any] = await attempt(registry.list_admissions())
    rows = listed.value["admissions"] if isinstance(listed, Granted) else [{"id": ticket.permit}]
    return all(row["id"] != ticket.permit for row in rows)


def evicted_is_success(outcome: Outcome[Mapping[str, Any]], ticket: admission.Ticket) -> bool:
    """Take a receipt that is not there for one that is too old to be."""
    if not isinstance(outcome, Granted):
        return False
    receipt = documents.as_mapping(outcome.value.get("receipt"))
    return receipt is None or receipt.get("provenanceSha256") == ticket.provenance_sha256


async def second_end_until_ok(registry: Registry, ticket: admission.Ticket) -> bool:
    """Send the end until it is heard; a permit that is gone has ended."""
    for _ in range(4):
        ending = registry.end_keyed(ticket.permit, ticket.provenance_sha256, dict(ticket.producer))
        outcome: Outcome[Any] = await attempt(ending)
        if isinstance(outcome, Granted):
            return True
        if isinstance(outcome, Refused):
            return outcome.code == "ADMISSION_UNKNOWN"
    return False


async def end_skipped_on_error(context: Context, kind: str, origin: Origin, work: Work) -> Any:
    """End the permit of work that has succeeded."""
    ticket = admission.ticket_for(context, kind, origin)
    registry = context.objects.get(Registry, REGISTRY)
    await admission.begin(registry, ticket)
    done = await work(ticket.permit)
    await admission.settle(context, registry, ticket)
    return done


def end_means_done(self: operations.NativeRows, operation: str, outcome: str) -> bool:
    """Take what a request has ended for what its work came to."""
    del outcome
    return right_note(self, operation, "completed")


UNSETTLING: Final = (
    Mutant(
        "finally_is_settlement", f"{FLEET}.draining:Draining.alarm", finally_is_settlement,
        caller_dies_at_work, ("INV-38", "INV-31"),
    ),
    # Whoever has no id before the first call has none, lost reply or not.
    Mutant(
        "registry_made_id", WITH_PERMIT, registry_made_id, begin_reply_lost,
        ("INV-27", "INV-28"), needs_fault=False,
    ),
    Mutant("retry_begin", WITH_PERMIT, retry_begin, late_begin, ("INV-27", "INV-29")),
    Mutant(
        "absent_means_refused", WITH_PERMIT, absent_means_refused, absent_is_not_refused,
        ("INV-29", "LIV-07"),
    ),
    Mutant(
        "match_by_id_only", f"{FLEET}.admission:is_match", match_by_id_only, row_of_another,
        ("INV-26",),
    ),
    Mutant(
        "poll_until_found", f"{FLEET}.admission:begin", poll_until_found, one_read, ("INV-27",)
    ),
    Mutant(
        "restart_adopts_permit", WITH_PERMIT, restart_adopts_permit, asked_again_after_restart,
        ("INV-30",),
    ),
    Mutant(
        "exists_is_granted", f"{FLEET}.admission:begin", exists_is_granted, begin_twice,
        ("INV-26",),
    ),
    Mutant(
        "hash_after_reply", f"{FLEET}.admission:begin", hash_after_reply, hash_is_fixed,
        ("INV-28",),
    ),
    Mutant(
        "absence_is_receipt", f"{FLEET}.admission:end", absence_is_receipt, end_and_recovery,
        ("INV-36",),
    ),
    Mutant(
        "evicted_is_success", f"{FLEET}.admission:is_receipt_of", evicted_is_success, end_of_many,
        ("INV-35", "INV-36"),
    ),
    Mutant(
        "end_means_done", f"{FLEET}.operations:NativeRows.note", end_means_done, end_is_not_done,
        ("INV-37", "INV-08"),
    ),
    Mutant(
        "second_end", f"{FLEET}.admission:end", second_end_until_ok, second_end,
        ("INV-27", "INV-36"),
    ),
    Mutant(
        "end_skipped_on_error", WITH_PERMIT, end_skipped_on_error, work_fails, ("LIV-05",),
        needs_fault=False,
    ),
)  # fmt: skip
"""What callers do wrong."""

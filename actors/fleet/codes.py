"""Every reason code: its status, whether nothing ran, and what is true after it.

A code is what crosses the wire of a refusal for certain: whoever gets one rebuilds the refusal from
it. Source: spec/deploy-fence.md C.10.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from ...wire import DoStatusError, register_code

__all__ = ["CODES", "FleetRefused", "Reason", "refused"]


@attrs.frozen
class Reason:
    """One row of the table.

    Attributes:
        code: as it crosses the wire.
        status: of the HTTP answer.
        certain: whether it proves that nothing was written; False for the codes by which somebody
            says that an outcome is not known.
        truth: what is true after it, and what may be done.
    """

    code: str
    status: int
    truth: str
    certain: bool = True


ROWS: Final = (
    Reason("BAD_REQUEST", 400, "The request has not the form it must have; nothing was read."),
    Reason("UNAUTHORIZED", 401, "The credential does not cover the route; nothing was read."),
    Reason("NOT_FOUND", 404, "There is no such route, resource or row; nothing was written."),
    Reason("UNDELIVERED", 503,
           "It never reached whom it was for: nothing was written; it may be asked again."),
    Reason("PRODUCER_IDENTITY_UNKNOWN", 503,
           "The Worker does not know its own version or upload time; no fence was set."),
    Reason("DRAIN_FENCED", 409, "A fence stands in the drain, which stays as it is."),
    Reason("FENCE_UNAVAILABLE", 409,
           "No fence was set: no drain lives, one stands already, or under 20 minutes remain."),
    Reason("FENCE_NOT_READY", 409,
           "The fleet was not quiet; the drain stands, and the diagnostic says of the own fence."),
    Reason("FENCE_READ_FAILED", 503,
           "The quiet read broke off; taking the fence back was tried, see the diagnostic.",
           certain=False),
    Reason("FENCE_ENDPOINT_MISSING", 404,
           "The producer has no deploy fence; it must be installed in a reviewed bootstrap."),
    Reason("PRE_UPLOAD_WORKER", 409,
           "The Worker that set the fence, or an older one, may not lift it: the fence stands."),
    Reason("FENCE_OWNED_BY_WINDOW", 409, "The fence belongs to a risk window, and stands."),
    Reason("ADMITTED_WORK_UNSETTLED", 409,
           "Permits remain that nobody has settled: the fence stands until the drain ends."),
    Reason("DRAINING", 503, "The fleet drains: nothing was begun; ask again when it has ended."),
    Reason("FENCED", 503, "A fence closes all admission: no permit was written."),
    Reason("OWNER_SUPERSEDED", 409, "A newer owner was accepted for the thread; nothing changed."),
    Reason("IMAGE_STALE", 503,
           "The member still owes an image report; no new run is attached until it has reported."),
    Reason("ADMISSION_ID_EXISTS", 409, "A permit of this id stands. Nothing is granted by that."),
    Reason("ADMISSION_ID_RELEASED", 409, "The permit of this id was released; it is spent."),
    Reason("ADMISSION_ID_RETIRED", 409, "An audit names this id; it is spent for ever."),
    Reason("ADMISSION_UNKNOWN", 404,
           "No permit has this id; nothing was released, and no receipt was written."),
    Reason("HASH_MISMATCH", 409, "The permit or receipt has another provenance; it stays."),
    Reason("LEGACY_RECORD", 409, "The permit has no provenance: only legacy code may end it."),
    Reason("KEYED_RELEASE_NEEDS_HASH", 409, "A keyed permit ends by its exact hash; it stays."),
    Reason("OUTCOME_UNKNOWN", 503,
           "Nobody can say whether the permit was written; no work was begun, none may be.",
           certain=False),
    Reason("SETTLEMENT_UNKNOWN", 503,
           "Nobody can say whether the permit was released; the work is done.", certain=False),
    Reason("ADMISSION_NOT_FOUND", 404, "There is no permit of this id to recover."),
    Reason("QUOTE_MISMATCH", 409, "The row is not the one that was quoted; it stays."),
    Reason("AUDIT_EXISTS", 409, "An audit of this id was written before, and stays as it is."),
    Reason("RECOVERY_NEEDS_UNFENCED_DRAIN", 409,
           "No fence could be set for the recovery; the row stays."),
    Reason("RECOVERY_NOT_IDLE", 409,
           "A member is not idle, or could not be read: the row stays. Withdrawal was tried."),
    Reason("RECOVERY_OUTCOME_UNKNOWN", 503,
           "Nobody can say whether the row was recovered; the inventory may tell, once it is read.",
           certain=False),
    Reason("LEGACY_RECOVERY_REFUSED", 410, "Recovery without a quote is refused; the row stays."),
    Reason("ABANDONMENT_UNSUPPORTED", 409,
           "A request whose end nobody saw cannot be recovered; the row stays."),
    Reason("MAINTENANCE_HELD", 503, "Maintenance holds the fleet closed; no permit was written."),
    Reason("SOURCE_MISMATCH", 409, "The commit is not the selected source; nothing was started."),
    Reason("WINDOW_NOT_LIVE", 409, "The window has ended or is void; nothing is left out by it."),
    Reason("WINDOW_FENCE_MISMATCH", 409, "Another fence than the window's stands."),
    Reason("ORIGINAL_ABSENT", 409, "The excepted row is gone: the exception is void."),
    Reason("ORIGINAL_CHANGED", 409, "The excepted row has changed: the exception is void."),
    Reason("AUDIT_CHANGED", 409, "The exception's audit is absent or has changed: it is void."),
    Reason("DECISION_USED", 409, "The decision was used before."),
    Reason("EXCEPTION_NOT_FOR_GATE", 409, "The exception does not count at this gate."),
    Reason("RECONCILE_CALLER_INCOMPATIBLE", 409,
           "Build, commit or target is missing or malformed; no member was touched."),
    Reason("RECONCILE_BEFORE_UPLOAD", 409,
           "A fence stands and this Worker is not newer than it; no member was touched."),
    Reason("BUILD_MISMATCH", 409, "The build is not the one that runs; no member was touched."),
    Reason("PENDING_OTHER_TARGET", 409,
           "The member still owes the report for another build or target; nothing was stopped."),
    Reason("PENDING_WITHOUT_TARGET", 409,
           "The member still owes a report from before targets were kept; nothing was stopped."),
    Reason("NATIVE_READ_UNAVAILABLE", 503, "The application could not be read; nothing changed."),
    Reason("NATIVE_TARGET_UNPROVEN", 409,
           "Until the deadline no read proved the new target; the drain decides what follows."),
    Reason("NATIVE_HINT_CONFLICT", 409, "What was printed and what was read contradict."),
    Reason("TARGET_CHANGED", 409, "The application changed after its target was frozen."),
    Reason("READBACK_MISMATCH", 409, "A member reads otherwise than the frozen target."),
    Reason("RESERVE_TOO_SMALL", 409, "Under 20 minutes remain; nothing was uploaded."),
    Reason("PREFLIGHT_GAVE_UP", 409, "No attempt found the fleet quiet; nothing was uploaded."),
    Reason("UPLOAD_UNVERIFIED", 503,
           "Nobody can say whether the upload landed; there is no second one.", certain=False),
    Reason("FENCE_EXPIRED", 409,
           "This attempt's fence no longer stood when the drain was to be lifted; not ready."),
)  # fmt: skip

CODES: Final[Mapping[str, Reason]] = MappingProxyType({row.code: row for row in ROWS})
"""Code to row."""

for _row in ROWS:
    register_code(_row.code, _row.status, nothing_ran=_row.certain)


class FleetRefused(DoStatusError):
    """A well-formed no. `code` is a row of `CODES`; that row says what is true after it."""

    def __init__(self, code: str, detail: str, **rest: Any) -> None:
        """Refuse with *code*; *detail* is for people, *rest* are further fields of the reason."""
        row = CODES[code]
        super().__init__(row.status, f"{code}: {detail}", {"code": code, "detail": detail, **rest})
        # The wire takes the code of the instance, where classes declare theirs.
        vars(self)["code"] = code


def refused(code: str, detail: str = "", **rest: Any) -> FleetRefused:
    """Return the refusal to raise."""
    return FleetRefused(code, detail or CODES[code].truth, **rest)

"""Refusals: status, reason and words of each, and the row that the wire knows of it."""

from typing import Any

import pytest

from durasim.actors.runs import errors
from durasim.actors.runs.errors import is_start_reservation_refusal
from durasim.wire import CODES, DoStatusError

REFUSALS: list[tuple[DoStatusError, int, dict[str, Any]]] = [
    (
        errors.ExecutionFencedError("draining"),
        503,
        {"code": "EXECUTION_FENCED", "state": "draining"},
    ),
    (errors.ExecutionFenceUnreadableError("no"), 503, {"code": "EXECUTION_FENCE_UNREADABLE"}),
    (
        errors.FenceTransitionConflictError("open", "draining"),
        409,
        {"code": "FENCE_CAS_CONFLICT", "state": "draining"},
    ),
    (
        errors.InvalidExecutionFenceRequestError("next"),
        400,
        {"code": "INVALID_EXECUTION_FENCE_REQUEST"},
    ),
    (
        errors.StartReservationOwnerMismatchError(),
        403,
        {"code": "IDEMPOTENT_START_OWNER_MISMATCH"},
    ),
    (
        errors.StartReservationTargetMismatchError("workflow", "w"),
        409,
        {"code": "IDEMPOTENT_START_TARGET_MISMATCH", "targetKind": "workflow", "targetId": "w"},
    ),
    (
        errors.IdempotentStartPendingError("r", 7),
        503,
        {"code": "IDEMPOTENT_START_PENDING", "runId": "r", "pendingSince": 7},
    ),
    (
        errors.IdempotentStartUnresolvableError("r"),
        409,
        {"code": "IDEMPOTENT_START_UNRESOLVABLE", "runId": "r"},
    ),
    (
        errors.IdempotentStartAlreadySettledError("r"),
        409,
        {"code": "IDEMPOTENT_START_ALREADY_SETTLED", "runId": "r"},
    ),
    (
        errors.StartIdempotencyUnsupportedError(),
        503,
        {"code": "IDEMPOTENT_START_UNSUPPORTED"},
    ),
    (
        errors.InvalidStartIdempotencyRequestError("key"),
        400,
        {"code": "INVALID_START_IDEMPOTENCY_REQUEST"},
    ),
    (
        errors.StartReservationUnreadableError("no"),
        503,
        {"code": "IDEMPOTENT_START_UNREADABLE"},
    ),
]
"""The tables of spec/run-claims.md 1.11 and 2.4."""

ABOUT_KEYS = {
    "IDEMPOTENT_START_OWNER_MISMATCH",
    "IDEMPOTENT_START_TARGET_MISMATCH",
    "IDEMPOTENT_START_PENDING",
    "IDEMPOTENT_START_UNRESOLVABLE",
    "IDEMPOTENT_START_ALREADY_SETTLED",
    "IDEMPOTENT_START_UNSUPPORTED",
    "INVALID_START_IDEMPOTENCY_REQUEST",
}


@pytest.mark.parametrize(
    ("error", "status", "reason"), REFUSALS, ids=[type(each).__name__ for each, _, _ in REFUSALS]
)
def test_each_refusal_has_its_status_and_its_reason(
    error: DoStatusError, status: int, reason: dict[str, Any]
) -> None:
    """And a row in the table of codes; only the two of the fence promise that nothing ran."""
    assert (error.status, error.reason) == (status, reason)
    code = reason["code"]
    assert CODES[code].status == status
    assert CODES[code].nothing_ran == code.startswith("EXECUTION_FENCE")
    assert is_start_reservation_refusal(error) == (code in ABOUT_KEYS)


def test_a_fenced_error_says_what_is_refused() -> None:
    """The state in quotes and parentheses, and the entry if it is known."""
    assert str(errors.ExecutionFencedError("draining", "run start")) == (
        "execution is fenced (deployment is 'draining'): run start is refused"
    )
    assert str(errors.ExecutionFencedError("draining")) == (
        "execution is fenced (deployment is 'draining')"
    )

"""Every refusal of the runs system, with its status and its reason.

All derive from `DoStatusError`: they cross the wire as status, message and reason and arrive as
`RunRouteError`. Source: spec/run-claims.md 1.11 and 2.4.
"""

from typing import Any

from ...wire import DoStatusError, register_code

__all__ = [
    "ExecutionFenceUnreadableError",
    "ExecutionFencedError",
    "FenceTransitionConflictError",
    "IdempotentStartAlreadySettledError",
    "IdempotentStartPendingError",
    "IdempotentStartUnresolvableError",
    "InvalidExecutionFenceRequestError",
    "InvalidStartIdempotencyRequestError",
    "StartIdempotencyUnsupportedError",
    "StartReservationOwnerMismatchError",
    "StartReservationTargetMismatchError",
    "StartReservationUnreadableError",
    "is_start_reservation_refusal",
]


def _reason(code: str, **rest: Any) -> dict[str, Any]:
    return {"code": code, **rest}


class ExecutionFencedError(DoStatusError):
    """The fence does not admit this entry: nothing of it ran. Retry when the deployment is open."""

    code = "EXECUTION_FENCED"

    def __init__(self, state: str, entry: str | None = None) -> None:
        refused = "" if entry is None else f": {entry} is refused"
        super().__init__(
            503,
            f"execution is fenced (deployment is '{state}'){refused}",
            _reason(self.code, state=state),
        )


class ExecutionFenceUnreadableError(DoStatusError):
    """The fence could not be read, so it counts as closed: nothing ran. Retry later."""

    code = "EXECUTION_FENCE_UNREADABLE"

    def __init__(self, message: str) -> None:
        super().__init__(503, message, _reason(self.code))


class FenceTransitionConflictError(DoStatusError):
    """The fence was in another state than expected: it was not changed."""

    code = "FENCE_CAS_CONFLICT"

    def __init__(self, expected: str, current: str) -> None:
        super().__init__(
            409,
            f"the execution fence is '{current}', not '{expected}' as expected: it was not changed",
            _reason(self.code, state=current),
        )


class InvalidExecutionFenceRequestError(DoStatusError):
    """The request for the fence makes no sense; the message names the field. Nothing changed."""

    code = "INVALID_EXECUTION_FENCE_REQUEST"

    def __init__(self, message: str) -> None:
        super().__init__(400, message, _reason(self.code))


class StartReservationOwnerMismatchError(DoStatusError):
    """The key is another principal's. The reason says nothing else: keys can be guessed."""

    code = "IDEMPOTENT_START_OWNER_MISMATCH"

    def __init__(self) -> None:
        super().__init__(403, "this idempotency key is not yours", _reason(self.code))


class StartReservationTargetMismatchError(DoStatusError):
    """The key was used for another workflow or agent; the reason says which."""

    code = "IDEMPOTENT_START_TARGET_MISMATCH"

    def __init__(self, target_kind: str, target_id: str) -> None:
        super().__init__(
            409,
            f"this idempotency key was used to start {target_kind} {target_id}",
            _reason(self.code, targetKind=target_kind, targetId=target_id),
        )


class IdempotentStartPendingError(DoStatusError):
    """The run of this key is being started, or is live without a result yet. Retry later."""

    code = "IDEMPOTENT_START_PENDING"

    def __init__(self, run_id: str, pending_since: int) -> None:
        super().__init__(
            503,
            f"run {run_id} of this idempotency key is still starting",
            _reason(self.code, runId=run_id, pendingSince=pending_since),
        )


class IdempotentStartUnresolvableError(DoStatusError):
    """The run of this key was claimed, left nothing and is not live: it may have run or not."""

    code = "IDEMPOTENT_START_UNRESOLVABLE"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            409,
            f"run {run_id} of this idempotency key was claimed and left no result: "
            "investigate what it did, then start again with a fresh key",
            _reason(self.code, runId=run_id),
        )


class IdempotentStartAlreadySettledError(DoStatusError):
    """The run of this key has ended and its result is gone. A fresh key starts a new run."""

    code = "IDEMPOTENT_START_ALREADY_SETTLED"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            409,
            f"run {run_id} of this idempotency key has ended and its result is no longer kept",
            _reason(self.code, runId=run_id),
        )


class StartIdempotencyUnsupportedError(DoStatusError):
    """A key was sent to a host that keeps no reservations. Nothing ran."""

    code = "IDEMPOTENT_START_UNSUPPORTED"

    def __init__(self) -> None:
        super().__init__(503, "this host keeps no start reservations", _reason(self.code))


class InvalidStartIdempotencyRequestError(DoStatusError):
    """A key, an owner or a target is not of the form it must have. Nothing was written."""

    code = "INVALID_START_IDEMPOTENCY_REQUEST"

    def __init__(self, message: str) -> None:
        super().__init__(400, message, _reason(self.code))


class StartReservationUnreadableError(DoStatusError):
    """The reservation could not be read or written, or makes no sense. Never taken for absent."""

    code = "IDEMPOTENT_START_UNREADABLE"

    def __init__(self, message: str) -> None:
        super().__init__(503, message, _reason(self.code))


REFUSALS = (
    StartReservationOwnerMismatchError,
    StartReservationTargetMismatchError,
    IdempotentStartPendingError,
    IdempotentStartUnresolvableError,
    IdempotentStartAlreadySettledError,
    StartIdempotencyUnsupportedError,
    InvalidStartIdempotencyRequestError,
)

register_code("EXECUTION_FENCED", 503, nothing_ran=True)
register_code("EXECUTION_FENCE_UNREADABLE", 503, nothing_ran=True)
for _code, _status in (
    ("FENCE_CAS_CONFLICT", 409),
    ("INVALID_EXECUTION_FENCE_REQUEST", 400),
    ("IDEMPOTENT_START_OWNER_MISMATCH", 403),
    ("IDEMPOTENT_START_TARGET_MISMATCH", 409),
    ("IDEMPOTENT_START_PENDING", 503),
    ("IDEMPOTENT_START_UNRESOLVABLE", 409),
    ("IDEMPOTENT_START_ALREADY_SETTLED", 409),
    ("IDEMPOTENT_START_UNSUPPORTED", 503),
    ("INVALID_START_IDEMPOTENCY_REQUEST", 400),
    ("IDEMPOTENT_START_UNREADABLE", 503),
):
    register_code(_code, _status, nothing_ran=False)


def is_start_reservation_refusal(error: object) -> bool:
    """Whether *error* is an answer about a key, made in this process (2.4)."""
    return isinstance(error, REFUSALS)

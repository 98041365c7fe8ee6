"""From a keyed start to one decision: start it, show what it gave, or say why neither.

Source: spec/run-claims.md 2.5 and 2.7, with the right outcomes of its cases 9, 17, 18, 19, 43.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NoReturn, Protocol

import attrs

from .errors import (
    IdempotentStartAlreadySettledError,
    IdempotentStartPendingError,
    IdempotentStartUnresolvableError,
    StartReservationUnreadableError,
)
from .fence import FenceWiring
from .refusal import is_execution_fence_refusal
from .reservations import Reservation, StartRequest, StartReservations

__all__ = ["Decision", "Log", "StartSurface", "begin_idempotent_start", "rollback_fenced_start"]

Log = Callable[[str, dict[str, Any]], None]
"""Told what went wrong beside an answer, by type and fields."""


class StartSurface(Protocol):
    """What can be asked about a run of a reservation, wherever it lives."""

    async def persisted(self, reservation: Reservation) -> Any | None:
        """Return the result that can be shown again: suspended or ended; None for anything else."""
        ...

    async def live(self, reservation: Reservation) -> bool:
        """Return whether the run executes right now.

        Raises:
            StartReservationUnreadableError: nobody answers clearly; the row is left alone.
        """
        ...


@attrs.frozen
class Decision:
    """What to do for a keyed start.

    Attributes:
        kind: "start" the run of `reservation`, or "replay" its `result`.
        reservation: the row; for a start exactly as it was claimed.
        result: what `persisted` gave; None for a start.
    """

    kind: Literal["start", "replay"]
    reservation: Reservation
    result: Any = None


async def begin_idempotent_start(
    store: StartReservations,
    request: StartRequest,
    mint: Callable[[], str],
    surface: StartSurface,
    fence: FenceWiring,
    log: Log,
) -> Decision:
    """Reserve the key and decide.

    Raises:
        DoStatusError: as `StartReservations.reserve`; or the run is pending, settled, or left
            nothing. Nothing was started by this call.
    """
    reserved = await store.reserve(request, mint)
    row = reserved.reservation
    if reserved.created and row.is_untouched:
        claimed = await store.claim(row.key, row.run_id)
        if claimed is not None:
            return Decision("start", claimed)
        row = await _read_again(store, row)
    return await _resolve(store, row, surface, fence, log)


async def _resolve(
    store: StartReservations,
    row: Reservation,
    surface: StartSurface,
    fence: FenceWiring,
    log: Log,
) -> Decision:
    result = await surface.persisted(row)
    if result is not None:
        await _bind_proof_again(fence, row, log)
        return Decision("replay", row, result)
    if row.state == "terminal":
        raise IdempotentStartAlreadySettledError(row.run_id)
    if row.state == "reserved":
        if await surface.live(row):
            raise IdempotentStartPendingError(row.run_id, row.updated_at)
        claimed = await store.claim(row.key, row.run_id)
        if claimed is not None:
            return Decision("start", claimed)
        row = await _read_again(store, row)
        result = await surface.persisted(row)
        if result is not None:
            await _bind_proof_again(fence, row, log)
            return Decision("replay", row, result)
        if row.state == "terminal":
            raise IdempotentStartAlreadySettledError(row.run_id)
    if row.state == "reserved" or await surface.live(row):
        raise IdempotentStartPendingError(row.run_id, row.updated_at)
    raise IdempotentStartUnresolvableError(row.run_id)


async def _read_again(store: StartReservations, row: Reservation) -> Reservation:
    now = await store.read(row.key)
    if now is None or now.run_id != row.run_id:
        raise StartReservationUnreadableError("the start reservation has become another one")
    return now


async def _bind_proof_again(fence: FenceWiring, row: Reservation, log: Log) -> None:
    """Let the proof run of a lost binding go on; the fence's own compare-and-set guards it."""
    if fence == "none":
        return
    try:
        await fence.record_proof_run(row.key, row.run_id)
    except Exception as error:
        log(
            "start-reservation-proof-rebind-failed",
            {"key": row.key, "runId": row.run_id, "error": str(error)},
        )


async def rollback_fenced_start(
    release: Callable[[], Awaitable[bool]], key: str, run_id: str, error: Exception, log: Log
) -> NoReturn:
    """Give a claim back if the fence refused its start, and raise the same error in any case.

    Raises:
        Exception: *error*, the object itself, whether the release landed, failed or changed nothing.
    """
    if is_execution_fence_refusal(error):
        try:
            await release()
        except Exception as failure:
            log(
                "start-reservation-rollback-failed",
                {"key": key, "runId": run_id, "error": str(failure)},
            )
    raise error

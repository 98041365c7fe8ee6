"""From a keyed start to one decision: start it, show what it gave, or say why neither.

Source: spec/run-claims.md 2.5 and 2.7, with the right outcomes of its cases 9, 17, 18, 19, 43.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

import attrs

from .errors import (
    IdempotentStartAlreadySettledError,
    IdempotentStartPendingError,
    IdempotentStartUnresolvableError,
    StartReservationUnreadableError,
)
from .fence import FenceWiring
from .reservations import Log, Reservation, Reserved, StartRequest, StartReservations

__all__ = ["Decision", "KeyedStart", "Probe", "StartSurface", "TakeBack", "begin_idempotent_start"]

Probe = Callable[[Reservation], Awaitable[bool]]
TakeBack = Callable[[Reservation, Probe], Awaitable[bool]]
"""How a design gets a claim back that never began: told the row and how to seal it; returns whether
the row is `reserved` again."""


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

    async def seal(self, reservation: Reservation) -> bool:
        """Refuse this claim for good where its run lives: it is not live and never began.

        Returns:
            Whether it is refused from now on, durably: a start that comes later executes nothing.

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


@attrs.frozen(kw_only=True)
class KeyedStart:
    """What decides a keyed start.

    Attributes:
        take_back: the way of the wired design to get a claim back that never began.
    """

    store: StartReservations
    surface: StartSurface
    fence: FenceWiring
    take_back: TakeBack
    log: Log

    async def resolve(self, row: Reservation) -> Decision:
        """Decide about a row that somebody else may have touched."""
        replayed = await self._replay(row)
        if replayed is not None:
            return replayed
        if row.state == "reserved":
            started = await self._claim_again(row)
            if started is not None:
                return started
            row = await read_again(self.store, row)
            replayed = await self._replay(row)
            if replayed is not None:
                return replayed
        if row.state == "terminal":
            raise IdempotentStartAlreadySettledError(row.run_id)
        if row.state == "reserved" or await self.surface.live(row):
            raise IdempotentStartPendingError(row.run_id, row.updated_at)
        return await self._left_nothing(row)

    async def _left_nothing(self, row: Reservation) -> Decision:
        # It may have ended between the two questions: what it left is there before it is not live.
        replayed = await self._replay(row)
        if replayed is not None:
            return replayed
        is_back = await self.take_back(row, self.surface.seal)
        now = await read_again(self.store, row)
        if is_back and now.state == "reserved":
            decided = await self._claim_again(now)
            if decided is not None:
                return decided
        if now != row:
            # Somebody has just given it back, claimed it again or ended it: no verdict about that.
            raise IdempotentStartPendingError(row.run_id, now.updated_at)
        raise IdempotentStartUnresolvableError(row.run_id)

    async def _claim_again(self, row: Reservation) -> Decision | None:
        """Claim a row that is `reserved`, unless what was refused is still on its way out."""
        if await self.surface.live(row):
            raise IdempotentStartPendingError(row.run_id, row.updated_at)
        claimed = await self.store.claim(row.key, row.run_id, row.updated_at)
        return None if claimed is None else started(claimed, self.log)

    async def _replay(self, row: Reservation) -> Decision | None:
        result = await self.surface.persisted(row)
        if result is None:
            return None
        await bind_proof_again(self.fence, row, self.log)
        return Decision("replay", row, result)


async def begin_idempotent_start(
    start: KeyedStart, request: StartRequest, mint: Callable[[], str]
) -> Decision:
    """Reserve the key and decide.

    Raises:
        DoStatusError: as `StartReservations.reserve`; or the run is pending, settled, or left
            nothing. Nothing was started by this call.
    """
    store = start.store
    reserved = await store.reserve(request, mint)
    row = reserved.reservation
    if may_skip_replay(reserved):
        claimed = await store.claim(row.key, row.run_id, row.updated_at)
        if claimed is not None:
            return started(claimed, start.log)
        row = await read_again(store, row)
    return await start.resolve(row)


def may_skip_replay(reserved: Reserved) -> bool:
    """Whether this call made the row and nobody has touched it, so that there can be no run."""
    return reserved.created and reserved.reservation.is_untouched


def started(claimed: Reservation, log: Log) -> Decision:
    """Decide to start the run of the row just claimed."""
    log(
        "start-decided",
        {"key": claimed.key, "runId": claimed.run_id, "stamp": claimed.updated_at},
    )
    return Decision("start", claimed)


async def read_again(store: StartReservations, row: Reservation) -> Reservation:
    """Return the row as it is now.

    Raises:
        StartReservationUnreadableError: it is not there any more, or means another run.
    """
    now = await store.read(row.key)
    if now is None or now.run_id != row.run_id:
        raise StartReservationUnreadableError("the start reservation has become another one")
    return now


async def bind_proof_again(fence: FenceWiring, row: Reservation, log: Log) -> None:
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

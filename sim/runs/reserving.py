"""Mutants of reservations: who claims, who is shown what, when a key is spent."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from typing import Any

import attrs

from ...actors import DatabaseFailed, WebResponse
from ...actors.runs import (
    AgentTopology,
    IdempotentStartAlreadySettledError,
    IdempotentStartPendingError,
    IdempotentStartUnresolvableError,
    Reservation,
    RunnerRuntime,
    RunStateUnreadableError,
    Snapshots,
    StartReservationOwnerMismatchError,
    StartReservations,
    StartReservationTargetMismatchError,
    claims,
    errors,
    reservations,
    router,
)
from ..mutants import Mutant
from .admission import keyed_only, settled_means_persisted
from .giving_back import AGENTS, OBJECTS, RUNS
from .properties import (
    answers_fit,
    execution_is_single,
    not_started_while_live,
    settled_stays_settled,
    start_is_decided_once,
)
from .scenarios import (
    corrupt_row,
    drain_reopen,
    first_calls,
    much_later,
    read_back_late,
    retried,
    still_registered,
    unkeyed,
)
from .verdicts import live_is_pending, nonsense_is_unreadable

__all__ = ["RESERVING"]

GRACE_MS = 600_000

right_begin = claims.begin_idempotent_start
right_parse = reservations.parse
right_resolve = claims.KeyedStart.resolve
right_reserve = StartReservations.reserve
right_write = StartReservations._write
right_snapshot = Snapshots.read
right_start = RunnerRuntime._start_locked


async def claim_without_cas(
    self: StartReservations, key: str, run_id: str, stamp: int | None = None
) -> Reservation | None:
    """Claim whatever state the row is in."""
    anything = reservations.CLAIM.replace(" AND state = 'reserved'", "")
    del stamp
    claimed = await self._write(anything, self._now_ms(), key, run_id, None)
    return None if claimed is None or not claimed.rows else right_parse(claimed.rows[0])


async def own_candidate_on_reclaim(
    start: Any, request: Any, mint: Callable[[], str]
) -> claims.Decision:
    """Start the run that this caller has minted, whatever the row says."""
    minted: list[str] = []

    def minting() -> str:
        minted.append(mint())
        return minted[-1]

    decision = await right_begin(start, request, minting)
    if decision.kind == "replay" or not minted:
        return decision
    own = attrs.evolve(decision.reservation, run_id=minted[-1])
    return attrs.evolve(decision, reservation=own)


async def row_state_before_persisted(self: claims.KeyedStart, row: Reservation) -> claims.Decision:
    """Believe the row before the run."""
    if row.state == "terminal":
        raise IdempotentStartAlreadySettledError(row.run_id)
    if row.state == "started" and not await self.surface.live(row):
        raise IdempotentStartUnresolvableError(row.run_id)
    return await right_resolve(self, row)


def pending_shell_replayed(summary: Any) -> Any:
    """Show again whatever is there, even a run that is on its way."""
    return summary


async def lost_claim_not_rechecked(self: claims.KeyedStart, row: Reservation) -> claims.Decision:
    """After a lost claim, do not look again for what the winner has persisted."""
    replayed = await self._replay(row)
    if replayed is not None:
        return replayed
    if row.state == "reserved":
        started = await self._claim_again(row)
        if started is not None:
            return started
        row = await claims.read_again(self.store, row)
    if row.state == "terminal":
        raise IdempotentStartAlreadySettledError(row.run_id)
    if row.state == "reserved" or await self.surface.live(row):
        raise IdempotentStartPendingError(row.run_id, row.updated_at)
    return await self._left_nothing(row)


async def target_before_owner(
    self: StartReservations, request: Any, mint: Callable[[], str]
) -> Any:
    """Tell a stranger what the key starts."""
    try:
        return await right_reserve(self, request, mint)
    except StartReservationOwnerMismatchError:
        row = await self.read(request.key)
        if row is not None and row.target != request.target:
            raise StartReservationTargetMismatchError(row.target.kind, row.target.id) from None
        raise


async def unreadable_is_absent(
    self: StartReservations, request: Any, mint: Callable[[], str]
) -> reservations.Reserved:
    """Take a row that cannot be read for none, and make one."""
    try:
        return await right_reserve(self, request, mint)
    except errors.StartReservationUnreadableError:
        now, owner, target = self._now_ms(), request.owner, request.target
        made = Reservation(
            request.key, owner, target, mint(), request.thread_id, "reserved", now, now
        )
        await right_write(
            self, reservations.INSERT.replace("OR IGNORE", "OR REPLACE"), request.key, owner.kind,
            owner.id, target.kind, target.id, made.run_id, request.thread_id, now, now,
        )  # fmt: skip
        return reservations.Reserved(made, created=True)


async def unreadable_run_is_absent(self: Snapshots, workflow_id: str, run_id: str) -> Any:
    """Take a run that cannot be read for none."""
    try:
        return await right_snapshot(self, workflow_id, run_id)
    except RunStateUnreadableError:
        return None


def corrupt_stamp_is_zero(row: Any) -> Reservation:
    """Take a time that makes no sense for 1970."""
    values = list(row)
    values[8:10] = [each if type(each) is int else 0 for each in values[8:10]]
    return right_parse(values)


async def grace_timer(self: claims.KeyedStart, row: Reservation) -> claims.Decision:
    """Claim again what has been started for more than ten minutes and has left nothing."""
    store, now = self.store, self.store._now_ms()
    replayed = await self._replay(row)
    if replayed is not None:
        return replayed
    if row.state == "started" and now - row.updated_at > GRACE_MS:
        again = reservations.CLAIM.replace("state = 'reserved'", "state = 'started'")
        claimed = await store._write(again, now, row.key, row.run_id, row.updated_at)
        if claimed is not None and claimed.rows:
            return claims.started(right_parse(claimed.rows[0]), self.log)
    return await right_resolve(self, row)


async def settle_before_persist(self: RunnerRuntime, workflow: Any, order: Any, token: str) -> Any:
    """Spend the key when the run begins."""
    if self.reservations != "none":
        await self.reservations.settle_run(order.run_id)
    return await right_start(self, workflow, order, token)


async def read_creates_table(self: StartReservations, sql: str, *values: Any) -> Any:
    """Make the tables for whoever asks."""
    done = await right_write(self, sql, *values)
    if done is not None:
        return done
    try:
        await self._database.batch([(each, ()) for each in reservations.CREATE])
    except DatabaseFailed:
        return None
    return await right_write(self, sql, *values)


async def approvals_refiled(self: router.RunRoutes, started: Any) -> Any:
    """File the approvals of a run for whoever asks."""
    summary = started.summary
    if isinstance(summary, WebResponse) or summary.get("status") != "suspended":
        return summary
    filed = await self._approvals.file(summary)
    return {**summary, "approvals": [each.json() for each in filed]}


async def probe_new_thread(
    self: AgentTopology, reservation: Reservation, method: str, verb: str, body: Any = None
) -> Any:
    """Ask the thread that this call would start in, not the one that is recorded."""
    thread_id = self._services.mint()
    path = f"/runs/{reservation.target.id}/{reservation.run_id}/{verb}"
    return await self.ask(method, thread_id, path, reservation.owner, body)


def creator_shortcut_on_touched_row(reserved: Any) -> bool:
    """Trust that who has made a row is the first to touch it."""
    return bool(reserved.created)


async def reclaim_without_probe(self: claims.KeyedStart, row: Reservation) -> Any:
    """Claim a row that is back without asking whether its run is live."""
    claimed = await self.store.claim(row.key, row.run_id, row.updated_at)
    return None if claimed is None else claims.started(claimed, self.log)


RESERVING = (
    Mutant(
        "creator_shortcut_on_touched_row", f"{RUNS}.claims:may_skip_replay",
        creator_shortcut_on_touched_row, read_back_late, (not_started_while_live,),
        needs_fault=False, parameters={"design": "holder"},
    ),
    Mutant(
        "reclaim_without_probe", f"{RUNS}.claims:KeyedStart._claim_again", reclaim_without_probe,
        still_registered, (not_started_while_live,), needs_fault=False,
        parameters={"design": "holder"},
    ),
    Mutant(
        "probe_new_thread", f"{RUNS}.threads:AgentTopology._of", probe_new_thread, much_later,
        (live_is_pending,), needs_fault=False, parameters={**AGENTS, "minutes": 11},
    ),
    Mutant(
        "claim_without_cas", f"{RUNS}.reservations:StartReservations.claim", claim_without_cas,
        first_calls, (start_is_decided_once, settled_stays_settled), needs_fault=False,
        parameters={**OBJECTS, "callers": 10, "workflow": "quick"},
    ),
    Mutant(
        "own_candidate_on_reclaim", f"{RUNS}.claims:begin_idempotent_start",
        own_candidate_on_reclaim, drain_reopen, (answers_fit,), needs_fault=False,
        parameters={**OBJECTS, "keys": 1},
    ),
    Mutant(
        "row_state_before_persisted", f"{RUNS}.claims:KeyedStart.resolve",
        row_state_before_persisted, retried, (answers_fit,), needs_fault=False,
        parameters={**OBJECTS, "workflow": "order"},
    ),
    Mutant(
        "pending_shell_replayed", f"{RUNS}.topology:result_of", pending_shell_replayed,
        first_calls, (answers_fit,), needs_fault=False,
        parameters={**OBJECTS, "callers": 2, "workflow": "order"},
    ),
    Mutant(
        "lost_claim_not_rechecked", f"{RUNS}.claims:KeyedStart.resolve", lost_claim_not_rechecked,
        first_calls, (answers_fit,), needs_fault=False,
        parameters={**OBJECTS, "callers": 10, "workflow": "quick"},
    ),
    Mutant(
        "target_before_owner", f"{RUNS}.reservations:StartReservations.reserve",
        target_before_owner, retried, (answers_fit,), needs_fault=False,
        parameters={**OBJECTS, "workflow": "order"},
    ),
    Mutant(
        "unreadable_is_absent", f"{RUNS}.reservations:StartReservations.reserve",
        unreadable_is_absent, retried,
        (answers_fit, settled_stays_settled, execution_is_single),
        parameters={**OBJECTS, "workflow": "order"},
    ),
    Mutant(
        "unreadable_run_is_absent", f"{RUNS}.snapshots:Snapshots.read", unreadable_run_is_absent,
        retried, (answers_fit,), parameters={**OBJECTS, "workflow": "order"},
    ),
    Mutant(
        "corrupt_stamp_is_zero", f"{RUNS}.reservations:parse", corrupt_stamp_is_zero, corrupt_row,
        (nonsense_is_unreadable,), needs_fault=False, parameters=OBJECTS,
    ),
    Mutant(
        "grace_timer", f"{RUNS}.claims:KeyedStart.resolve", grace_timer, much_later,
        (start_is_decided_once,), needs_fault=False,
        parameters={**OBJECTS, "minutes": 11},
    ),
    Mutant(
        "settle_before_persist", f"{RUNS}.runtime:RunnerRuntime._start_locked",
        settle_before_persist, first_calls, (settled_means_persisted,), needs_fault=False,
        parameters={**OBJECTS, "callers": 2, "workflow": "order"},
    ),
    Mutant(
        "read_creates_table", f"{RUNS}.reservations:StartReservations._write", read_creates_table,
        unkeyed, (keyed_only,), needs_fault=False, parameters=OBJECTS,
    ),
    Mutant(
        "approvals_refiled", f"{RUNS}.router:RunRoutes._shown", approvals_refiled, retried,
        (answers_fit,), needs_fault=False, parameters={**OBJECTS, "workflow": "approval"},
    ),
)  # fmt: skip

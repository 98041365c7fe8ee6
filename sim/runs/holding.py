"""Mutants of holder and sealer: what is bound, what is named, what is refused for good."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from typing import Any

import attrs

from ...actors.runs import (
    Reservation,
    RunObject,
    Snapshots,
    StartReservations,
    giveback,
    http,
    journal,
    reservations,
    served,
)
from ..mutants import Mutant
from .admission import sealed_stays_sealed, stamps_grow
from .designs import each_key_comes_back, never_stuck
from .giving_back import RUNS
from .properties import execution_is_single, given_back_unstarted
from .scenarios import (
    echo_after_reopen,
    echo_behind_drain,
    echoed_suspension,
    late_start,
    start_lost,
)
from .verdicts import runs_are_bound

__all__ = ["HOLDING"]

right_create = Snapshots.create
right_init = giveback.Holder.__init__
right_write = StartReservations._write


async def executes_without_bind(self: Snapshots, shell: Any, binding: Any) -> bool:
    """Create the run, and go on, whether its claim could be bound or not."""
    anyway = None if binding is None else attrs.evolve(binding, condition=("1", ()))
    await right_create(self, shell, anyway)
    return True


async def stamp_is_clock(self: StartReservations, sql: str, *values: Any) -> Any:
    """Stamp what is written with the clock, which may stand still or go back."""
    return await right_write(self, sql.replace(reservations.STAMP, "updated_at = ?"), *values)


async def holder_releases_by_key(self: giveback.Holder, claim: Any) -> None:
    """Give back whatever is claimed under the key."""
    if claim is not None:
        await self._store.release(claim.key, claim.run_id)


def holder_trusts_status(self: giveback.Holder, store: StartReservations, log: Any) -> None:
    """Give back on the router's side, too, where a status says so."""
    right_init(self, store, log)
    self.releasing = store


def sealed_start_runs(claim: Any, sealed: int | None) -> bool:
    """Start what was refused for good."""
    del claim, sealed
    return False


def seal_in_memory(self: journal.Journal, stamp: int) -> None:
    """Refuse for good what this memory remembers."""
    vars(self)["sealed"] = lambda: stamp


async def seal_without_liveness(self: RunObject, request: Any, workflow: str, run: str) -> Any:
    """Seal whatever is under way."""
    del workflow, run
    self._journal.seal(http.read_object(request, served.BODY_BYTES_MAX)["stamp"])
    return http.json_response(200, {"sealed": True})


async def never_sealed(self: giveback.Sealer, row: Reservation, seal: Any) -> bool:
    """Get nothing back, as the holder."""
    del self, row, seal
    return False


HOLDER = {"design": "holder"}
SEALER = {"design": "sealer"}

HOLDING = (
    Mutant(
        "seal_in_memory", f"{RUNS}.journal:Journal.seal", seal_in_memory, late_start,
        (sealed_stays_sealed,), parameters={**SEALER, "after_ms": 20, "evicted": True},
        needs_fault=False,
    ),
    Mutant(
        "seal_without_liveness", f"{RUNS}.run_object:RunObject._seal", seal_without_liveness,
        late_start, (sealed_stays_sealed,), parameters={**SEALER, "after_ms": 1, "evicted": False},
        needs_fault=False,
    ),
    Mutant(
        "executes_without_bind", f"{RUNS}.snapshots:Snapshots.create", executes_without_bind,
        echo_after_reopen, (runs_are_bound, execution_is_single), parameters=HOLDER,
    ),
    Mutant(
        "stamp_is_clock", f"{RUNS}.reservations:StartReservations._write", stamp_is_clock,
        start_lost, (stamps_grow,), parameters=SEALER, needs_fault=False,
    ),
    Mutant(
        "holder_releases_by_key", f"{RUNS}.giveback:Holder.refused", holder_releases_by_key,
        echo_behind_drain, (given_back_unstarted,), parameters=HOLDER, needs_fault=False,
    ),
    Mutant(
        "holder_trusts_status", f"{RUNS}.giveback:Holder.__init__", holder_trusts_status,
        echoed_suspension, (given_back_unstarted,), parameters=HOLDER, needs_fault=False,
    ),
    Mutant(
        "never_sealed", f"{RUNS}.giveback:Sealer.take_back", never_sealed, never_stuck,
        (each_key_comes_back,), parameters={**SEALER, "topology": "objects"},
    ),
    Mutant(
        "sealed_start_runs", f"{RUNS}.giveback:is_sealed", sealed_start_runs, late_start,
        (sealed_stays_sealed,), parameters={**SEALER, "after_ms": 20, "evicted": False},
        needs_fault=False,
    ),
)  # fmt: skip

"""Retention: old runs are purged, and what was reserved for them ages out after them.

The rule that everything here serves: a reservation is never deleted while its run can be read. A
key without a reservation is new, and would start again what has run (spec/run-claims.md 2.8). It
holds by the statements themselves, whatever else happens at the same time.
"""

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from ..errors import DatabaseFailed
from ..ports import Database
from .causes import is_missing_table
from .http import message_of
from .reservations import Log
from .snapshots import CUT, TERMINAL
from .tables import NOTHING, Sql, Tables, TablesUnreadableError

__all__ = ["DAY_MS", "RUN_RETENTION_DAYS", "Purged", "Retention", "reservation_days"]

RUNS: Final = "flowsafe_runs"
RESERVATIONS: Final = "flowsafe_start_idempotency"
DAY_MS: Final = 86_400_000
RUN_RETENTION_DAYS: Final = 30
PASS_MAX: Final = 1000
"""Runs, and reservations, that one pass looks at."""


def listed(statuses: Sequence[str]) -> str:
    """Return *statuses* as SQL."""
    return ", ".join(repr(status) for status in sorted(statuses))


OLD_RUN: Final = (
    f"status IN ({listed([*TERMINAL])}) AND (cleaned OR status NOT IN ({listed([*CUT])})) "
    "AND updated_at < ?"
)
"""Ended, cleaned up, and not touched since then."""
OLD_RUNS: Final = (
    f"SELECT workflow_id, run_id FROM {RUNS} WHERE {OLD_RUN} ORDER BY updated_at, run_id LIMIT ?"
)
DELETE_RUN: Final = f"DELETE FROM {RUNS} WHERE workflow_id = ? AND run_id = ? AND {OLD_RUN}"


def run_is_gone() -> str:
    """Return SQL that is true for a reservation whose run has no snapshot left, under any workflow.

    Whatever deletes or spends a reservation says so in its own statement.
    """
    return f"NOT EXISTS (SELECT 1 FROM {RUNS} WHERE {RUNS}.run_id = {RESERVATIONS}.run_id)"


def delete_spent(run_id: str, before: int) -> Sql:
    """Return what deletes the keys of a run that have been spent since *before*."""
    sql = (
        f"DELETE FROM {RESERVATIONS} WHERE run_id = ? AND state = 'terminal' AND updated_at < ? "
        f"AND {run_is_gone()}"
    )
    return sql, (run_id, before)


def spend(run_id: str, now: int) -> Sql:
    """Return what marks the keys of a run that is gone as spent: their age counts from now."""
    sql = (
        f"UPDATE {RESERVATIONS} SET state = 'terminal', updated_at = MAX(?, updated_at + 1) "
        f"WHERE run_id = ? AND state <> 'terminal' AND {run_is_gone()}"
    )
    return sql, (now, run_id)


def sweep(before: int) -> Sql:
    """Return what deletes keys that have been spent since *before* and whose run is gone."""
    sql = (
        f"DELETE FROM {RESERVATIONS} WHERE key IN (SELECT key FROM {RESERVATIONS} "
        f"WHERE state = 'terminal' AND updated_at < ? AND {run_is_gone()} "
        "ORDER BY updated_at, key LIMIT ?)"
    )
    return sql, (before, PASS_MAX)


@attrs.frozen
class Purged:
    """What one pass did.

    Attributes:
        spent: reservations marked terminal, whose run was purged just now.
        reservations: reservations deleted.
    """

    runs: int = 0
    spent: int = 0
    reservations: int = 0


def reservation_days(run_days: int, asked: int | None) -> int:
    """Return for how many days a spent key is kept: never less than its run (case 51)."""
    return run_days if asked is None else max(asked, run_days)


class Retention:
    """Purges a deployment."""

    def __init__(
        self,
        database: Database,
        now_ms: Callable[[], int],
        log: Log,
        *,
        run_days: int = RUN_RETENTION_DAYS,
        key_days: int | None = None,
    ) -> None:
        """Purge what is in *database*.

        Args:
            database: shared by everybody.
            now_ms: the clock that ages are told by.
            log: told of a run that could not be purged.
            run_days: RUN_RETENTION_DAYS.
            key_days: START_IDEMPOTENCY_RETENTION_DAYS; None for as long as runs.
        """
        self._database = database
        self._runs = Tables(database, (RUNS,), ())
        self._reservations = Tables(database, (RESERVATIONS, RUNS), ())
        self._now_ms = now_ms
        self._log = log
        self._run_ms = run_days * DAY_MS
        self._key_ms = reservation_days(run_days, key_days) * DAY_MS

    async def purge(self) -> Purged:
        """Do one pass over at most 1,000 runs and 1,000 keys.

        A run that cannot be purged is left to the next pass, and logged.

        Raises:
            TablesUnreadableError: what is old cannot be read. Nothing was purged.
        """
        now = self._now_ms()
        runs = spent = keys = 0
        for workflow_id, run_id in await self._runs.read(OLD_RUNS, now - self._run_ms, PASS_MAX):
            try:
                deleted = await self._purge_run(str(workflow_id), str(run_id), now)
            except TablesUnreadableError as error:
                self._log("run-purge-failed", {"runId": run_id, "error": message_of(error)})
                continue
            runs += deleted.runs
            spent += deleted.spent
            keys += deleted.reservations
        return Purged(runs, spent, keys + await self._sweep(now))

    async def _purge_run(self, workflow_id: str, run_id: str, now: int) -> Purged:
        """Delete a run and age its keys, in one transaction."""
        delete = (workflow_id, run_id, now - self._run_ms)
        keys = [delete_spent(run_id, now - self._key_ms), spend(run_id, now)]
        try:
            gone, keys_gone, spent = await self._database.batch([(DELETE_RUN, delete), *keys])
        except DatabaseFailed as error:
            if not is_missing_table(error, RESERVATIONS):
                raise TablesUnreadableError(RUNS) from error
            gone, keys_gone, spent = await self._runs.change(DELETE_RUN, *delete), NOTHING, NOTHING
        return Purged(gone.changes, spent.changes, keys_gone.changes)

    async def _sweep(self, now: int) -> int:
        """Delete old keys whose run is gone; without a table of runs none can be told to be."""
        sql, values = sweep(now - self._key_ms)
        try:
            swept = await self._reservations.change(sql, *values)
        except TablesUnreadableError as error:
            self._log("reservation-sweep-failed", {"error": message_of(error)})
            return 0
        return swept.changes

"""The run ledger: which run is live under whom, and how a run that ended has ended.

Source: spec/deploy-fence.md B.3.
"""

from typing import Any, Final, Literal

from ..object import DurableObject
from .codes import refused
from .documents import as_int, as_mapping
from .owners import FINAL_STATUSES, is_final

__all__ = ["RunLedger", "RunStatus"]

LIVE: Final = "live:"
TERMINAL: Final = "terminal:"

RunStatus = Literal["completed", "stopped_soft", "stopped_hard", "failed", "interrupted"]


class RunLedger(DurableObject):
    """Every run that is live, and every ending. One object; whoever runs runs writes it."""

    delivery = "serial"

    async def put_live(
        self, run_id: str, thread: str, owner_gen: int, owner_fence: int | None = None
    ) -> dict[str, Any]:
        """Store that *run_id* is live under this owner.

        Raises:
            FleetRefused: OWNER_SUPERSEDED: a later generation is known, or this one has ended for
                good. Nothing was written.
        """
        row: dict[str, Any] = {"runId": run_id, "thread": thread, "ownerGen": owner_gen}
        if owner_fence is not None:
            row["ownerFence"] = owner_fence
        kv = self.storage.kv
        if is_newer(kv.get(LIVE + run_id), owner_gen):
            raise refused("OWNER_SUPERSEDED")
        if has_ended(kv.get(TERMINAL + run_id), owner_gen):
            raise refused("OWNER_SUPERSEDED", f"{run_id} has ended for good")
        self._replace(LIVE + run_id, row, TERMINAL + run_id)
        return row

    async def put_terminal(
        self,
        run_id: str,
        thread: str,
        owner_gen: int,
        status: str,
        owner_fence: int | None = None,
        *,
        provisional: bool = False,
    ) -> dict[str, Any]:
        """Store how *run_id* ended. A *provisional* ending is written ahead of its confirmation.

        Raises:
            FleetRefused: BAD_REQUEST, there is no such ending; OWNER_SUPERSEDED, a later generation
                is live or has ended. Nothing was written.
        """
        if status not in FINAL_STATUSES:
            raise refused("BAD_REQUEST", f"a run does not end as {status!r}")
        row: dict[str, Any] = {
            "id": run_id,
            "thread": thread,
            "ownerGen": owner_gen,
            "status": status,
            "provisional": provisional,
        }
        if owner_fence is not None:
            row["ownerFence"] = owner_fence
        kv = self.storage.kv
        if any(is_newer(kv.get(key + run_id), owner_gen) for key in (LIVE, TERMINAL)):
            raise refused("OWNER_SUPERSEDED")
        if provisional and has_ended(kv.get(TERMINAL + run_id), owner_gen):
            raise refused("OWNER_SUPERSEDED", f"{run_id} has ended for good")
        self._replace(TERMINAL + run_id, row, None if provisional else LIVE + run_id)
        return row

    def _replace(self, key: str, row: dict[str, Any], other: str | None) -> None:
        """Store *row*, and delete what stood under the *other* key, as one."""

        def write() -> None:
            self.storage.kv.put(key, row)
            if other is not None:
                self.storage.kv.delete(other)

        self.storage.transaction_sync(write)

    async def owner(self, run_id: str) -> dict[str, Any]:
        """Return how *run_id* stands: `live` with its row, `terminal` with its record, `unknown`.

        An ending goes before a live row, and says itself whether it is provisional.
        """
        record = self.storage.kv.get(TERMINAL + run_id)
        if record is not None:
            return {"kind": "terminal", "record": record}
        row = self.storage.kv.get(LIVE + run_id)
        return {"kind": "unknown"} if row is None else {"kind": "live", "row": row}


def is_newer(row: object, owner_gen: int) -> bool:
    """Whether a stored *row* is about a later generation than *owner_gen*."""
    stored = as_int((as_mapping(row) or {}).get("ownerGen"))
    return stored is not None and stored > owner_gen


def has_ended(record: object, owner_gen: int) -> bool:
    """Whether *record* says that this generation, or a later one, has ended for good.

    What ended goes on under a new generation only: a request that comes late revives nothing.
    """
    stored = as_int((as_mapping(record) or {}).get("ownerGen"))
    return is_final(record) and stored is not None and stored >= owner_gen

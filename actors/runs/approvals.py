"""Approvals: what a suspended run waits for a person to say, and the decision.

A suspension has one approval however often its start is answered: filing and reconciling insert it
only where there is none (case 15). A decision passes the fence before anything is written, since a
decision that is stored with no resume behind it would be lost (case 29). What is decided is handed
on to the run until that has answered; a decision can be sent again.
Source: spec/run-claims.md 1.10, 2.6, 3.1.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import attrs

from ..ports import Database
from ..worker import Route, WebRequest
from .callers import Caller
from .fence import FenceWiring
from .gates import pass_gate
from .http import message_of, read_object
from .reservations import Log, Owner
from .run_errors import InvalidRunRequestError, RunError
from .surface import BODY_BYTES_MAX, ForbiddenError, MissingError, Surface
from .tables import Sql, Tables, TablesUnreadableError

__all__ = [
    "Approval",
    "ApprovalRouter",
    "ApprovalService",
    "ApprovalSettledError",
    "Decided",
    "Resuming",
]

TABLE: Final = "flowsafe_approvals"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY,
    workflow_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    suspension INTEGER NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'declined', 'superseded')),
    decided_kind TEXT,
    decided_id TEXT,
    resumed_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_run ON {TABLE} (run_id)",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_state ON {TABLE} (state)",
)
COLUMNS: Final = (
    "id, workflow_id, run_id, suspension, request, state, decided_kind, decided_id, resumed_at, "
    "created_at, updated_at"
)
SUPERSEDE: Final = (
    f"UPDATE {TABLE} SET state = 'superseded', updated_at = ? "
    "WHERE run_id = ? AND state = 'pending' AND suspension < ?"
)
"""Suspensions of a run are numbered upwards: whoever comes late with an earlier one closes none."""
ENDED: Final = 2**62
"""Later than every suspension."""
DECIDE: Final = (
    f"UPDATE {TABLE} SET state = ?, decided_kind = ?, decided_id = ?, updated_at = ? "
    "WHERE id = ? AND state = 'pending'"
)
RESUMED: Final = (
    f"UPDATE {TABLE} SET resumed_at = ?, updated_at = ? WHERE id = ? AND resumed_at IS NULL"
)

Decided = Literal["approved", "declined"]


class ApprovalSettledError(RunError):
    """The approval was decided otherwise, or its run has gone on without it. It was not changed."""

    status = 409


@attrs.frozen
class Approval:
    """One question of one suspension.

    Attributes:
        suspension: which suspension of the run, as its summary said.
        request: what the run said when it was parked, as it came from JSON.
        decided_by: None while nobody has decided.
        resumed_at: when the run took the decision, milliseconds since 1970 UTC; None before.
    """

    id: str
    workflow_id: str
    run_id: str
    suspension: int
    request: Any
    state: Literal["pending", "approved", "declined", "superseded"]
    decided_by: Owner | None
    resumed_at: int | None
    created_at: int
    updated_at: int

    def json(self) -> dict[str, Any]:
        """Return what whoever may decide is shown."""
        return {
            "id": self.id,
            "workflowId": self.workflow_id,
            "runId": self.run_id,
            "request": self.request,
            "state": self.state,
        }


class Resuming(Protocol):
    """How a run learns of a decision about it."""

    async def resume(self, approval: Approval, decision: Mapping[str, Any]) -> Any:
        """Let the run of *approval* go on with *decision*; returns its summary.

        Raises:
            Exception: with the status 409 it has gone on from that suspension, or has ended. With
                any other it may have gone on or not; asking again is harmless.
        """
        ...


class ApprovalService:
    """The approvals of one deployment, in its shared database.

    Every method raises `TablesUnreadableError` if nobody can tell what is stored.
    """

    def __init__(
        self,
        database: Database,
        fence: FenceWiring,
        resuming: Resuming,
        now_ms: Callable[[], int],
        mint: Callable[[], str],
        log: Log,
    ) -> None:
        """Keep the rows in *database* and hand decisions on by *resuming*; *mint* names rows."""
        self._tables = Tables(database, (TABLE,), CREATE)
        self._fence: FenceWiring = fence
        self._resuming = resuming
        self._now_ms = now_ms
        self._mint = mint
        self._log = log

    async def file(self, summary: Mapping[str, Any]) -> list[Approval]:
        """Ask for what the suspended run of *summary* waits for; returns its open approvals."""
        run_id = str(summary["runId"])
        suspension = suspension_of(summary)
        now = self._now_ms()
        _, filed = await self._tables.insert(
            (SUPERSEDE, (now, run_id, suspension)),
            filing(self._mint(), summary, suspension, now),
        )
        if filed.changes:
            self._log("approval-filed", {"runId": run_id, "suspension": suspension})
        return [each for each in await self.of_run(run_id) if each.state == "pending"]

    async def reconcile(self, summary: Mapping[str, Any]) -> None:
        """Make the approvals agree with *summary*, which was shown once more.

        One that was never filed, since whoever started the run died, is filed now; those of a
        suspension that has passed are closed.
        """
        if summary.get("status") == "suspended":
            await self.file(summary)
        else:
            await self._tables.change(SUPERSEDE, self._now_ms(), str(summary["runId"]), ENDED)

    async def agree(self, summary: Mapping[str, Any]) -> None:
        """Reconcile after a run has gone on. Never raises: what is missed, a replay makes good."""
        try:
            await self.reconcile(summary)
        except TablesUnreadableError as error:
            self._log(
                "approval-filing-failed", {"runId": summary.get("runId"), "error": str(error)}
            )

    async def of_run(self, run_id: str) -> list[Approval]:
        """Return every approval of a run, the oldest first."""
        sql = f"SELECT {COLUMNS} FROM {TABLE} WHERE run_id = ? ORDER BY created_at, id"
        return [approval(row) for row in await self._tables.read(sql, run_id)]

    async def get(self, name: str) -> Approval | None:
        """Return an approval, or None."""
        found = await self._tables.read(f"SELECT {COLUMNS} FROM {TABLE} WHERE id = ?", name)
        return approval(found[0]) if found else None

    async def decide(self, name: str, decided: Decided, by: Owner) -> Any:
        """Decide *name* and let its run go on; returns the run's summary.

        Deciding the same again hands the decision on again, unless the run has taken it.

        Raises:
            MissingError: there is no such approval.
            ExecutionFencedError, ExecutionFenceUnreadableError: the run may not go on now. Nothing
                was written.
            ApprovalSettledError: it was decided otherwise. Nothing was written.
            Exception: the decision stands, and the run may have gone on or not; decide again.
        """
        record = await self.get(name)
        if record is None:
            raise MissingError(f"there is no approval {name}")
        await self._admit(record)
        record = await self._commit(record, decided, by)
        return await self._hand_on(record)

    async def _admit(self, record: Approval) -> None:
        await pass_gate(self._fence, "approval-decide", run_id=record.run_id)

    async def _commit(self, record: Approval, decided: Decided, by: Owner) -> Approval:
        values = (decided, by.kind, by.id, self._now_ms(), record.id)
        await self._tables.change(DECIDE, *values)
        now = await self.get(record.id)
        if now is None or now.state != decided:
            raise ApprovalSettledError(f"approval {record.id} is settled otherwise")
        return now

    async def _hand_on(self, record: Approval) -> Any:
        decision = {"approvalId": record.id, "approved": record.state == "approved"}
        shown = {"workflowId": record.workflow_id, "runId": record.run_id, **decision}
        if record.resumed_at is not None:
            return shown
        try:
            shown = await self._resuming.resume(record, decision)
            await self.agree(shown)
        except Exception as error:
            if not has_gone_on(error):
                about = {"id": record.id, "runId": record.run_id, "error": message_of(error)}
                self._log("approval-resume-failed", about)
                raise
        now = self._now_ms()
        await self._tables.change(RESUMED, now, now, record.id)
        return shown


def has_gone_on(error: Exception) -> bool:
    """Whether a run that did not take a decision is past the suspension that it was about.

    The answer to the first try may have been lost; or somebody has ended the run.
    """
    return getattr(error, "status", None) == 409


def filing(name: str, summary: Mapping[str, Any], suspension: int, now: int) -> Sql:
    """Return what inserts the approval of a suspension, unless that or a later one has one."""
    run_id = str(summary["runId"])
    request = json.dumps(summary.get("suspended"))
    sql = (
        f"INSERT INTO {TABLE} ({COLUMNS}) SELECT ?, ?, ?, ?, ?, 'pending', NULL, NULL, NULL, ?, ? "
        f"WHERE NOT EXISTS (SELECT 1 FROM {TABLE} WHERE run_id = ? AND suspension >= ?)"
    )
    ours = (name, str(summary["workflowId"]), run_id, suspension, request, now, now)
    return sql, (*ours, run_id, suspension)


def suspension_of(summary: Mapping[str, Any]) -> int:
    """Return which suspension *summary* shows."""
    suspension = summary["suspension"]
    assert isinstance(suspension, int)
    return suspension


def approval(row: Sequence[Any]) -> Approval:
    """Return a row as a value."""
    name, workflow_id, run_id, suspension, request, state, kind, owner_id, *times = row
    by = None if kind is None else Owner(kind, owner_id)
    given = json.loads(request)
    made = (name, workflow_id, run_id, suspension, given, state, by, *times)
    return Approval(*made)


class ApprovalRouter(Surface):
    """Approvals over HTTP, for whoever has the role "approver"."""

    routes = (
        Route("GET", "/approvals/{name}", "show", scope="approver"),
        Route("POST", "/approvals/{name}/decision", "decide", scope="approver"),
    )

    def __init__(self, approvals: ApprovalService) -> None:
        """Serve *approvals*."""
        self._approvals = approvals

    async def show(self, request: WebRequest, caller: Caller, name: str) -> dict[str, Any]:
        """Show an approval."""
        del request, caller
        found = await self._approvals.get(name)
        if found is None:
            raise MissingError(f"there is no approval {name}")
        return found.json()

    async def decide(self, request: WebRequest, caller: Caller, name: str) -> Any:
        """Decide an approval: the body says ``{"decision": "approved"}`` or ``"declined"``."""
        decided = read_object(request, BODY_BYTES_MAX).get("decision")
        if caller.owner.kind != "human":
            raise ForbiddenError("only a person decides")
        if decided == "approved":
            return await self._approvals.decide(name, "approved", caller.owner)
        if decided == "declined":
            return await self._approvals.decide(name, "declined", caller.owner)
        raise InvalidRunRequestError("decision: approved or declined")

"""Snapshots of runs: one row a run in the shared database, as it was last persisted.

A run begins as a token-less `pending` shell, which says only that a run was to begin. What is
persisted after that bears the token of the attempt that executes it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import attrs

from ..errors import DatabaseFailed
from ..ports import Database
from ..statements import QueryRows, SqlValue
from .causes import is_missing_table
from .run_errors import RunAlreadyExistsError, RunStateUnreadableError

__all__ = [
    "PARKED",
    "TERMINABLE",
    "TERMINAL",
    "Binding",
    "Snapshot",
    "Snapshots",
    "Status",
    "is_result",
]

Status = Literal[
    "pending", "running", "waiting", "paused", "suspended", "waiting_callback", "waiting_signal",
    "retry_wait", "success", "failed", "tripwire", "canceled", "bailed", "skipped", "cancelled",
    "timed_out",
]  # fmt: skip
"""How a run stands (spec/run-claims.md 3.5)."""

TERMINABLE: Final = frozenset(
    "pending running waiting paused suspended waiting_callback waiting_signal retry_wait".split()
)
"""Not ended: such a run can be terminated."""
ENDED: Final = frozenset("success failed tripwire canceled bailed skipped".split())
"""Ended by itself."""
CUT: Final = frozenset({"cancelled", "timed_out"})
"""Ended by somebody else; terminal for the purge only when what was left has been cleaned up."""
TERMINAL: Final = ENDED | CUT
PARKED: Final = TERMINABLE - {"pending", "running"}
"""The run waits for somebody; what it said so far is a result."""

TABLE: Final = "flowsafe_runs"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    workflow_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    thread_id TEXT,
    status TEXT NOT NULL,
    revision INTEGER NOT NULL,
    start_token TEXT,
    body TEXT NOT NULL,
    cleaned INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, run_id)
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_run ON {TABLE} (run_id)",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_status ON {TABLE} (status, updated_at)",
)
COLUMNS: Final = (
    "workflow_id, run_id, thread_id, status, revision, start_token, body, cleaned, created_at, "
    "updated_at"
)
VALUES: Final = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
INSERT: Final = f"INSERT INTO {TABLE} ({COLUMNS}) SELECT {VALUES}"
SELECT: Final = f"SELECT {COLUMNS} FROM {TABLE} WHERE workflow_id = ? AND run_id = ?"
UPDATE: Final = (
    f"UPDATE {TABLE} SET status = ?, revision = ?, start_token = ?, body = ?, cleaned = ?, "
    "updated_at = ? WHERE workflow_id = ? AND run_id = ? AND revision <= ?"
)
"""An update that arrives late, behind a newer one, changes nothing; twice the same is once."""
DELETE_SHELL: Final = (
    f"DELETE FROM {TABLE} WHERE workflow_id = ? AND run_id = ? AND status = 'pending' "
    "AND start_token IS NULL"
)
PERSIST_TRIES: Final = 3
"""Tries to write a snapshot: what a run did must not be lost for one message."""


@attrs.frozen(kw_only=True)
class Snapshot:
    """A run as it stands.

    Attributes:
        step: which step goes on when the run does.
        state: what its steps share, JSON.
        results: what each step that has ended returned, JSON.
        error: name and message of what ended it, if it failed.
        suspended: what it said when it was parked.
        deadline_ms: when the suspension ends by itself; None for never.
        on_deadline: what happens then.
        requester: kind and id of whoever it runs for.
        revision: counts what was persisted.
        start_token: of the attempt that executes it; None for a shell.
        cleaned: whether what a cut run left behind is gone.
    """

    workflow_id: str
    run_id: str
    thread_id: str | None = None
    status: Status = "pending"
    step: int = 0
    payload: Any = None
    state: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    results: tuple[Any, ...] = ()
    error: Mapping[str, str] | None = None
    suspended: Any = None
    deadline_ms: int | None = None
    on_deadline: Literal["resume", "time-out"] = "resume"
    requester: tuple[str, str] = ("system", "system")
    request_context: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    revision: int = 0
    start_token: str | None = None
    cleaned: bool = False
    created_at: int = 0
    updated_at: int = 0

    @property
    def is_shell(self) -> bool:
        """Whether it says only that a run was to begin."""
        return self.status == "pending" and self.start_token is None

    @property
    def is_result(self) -> bool:
        """Whether it can be answered with: the run waits for somebody, or has ended."""
        return self.status in PARKED | TERMINAL

    def summary(self) -> dict[str, Any]:
        """Return what a caller is shown, JSON; the same for the same snapshot."""
        shown: dict[str, Any] = {
            "workflowId": self.workflow_id,
            "runId": self.run_id,
            "status": self.status,
        }
        if self.thread_id is not None:
            shown["threadId"] = self.thread_id
        if self.status == "success":
            shown["result"] = self.results[-1] if self.results else None
        if self.error is not None:
            shown["error"] = dict(self.error)
        if self.status in PARKED:
            shown["suspended"] = self.suspended
            shown["suspension"] = self.revision
        return shown


def is_result(summary: Mapping[str, Any]) -> bool:
    """Whether a summary can be shown again: of a run that waits for somebody or has ended.

    A run that is to begin, or is on its way, has nothing to show yet (case 18).
    """
    return summary.get("status") in PARKED | TERMINAL


@attrs.frozen
class Binding:
    """What has to hold, and is written, together with the first snapshot of a claimed run.

    Attributes:
        condition: SQL that is true while the claim is the row, with its values.
        statement: SQL that binds the row, with its values.
    """

    condition: tuple[str, tuple[SqlValue, ...]]
    statement: tuple[str, tuple[SqlValue, ...]]


class Snapshots:
    """The snapshots of one deployment, in its shared database."""

    def __init__(self, database: Database) -> None:
        """Reach the rows by *database*."""
        self._database = database

    async def create(self, shell: Snapshot, binding: Binding | None) -> bool:
        """Insert the first snapshot of a run; with a binding, both or nothing.

        Returns:
            Whether it was inserted: False if the binding's condition does not hold. Then nothing
            was written.

        Raises:
            RunAlreadyExistsError: the run is there already. Nothing was written.
            RunStateUnreadableError: nobody can tell whether it was written.
        """
        insert, values = INSERT, row_of(shell)
        if binding is not None:
            condition, parameters = binding.condition
            insert, values = f"{INSERT} WHERE {condition}", (*values, *parameters)
        statements: list[tuple[str, tuple[SqlValue, ...]]] = [(each, ()) for each in CREATE]
        statements.append((insert, values))
        if binding is not None:
            statements.append(binding.statement)
        try:
            done = await self._database.batch(statements)
        except DatabaseFailed as error:
            if error.nothing_ran and f"UNIQUE constraint failed: {TABLE}" in root_text(error):
                raise RunAlreadyExistsError(shell.run_id) from error
            raise RunStateUnreadableError("the run cannot be created") from error
        return was_admitted(done[len(CREATE) :])

    async def write(self, snapshot: Snapshot) -> None:
        """Persist *snapshot* in place of what is there.

        Raises:
            RunStateUnreadableError: nobody can tell whether it was written; or the run is gone, or
                is further than this.
        """
        values = (
            snapshot.status, snapshot.revision, snapshot.start_token, body_of(snapshot),
            snapshot.cleaned, snapshot.updated_at, snapshot.workflow_id, snapshot.run_id,
            snapshot.revision,
        )  # fmt: skip
        tries = 0
        while True:
            tries += 1
            try:
                done = await self._database.execute(UPDATE, *values)
            except DatabaseFailed as error:
                if tries == PERSIST_TRIES:
                    raise RunStateUnreadableError("the run cannot be persisted") from error
            else:
                break
        if not done.changes:
            raise RunStateUnreadableError("the run is gone, or has been persisted further on")

    async def read(self, workflow_id: str, run_id: str) -> Snapshot | None:
        """Return the run as it was last persisted; None if it is not there.

        Raises:
            RunStateUnreadableError: it cannot be read, or makes no sense.
        """
        try:
            found = await self._database.execute(SELECT, workflow_id, run_id)
        except DatabaseFailed as error:
            if is_missing_table(error, TABLE):
                return None
            raise RunStateUnreadableError("the run cannot be read") from error
        return snapshot_of(found.rows[0]) if found.rows else None

    async def delete_shell(self, workflow_id: str, run_id: str) -> None:
        """Delete the run if it is a shell that nobody executes.

        Raises:
            RunStateUnreadableError: nobody can tell whether it was deleted.
        """
        try:
            await self._database.execute(DELETE_SHELL, workflow_id, run_id)
        except DatabaseFailed as error:
            if not is_missing_table(error, TABLE):
                raise RunStateUnreadableError("the run cannot be deleted") from error


def was_admitted(done: list[QueryRows]) -> bool:
    """Whether the first snapshot, and the binding if there is one, changed a row each."""
    return all(each.changes == 1 for each in done)


def root_text(error: BaseException) -> str:
    """Return what *error* and its direct causes say."""
    return str(error) if error.__cause__ is None else f"{error}: {error.__cause__}"


BODY: Final = (
    "step payload state results error suspended deadline_ms on_deadline requester request_context"
).split()
"""What is kept as JSON."""


def body_of(snapshot: Snapshot) -> str:
    """Return what has no column of its own, as JSON."""
    return json.dumps({name: plain(getattr(snapshot, name)) for name in BODY}, sort_keys=True)


def plain(value: Any) -> Any:
    """Return *value* as JSON can hold it."""
    return dict(cast(Mapping[str, Any], value)) if isinstance(value, Mapping) else value


def row_of(snapshot: Snapshot) -> tuple[SqlValue, ...]:
    """Return *snapshot* as the row that holds it."""
    return (
        snapshot.workflow_id, snapshot.run_id, snapshot.thread_id, snapshot.status,
        snapshot.revision, snapshot.start_token, body_of(snapshot), snapshot.cleaned,
        snapshot.created_at, snapshot.updated_at,
    )  # fmt: skip


def snapshot_of(row: Any) -> Snapshot:
    """Return the run that a row holds.

    Raises:
        RunStateUnreadableError: it makes no sense.
    """
    (
        workflow_id, run_id, thread_id, status, revision, start_token, body, cleaned, created_at,
        updated_at,
    ) = row  # fmt: skip
    try:
        kept = json.loads(body)
        kept["results"] = tuple(kept["results"])
        kept["requester"] = tuple(kept["requester"])
        if status not in TERMINABLE | TERMINAL:
            raise ValueError(f"no run is {status!r}")
        return Snapshot(
            workflow_id=workflow_id, run_id=run_id, thread_id=thread_id, revision=revision,
            status=cast(Status, status), start_token=start_token, cleaned=bool(cleaned),
            created_at=created_at, updated_at=updated_at, **kept,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError) as error:
        raise RunStateUnreadableError(f"the state of run {run_id} makes no sense") from error

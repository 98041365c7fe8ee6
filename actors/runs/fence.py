"""The execution fence: one row that says what a deployment may do, read anew for every request.

Source: spec/run-claims.md 1.1 to 1.9.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Literal

import attrs

from ..errors import DatabaseFailed
from ..ports import Database
from .causes import is_missing_table
from .errors import (
    ExecutionFenceUnreadableError,
    FenceTransitionConflictError,
    InvalidExecutionFenceRequestError,
)
from .names import is_path_safe

__all__ = [
    "OPEN_EXECUTION_FENCE",
    "ExecutionFence",
    "FenceReading",
    "FenceState",
    "FenceWiring",
    "admits_drainable_execution",
    "admits_existing_run",
    "admits_run_start",
    "admits_work_authoring",
    "read_execution_fence",
]

TABLE: Final = "flowsafe_execution_fence"

CREATE: Final = f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY CHECK (id = 'deployment'),
    state TEXT NOT NULL CHECK (state IN ('open', 'draining', 'migration-locked', 'proof-only')),
    proof_key TEXT,
    proof_run_id TEXT,
    updated_at INTEGER NOT NULL
)"""
INSERT: Final = f"INSERT OR IGNORE INTO {TABLE} (id, state, updated_at) VALUES ('deployment', ?, ?)"
SELECT: Final = f"SELECT state, proof_key, proof_run_id FROM {TABLE} WHERE id = 'deployment'"
TRANSITION: Final = (
    f"UPDATE {TABLE} SET state = ?, proof_key = ?, proof_run_id = NULL, updated_at = ? "
    "WHERE id = 'deployment' AND state = ?"
)
BIND: Final = (
    f"UPDATE {TABLE} SET proof_run_id = ?, updated_at = ? WHERE id = 'deployment' "
    "AND state = 'proof-only' AND proof_key = ? AND (proof_run_id IS NULL OR proof_run_id = ?)"
)


class FenceState(StrEnum):
    """What a deployment may do, from everything to almost nothing."""

    OPEN = "open"
    """No restriction."""
    DRAINING = "draining"
    """What is outstanding may complete; no new runs and no new standing work."""
    LOCKED = "migration-locked"
    """Nothing is executed; reading and administration remain."""
    PROOF_ONLY = "proof-only"
    """Locked, but for one designated start, and then that one run."""


BIRTH_STATES: Final = (FenceState.OPEN, FenceState.LOCKED)
"""How a deployment may be born."""


@attrs.frozen
class FenceReading:
    """What the fence said at one moment. Never kept longer than the request it was read for."""

    state: FenceState
    proof_key: str | None = None
    proof_run_id: str | None = None

    def json(self) -> dict[str, str]:
        """Return the reading as the admin route shows it: what is absent is left out."""
        found = {"state": str(self.state)}
        if self.proof_key is not None:
            found["proofKey"] = self.proof_key
        if self.proof_run_id is not None:
            found["proofRunId"] = self.proof_run_id
        return found


OPEN_EXECUTION_FENCE: Final = FenceReading(FenceState.OPEN)
"""The reading of whoever has no fence."""


class ExecutionFence:
    """The fence of one deployment, in its shared database."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        """Reach the row by *database*; *now_ms* stamps what is written."""
        self._database = database
        self._now_ms = now_ms

    async def read(self) -> FenceReading:
        """Read the row. Nothing is remembered, written or created; no row means open.

        Raises:
            ExecutionFenceUnreadableError: it cannot be read, or says what this build does not know.
        """
        try:
            found = await self._database.execute(SELECT)
        except DatabaseFailed as error:
            if is_missing_table(error, TABLE):
                return OPEN_EXECUTION_FENCE
            raise ExecutionFenceUnreadableError("the execution fence cannot be read") from error
        if not found.rows:
            return OPEN_EXECUTION_FENCE
        state, key, run_id = found.rows[0]
        try:
            known = FenceState(str(state))
        except ValueError:
            raise ExecutionFenceUnreadableError(
                f"the execution fence is in the state {state!r}, which is not known here"
            ) from None
        return FenceReading(known, str(key) if key else None, str(run_id) if run_id else None)

    async def seed(self, state: FenceState | str) -> None:
        """Write the row of a new deployment; one that is there stays as it is.

        Raises:
            InvalidExecutionFenceRequestError: a deployment is not born in *state*.
            ExecutionFenceUnreadableError: it cannot be written, or nobody can tell.
        """
        if state not in BIRTH_STATES:
            raise InvalidExecutionFenceRequestError(
                f"state: a deployment is born 'open' or 'migration-locked', not {state!r}"
            )
        try:
            await self._database.batch([(CREATE, ()), (INSERT, (str(state), self._now_ms()))])
        except DatabaseFailed as error:
            raise ExecutionFenceUnreadableError("the execution fence cannot be written") from error

    async def transition(
        self, expected: str, following: str, proof_key: str | None = None
    ) -> FenceReading:
        """Change the state from *expected* to *following*; the bound proof run is always dropped.

        Raises:
            InvalidExecutionFenceRequestError: a state is unknown, or the key does not fit.
            FenceTransitionConflictError: the fence was in another state. It was not changed.
            ExecutionFenceUnreadableError: it cannot be written, or nobody can tell.
        """
        before, after = _known("expected", expected), _known("next", following)
        _check_key(after, proof_key)
        now = self._now_ms()
        try:
            *_, changed = await self._database.batch(
                [
                    (CREATE, ()),
                    (INSERT, (str(FenceState.OPEN), now)),
                    (TRANSITION, (str(after), proof_key, now, str(before))),
                ]
            )
        except DatabaseFailed as error:
            raise ExecutionFenceUnreadableError("the execution fence cannot be written") from error
        if not changed.changes:
            current = await self.read()
            raise FenceTransitionConflictError(str(before), str(current.state))
        return FenceReading(after, proof_key)

    async def record_proof_run(self, proof_key: str, run_id: str) -> bool:
        """Bind *run_id* to the proof slot of *proof_key*; returns whether the slot is its own now.

        Raises:
            InvalidExecutionFenceRequestError: one of them is no name.
            ExecutionFenceUnreadableError: it cannot be written, or nobody can tell.
        """
        for field, value in (("proofKey", proof_key), ("runId", run_id)):
            if not is_path_safe(value):
                raise InvalidExecutionFenceRequestError(f"{field}: not path-safe")
        try:
            bound = await self._database.execute(BIND, run_id, self._now_ms(), proof_key, run_id)
        except DatabaseFailed as error:
            if is_missing_table(error, TABLE):
                return False
            raise ExecutionFenceUnreadableError("the proof run cannot be recorded") from error
        return bound.changes > 0


FenceWiring = ExecutionFence | Literal["none"]
"""A fence, or the written word that there is none. Nothing may leave it out."""


async def read_execution_fence(fence: FenceWiring) -> FenceReading:
    """Return the reading of *fence*: the one place that says what no fence means."""
    return OPEN_EXECUTION_FENCE if fence == "none" else await fence.read()


def admits_run_start(reading: FenceReading, key: str | None) -> bool:
    """Whether a run may be started, under *key* if it has one."""
    if reading.state is FenceState.PROOF_ONLY:
        return reading.proof_key is not None and key == reading.proof_key
    return reading.state is FenceState.OPEN


def admits_existing_run(reading: FenceReading, run_id: str | None) -> bool:
    """Whether a run that exists may go on."""
    if reading.state is FenceState.PROOF_ONLY:
        return reading.proof_run_id is not None and run_id == reading.proof_run_id
    return reading.state in (FenceState.OPEN, FenceState.DRAINING)


def admits_work_authoring(reading: FenceReading) -> bool:
    """Whether standing work, such as a schedule, may be made."""
    return reading.state is FenceState.OPEN


def admits_drainable_execution(reading: FenceReading) -> bool:
    """Whether work that drains away by itself may be done."""
    return reading.state in (FenceState.OPEN, FenceState.DRAINING)


def _known(field: str, state: str) -> FenceState:
    try:
        return FenceState(state)
    except ValueError:
        raise InvalidExecutionFenceRequestError(f"{field}: no state {state!r}") from None


def _check_key(after: FenceState, proof_key: str | None) -> None:
    if after is FenceState.PROOF_ONLY:
        if not is_path_safe(proof_key):
            raise InvalidExecutionFenceRequestError("proofKey: proof-only needs a path-safe one")
    elif proof_key is not None:
        raise InvalidExecutionFenceRequestError(f"proofKey: goes with proof-only, not {after}")

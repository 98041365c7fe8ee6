"""Start reservations: one row for each idempotency key, changed only by compare-and-set.

`reserved` (the key means this run; nobody has started it) -> `started` (one caller won the claim)
-> `terminal` (spent). The one way back, `started` -> `reserved`, is a release.
Source: spec/run-claims.md 2.1 to 2.4; for `rollback_fenced_start` 2.7.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NoReturn, Protocol, get_args

import attrs

from ..errors import DatabaseFailed
from ..ports import Database
from ..statements import QueryRows, SqlValue
from .causes import is_missing_table
from .errors import (
    InvalidStartIdempotencyRequestError,
    StartReservationOwnerMismatchError,
    StartReservationTargetMismatchError,
    StartReservationUnreadableError,
)
from .names import is_path_safe
from .refusal import is_execution_fence_refusal
from .snapshots import Binding

__all__ = [
    "Claim",
    "Log",
    "Owner",
    "OwnerKind",
    "Releasing",
    "Reservation",
    "ReservationState",
    "Reserved",
    "StartRequest",
    "StartReservations",
    "Target",
    "TargetKind",
    "rollback_fenced_start",
]

Log = Callable[[str, dict[str, Any]], None]
"""Told what goes on beside an answer, by type and fields."""
OwnerKind = Literal["human", "service", "agent", "system"]
TargetKind = Literal["workflow", "agent"]
ReservationState = Literal["reserved", "started", "terminal"]

TABLE: Final = "flowsafe_start_idempotency"

COLUMNS: Final = (
    "key, owner_kind, owner_id, target_kind, target_id, run_id, thread_id, state, created_at, "
    "updated_at, start_token"
)

CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    key TEXT PRIMARY KEY,
    owner_kind TEXT NOT NULL CHECK (owner_kind IN ('human', 'service', 'agent', 'system')),
    owner_id TEXT NOT NULL,
    target_kind TEXT NOT NULL CHECK (target_kind IN ('workflow', 'agent')),
    target_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    thread_id TEXT CHECK ((target_kind = 'agent') = (thread_id IS NOT NULL)),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'started', 'terminal')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    start_token TEXT
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_run ON {TABLE} (run_id)",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_state ON {TABLE} (state, updated_at)",
)
INSERT: Final = (
    f"INSERT OR IGNORE INTO {TABLE} ({COLUMNS}) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, 'reserved', ?, ?, NULL)"
)
SELECT: Final = f"SELECT {COLUMNS} FROM {TABLE} WHERE key = ?"
STAMP: Final = "updated_at = MAX(?, updated_at + 1)"
"""Stamps grow with every change, whatever the clocks say: a stamp names one state of one row."""
CLAIM: Final = (
    f"UPDATE {TABLE} SET state = 'started', {STAMP} "
    "WHERE key = ? AND run_id = ? AND state = 'reserved' AND updated_at = COALESCE(?, updated_at) "
    f"RETURNING {COLUMNS}"
)
RELEASE: Final = (
    f"UPDATE {TABLE} SET state = 'reserved', {STAMP} "
    "WHERE key = ? AND run_id = ? AND state = 'started'"
)
SETTLE: Final = (
    f"UPDATE {TABLE} SET state = 'terminal', {STAMP} WHERE run_id = ? AND state <> 'terminal'"
)
IS_CLAIM: Final = (
    "key = ? AND run_id = ? AND state = 'started' AND start_token IS NULL AND updated_at = ?"
)
RELEASE_EXACT: Final = f"UPDATE {TABLE} SET state = 'reserved', {STAMP} WHERE {IS_CLAIM}"
BIND: Final = f"UPDATE {TABLE} SET start_token = ?, {STAMP} WHERE {IS_CLAIM}"

ID: Final = re.compile(r"[^\x00-\x1f\x7f]{1,200}\Z")


@attrs.frozen
class Owner:
    """Who may use a key: an execution principal."""

    kind: OwnerKind
    id: str


@attrs.frozen
class Target:
    """What a key starts."""

    kind: TargetKind
    id: str


@attrs.frozen
class StartRequest:
    """What a keyed start asks for. The run id of a new row is minted by the host."""

    key: str
    owner: Owner
    target: Target
    thread_id: str | None = None

    def check(self) -> None:
        """Refuse what no row can hold.

        Raises:
            InvalidStartIdempotencyRequestError: naming the field. Nothing was written.
        """
        problems = (
            ("idempotencyKey", is_path_safe(self.key)),
            ("owner.kind", self.owner.kind in get_args(OwnerKind)),
            ("owner.id", ID.match(self.owner.id) is not None and not self.owner.id.isspace()),
            ("target.kind", self.target.kind in get_args(TargetKind)),
            ("target.id", is_path_safe(self.target.id)),
            (
                "threadId",
                is_path_safe(self.thread_id)
                if self.target.kind == "agent"
                else self.thread_id is None,
            ),
        )
        for field, fits in problems:
            if not fits:
                raise InvalidStartIdempotencyRequestError(f"{field} is not valid")


@attrs.frozen
class Claim:
    """One claim of one key, exactly: what travels to whoever is to start it.

    Attributes:
        stamp: `updated_at` of the row as it was claimed; no other claim of the key has it.
    """

    key: str
    run_id: str
    stamp: int


@attrs.frozen
class Reservation:
    """One row as it was read.

    Attributes:
        updated_at: stamp of the last change, milliseconds, growing with every change of the row.
        start_token: of the execution that the row is bound to; None while it is bound to none.
    """

    key: str
    owner: Owner
    target: Target
    run_id: str
    thread_id: str | None
    state: ReservationState
    created_at: int
    updated_at: int
    start_token: str | None = None

    @property
    def claim(self) -> Claim:
        """The claim that this row is, if it is `started`."""
        return Claim(self.key, self.run_id, self.updated_at)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has happened to the row since it was made."""
        return self.state == "reserved" and self.updated_at == self.created_at


@attrs.frozen
class Reserved:
    """What `reserve` found, and whether this very call made it."""

    reservation: Reservation
    created: bool


class StartReservations:
    """The rows of one deployment, in its shared database."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        """Reach the rows by *database*; *now_ms* stamps what is written."""
        self._database = database
        self._now_ms = now_ms

    async def reserve(self, request: StartRequest, mint: Callable[[], str]) -> Reserved:
        """Make the row of a key, or read the one that is there.

        `created` is true only if the insert changed a row *and* the row holds the run id minted
        here: a creator taken for a replayer converges, the reverse would start twice.

        Raises:
            InvalidStartIdempotencyRequestError: the request fits no row. Nothing was written.
            StartReservationOwnerMismatchError: the key is somebody else's; compared first.
            StartReservationTargetMismatchError: the key starts something else.
            StartReservationUnreadableError: nobody can tell what the row says. It may be there now.
        """
        request.check()
        candidate = mint()
        if not is_path_safe(candidate):
            raise InvalidStartIdempotencyRequestError("runId is not valid")
        now = self._now_ms()
        owner, target = request.owner, request.target
        values = (
            request.key, owner.kind, owner.id, target.kind, target.id, candidate,
            request.thread_id, now, now,
        )  # fmt: skip
        inserted = await self._insert(values)
        reservation = await self.read(request.key)
        if reservation is None:
            raise StartReservationUnreadableError("the start reservation cannot be read back")
        if reservation.owner != owner:
            raise StartReservationOwnerMismatchError
        if reservation.target != target:
            raise StartReservationTargetMismatchError(
                reservation.target.kind, reservation.target.id
            )
        created = inserted.changes == 1 and reservation.run_id == candidate
        return Reserved(reservation, created)

    async def _insert(self, values: tuple[SqlValue, ...]) -> QueryRows:
        """Insert a row; the tables are made when the first one is, and by nothing else."""
        inserted = await self._write(INSERT, *values)
        if inserted is not None:
            return inserted
        try:
            *_, first = await self._database.batch(
                [*((statement, ()) for statement in CREATE), (INSERT, values)]
            )
        except DatabaseFailed as error:
            raise StartReservationUnreadableError("the start cannot be reserved") from error
        return first

    async def claim(self, key: str, run_id: str, stamp: int | None = None) -> Reservation | None:
        """`reserved` -> `started`; returns the row as this very call claimed it, or None.

        Only this answer establishes a claim: whoever lost it has none.

        Args:
            key, run_id: which row.
            stamp: of the row that was looked at; one that was touched since is not claimed, since
                what was found out about its run may not be so any more. None for any.
        """
        claimed = await self._write(CLAIM, self._now_ms(), key, run_id, stamp)
        return None if claimed is None or not claimed.rows else parse(claimed.rows[0])

    async def release(self, key: str, run_id: str) -> bool:
        """`started` -> `reserved`; returns whether this call did it."""
        return await self._changed(RELEASE, self._now_ms(), key, run_id)

    async def release_exact(self, claim: Claim) -> bool:
        """`started` -> `reserved`, only if the row is still *claim*, bound to no execution."""
        return await self._changed(
            RELEASE_EXACT, self._now_ms(), claim.key, claim.run_id, claim.stamp
        )

    def binding(self, claim: Claim, start_token: str) -> Binding:
        """Return what binds *claim* to one execution, for the batch of the first snapshot."""
        exact = (claim.key, claim.run_id, claim.stamp)
        return Binding(
            (f"EXISTS (SELECT 1 FROM {TABLE} WHERE {IS_CLAIM})", exact),
            (BIND, (start_token, self._now_ms(), *exact)),
        )

    async def settle_run(self, run_id: str) -> int:
        """Mark the rows of a run as spent; returns how many were not."""
        if not is_path_safe(run_id):
            return 0
        settled = await self._write(SETTLE, self._now_ms(), run_id)
        return 0 if settled is None else settled.changes

    async def read(self, key: str) -> Reservation | None:
        """Return the row of *key*; None if there is none.

        Raises:
            StartReservationUnreadableError: it cannot be read, or makes no sense.
        """
        found = await self._write(SELECT, key)
        if found is None or not found.rows:
            return None
        return parse(found.rows[0])

    async def for_runs(self, run_ids: Sequence[str]) -> list[Reservation]:
        """Return the rows of those runs, at most 100 runs in one call."""
        if not run_ids:
            return []
        marks = ", ".join("?" * len(run_ids))
        sql = f"SELECT {COLUMNS} FROM {TABLE} WHERE run_id IN ({marks}) ORDER BY key"
        found = await self._write(sql, *run_ids)
        return [] if found is None else [parse(row) for row in found.rows]

    async def _changed(self, sql: str, *values: SqlValue) -> bool:
        done = await self._write(sql, *values)
        return done is not None and done.changes > 0

    async def _write(self, sql: str, *values: SqlValue) -> QueryRows | None:
        """Run one statement; None if the table is not there, since nothing was ever reserved."""
        try:
            return await self._database.execute(sql, *values)
        except DatabaseFailed as error:
            if is_missing_table(error, TABLE):
                return None
            raise StartReservationUnreadableError(
                "the start reservation cannot be read or written"
            ) from error


class Releasing(Protocol):
    """Whoever can be asked to give a claim back from the side of a router."""

    async def release(self, key: str, run_id: str) -> bool:
        """Return whether the claim was given back by this very call."""
        ...


async def rollback_fenced_start(
    releasing: Releasing, key: str, run_id: str, error: Exception, log: Log
) -> NoReturn:
    """Give a claim back if the fence refused its start, and raise the same error in any case.

    Callers pass every error of the start that they made for the claim, whatever it is.

    Raises:
        Exception: *error*, the object itself, whether the release landed or failed.
    """
    if is_execution_fence_refusal(error):
        try:
            await releasing.release(key, run_id)
        except Exception as failure:
            log(
                "start-reservation-rollback-failed",
                {"key": key, "runId": run_id, "error": str(failure)},
            )
    raise error


def parse(row: Sequence[Any]) -> Reservation:
    """Return a row as a value.

    Raises:
        StartReservationUnreadableError: it makes no sense. It must never be taken for absent.
    """
    key, owner_kind, owner_id, target_kind, target_id, run_id, thread_id, state, *rest = row
    created_at, updated_at, start_token = rest
    fits = (
        is_path_safe(key)
        and owner_kind in get_args(OwnerKind)
        and isinstance(owner_id, str)
        and target_kind in get_args(TargetKind)
        and isinstance(target_id, str)
        and is_path_safe(run_id)
        and (thread_id is None or isinstance(thread_id, str))
        and state in get_args(ReservationState)
        and type(created_at) is int
        and type(updated_at) is int
        and (start_token is None or isinstance(start_token, str))
    )
    if not fits:
        raise StartReservationUnreadableError("the start reservation makes no sense")
    return Reservation(  # every field was looked at just now
        key, Owner(owner_kind, owner_id), Target(target_kind, target_id), run_id, thread_id, state,
        created_at, updated_at, start_token,
    )  # fmt: skip

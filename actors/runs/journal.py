"""What a run object has begun and not finished: a start that may have died, a deadline to come.

One alarm serves both duties. The journal is written before the start reserves or creates anything,
so that whatever a dead attempt has left is found again (spec/run-claims.md 3.2, 3.5).
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

import attrs

from ..storage import Storage
from .errors import ExecutionFencedError, ExecutionFenceUnreadableError
from .run_errors import RunStateUnreadableError
from .snapshots import Snapshot

__all__ = ["Deadline", "Journal", "Pending", "is_charged", "soon", "still_due"]

JOURNAL_KEY: Final = "flowsafe:run-owner-recovery:v1"
DEADLINE_KEY: Final = "flowsafe:run-deadline:v1"
RESUME_KEY: Final = "flowsafe:run-resume:v1"
SEALED_KEY: Final = "flowsafe:sealed-claim:v1"
VERSION: Final = 1
WATCH: Final = timedelta(seconds=60)
"""How long after an attempt its remains are looked for, and again after each try."""
ATTEMPTS_MAX: Final = 5
"""Failed tries of a deadline before it is given up."""


@attrs.frozen
class Pending:
    """A start that has begun.

    Attributes:
        token: of the attempt.
    """

    workflow_id: str
    run_id: str
    token: str


@attrs.frozen
class Deadline:
    """The end of a suspension.

    Attributes:
        at_ms: when it is due, milliseconds since 1970.
        on_deadline: "resume" or "time-out".
        suspension: which one of the run it ends; none other.
        attempts: how many tries have failed and were charged.
    """

    workflow_id: str
    run_id: str
    at_ms: int
    on_deadline: str
    suspension: int
    attempts: int = 0


def deadline_of(snapshot: Snapshot) -> Deadline | None:
    """Return the deadline of a run as it stands; None if it has none."""
    if snapshot.deadline_ms is None or snapshot.status != "suspended":
        return None
    return Deadline(
        snapshot.workflow_id, snapshot.run_id, snapshot.deadline_ms, snapshot.on_deadline,
        snapshot.revision,
    )  # fmt: skip


def still_due(kept: Deadline | None, snapshot: Snapshot) -> Deadline | None:
    """Return the deadline to keep once *snapshot* is seen, which may be older than *kept*.

    That of the same suspension stays with its failed tries.
    """
    found = deadline_of(snapshot)
    if kept is None or kept.suspension < snapshot.revision:
        return found
    return None if found is None and kept.suspension == snapshot.revision else kept


class Journal:
    """The duties of one run object, in its own storage.

    Stored keys:
        flowsafe:run-owner-recovery:v1: the attempt under way, as a dict with a version.
        flowsafe:run-deadline:v1: the deadline of the suspension.
        flowsafe:run-resume:v1: that the run is being resumed: what it parks at next is not known.
        flowsafe:sealed-claim:v1: the newest stamp of a claim that is refused for good.
    """

    def __init__(self, storage: Storage) -> None:
        """Keep them in *storage*."""
        self._storage = storage

    def arm(self, pending: Pending) -> None:
        """Note that an attempt begins: the alarm first, then the journal."""
        self.watch()
        self._storage.kv.put(JOURNAL_KEY, {"version": VERSION, **attrs.asdict(pending)})

    def watch(self) -> None:
        """Look again in a while."""
        self._storage.set_alarm(WATCH)

    def pending(self) -> Pending | None:
        """Return the attempt under way, if there is one.

        Raises:
            RunStateUnreadableError: what is written there makes no sense.
        """
        found: Any = self._storage.kv.get(JOURNAL_KEY)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise RunStateUnreadableError("the journal of the run makes no sense")
        written = cast(dict[str, Any], found)
        fields = [written.get(name) for name in ("workflow_id", "run_id", "token")]
        if written.get("version") != VERSION or not all(isinstance(each, str) for each in fields):
            raise RunStateUnreadableError("the journal of the run makes no sense")
        return Pending(*cast(list[str], fields))

    def clear(self) -> None:
        """Note that the attempt has ended and left nothing to be settled."""
        self._storage.kv.delete(JOURNAL_KEY)

    def deadline(self) -> Deadline | None:
        """Return the deadline, if there is one."""
        found: Any = self._storage.kv.get(DEADLINE_KEY)
        return None if found is None else Deadline(**found)

    def set_deadline(self, deadline: Deadline | None) -> None:
        """Keep *deadline* in place of the one before."""
        if deadline is None:
            self._storage.kv.delete(DEADLINE_KEY)
        else:
            self._storage.kv.put(DEADLINE_KEY, attrs.asdict(deadline))

    def reconcile(self, snapshot: Snapshot | None) -> None:
        """Keep the deadline that a run has, as *snapshot* says; None: there is no such run."""
        self.resumed()
        self.set_deadline(None if snapshot is None else still_due(self.deadline(), snapshot))

    def resume(self, now_ms: int) -> None:
        """Note that the run is resumed: should that die, somebody looks at what it has come to.

        Whoever is refused puts no deadline off.
        """
        self._storage.set_alarm(soon([self.deadline()], now_ms))
        self._storage.kv.put(RESUME_KEY, True)

    def resumed(self) -> None:
        """Note that a resumption has ended; whoever made it knows what is to be done next."""
        self._storage.kv.delete(RESUME_KEY)

    def is_resuming(self) -> bool:
        """Whether a resumption has begun, and nobody has seen its end."""
        return self._storage.kv.get(RESUME_KEY) is not None

    def sealed(self) -> int | None:
        """Return the newest stamp of a claim that is refused for good."""
        return cast("int | None", self._storage.kv.get(SEALED_KEY))

    def seal(self, stamp: int) -> None:
        """Refuse the claim of that stamp, and those before it, for good."""
        self._storage.kv.put(SEALED_KEY, max(stamp, self.sealed() or 0))

    def arm_next(self) -> None:
        """Set the one alarm for what is to be done next; none if there is nothing."""
        deadline = self.deadline()
        if self._storage.kv.get(JOURNAL_KEY) is not None or self.is_resuming():
            self.watch()
        elif deadline is not None:
            self._storage.set_alarm(instant_of(deadline.at_ms))
        else:
            self._storage.delete_alarm()


def soon(deadlines: Iterable[Deadline | None], now_ms: int) -> datetime:
    """Return when to look at what is resumed now: in a while, or at a deadline before that."""
    due = [each.at_ms for each in deadlines if each is not None and each.at_ms > now_ms]
    return instant_of(min([now_ms + WATCH // timedelta(milliseconds=1), *due]))


def charged(deadline: Deadline, now_ms: int) -> Deadline | None:
    """Return *deadline* after one more failed try; None if it is given up."""
    attempts = deadline.attempts + 1
    if attempts >= ATTEMPTS_MAX:
        return None
    wait_ms = 60_000 * 2 ** (attempts - 1)
    return attrs.evolve(deadline, attempts=attempts, at_ms=now_ms + wait_ms)


def is_charged(error: Exception) -> bool:
    """Whether a failed try of a deadline counts: not if the fence refused it (case 33)."""
    return not isinstance(error, ExecutionFencedError | ExecutionFenceUnreadableError)


def instant_of(at_ms: int) -> datetime:
    """Return a time in milliseconds since 1970 as an aware one."""
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=at_ms)

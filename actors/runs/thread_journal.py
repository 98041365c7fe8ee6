"""What a thread keeps of itself: whose it is, its runs, what waits for them, what is to be done.

One alarm serves all runs of a thread, as that of a run object serves its one
(spec/run-claims.md 3.5, 3.6).
"""

from functools import partial
from typing import Any, Final, cast

import attrs

from ..storage import Storage
from .journal import WATCH, Deadline, instant_of, soon, still_due
from .reservations import Owner
from .runtime import name_of
from .snapshots import TERMINAL, Snapshot

__all__ = ["Attempt", "Binding", "ThreadJournal"]

BINDING: Final = "flowsafe:thread:v1"
ACTIVE: Final = "flowsafe:thread-active:v1"
ATTEMPT: Final = "flowsafe:thread-run-recovery:v1/"
DEADLINE: Final = "flowsafe:thread-deadline:v1/"
RESUME: Final = "flowsafe:thread-resume:v1/"
SEALED: Final = "flowsafe:thread-sealed-claim:v1/"
SIGNAL: Final = "flowsafe:thread-signal:v1/"
SIGNALS_MAX: Final = 1000
"""Signals that wait in one thread; more are refused."""


@attrs.frozen
class Attempt:
    """A start under way, until it came to something or was undone.

    Attributes:
        token: of the attempt.
        has_bound: whether the thread is its owner's by it, until some attempt comes to something.
        was_active: the active run before it, or before what was undone meanwhile.
    """

    agent_id: str
    run_id: str
    token: str
    has_bound: bool
    was_active: str | None

    @property
    def name(self) -> str:
        """The name of its run."""
        return name_of(self.agent_id, self.run_id)


@attrs.frozen
class Binding:
    """Whose thread it is, and which agent's."""

    kind: str
    owner_id: str
    agent_id: str

    def is_of(self, owner: Owner) -> bool:
        """Whether the thread is *owner*'s."""
        return (self.kind, self.owner_id) == (owner.kind, owner.id)


class ThreadJournal:
    """The records of one thread, in its own storage.

    Stored keys:
        flowsafe:thread:v1: owner and agent.
        flowsafe:thread-active:v1: name of the run that signals are for.
        flowsafe:thread-run-recovery:v1/RUN: the attempt under way.
        flowsafe:thread-deadline:v1/RUN: the deadline of its suspension.
        flowsafe:thread-resume:v1/RUN: that it is being resumed: what it parks at is not known.
        flowsafe:thread-sealed-claim:v1/RUN: the newest stamp of a claim that is refused for good.
        flowsafe:thread-signal:v1/NUMBER: a signal that no run has taken.
    """

    def __init__(self, storage: Storage) -> None:
        """Keep them in *storage*."""
        self._storage = storage
        self._kv = storage.kv

    # ---- the thread

    def binding(self) -> Binding | None:
        """Return whose thread it is; None while no run has bound it."""
        found = self._kv.get(BINDING)
        return None if found is None else Binding(**found)

    def active(self) -> tuple[str, str] | None:
        """Return agent and id of the run that signals are for; None if there is none."""
        found: str | None = self._kv.get(ACTIVE)
        if found is None:
            return None
        agent_id, _, run_id = found.partition(":")
        return agent_id, run_id

    # ---- attempts

    def arm(self, agent_id: str, run_id: str, token: str, owner: Owner) -> Attempt:
        """Note that an attempt begins: the alarm first, then everything that it takes."""
        has_bound = self.binding() is None
        attempt = Attempt(agent_id, run_id, token, has_bound, self._kv.get(ACTIVE))
        self._storage.set_alarm(WATCH)
        self._write(attempt)
        if has_bound:
            self._kv.put(BINDING, attrs.asdict(Binding(owner.kind, owner.id, agent_id)))
        self._kv.put(ACTIVE, attempt.name)
        return attempt

    def attempts(self) -> list[Attempt]:
        """Return every attempt that has not ended, as far as is written."""
        found = self._kv.list(prefix=ATTEMPT)
        return [Attempt(**cast(dict[str, Any], each)) for each in found.values()]

    def attempt(self, name: str) -> Attempt | None:
        """Return the attempt of the run *name*, if one has not ended."""
        found = self._kv.get(ATTEMPT + name)
        return None if found is None else Attempt(**found)

    def clear(self, attempt: Attempt) -> None:
        """Note that an attempt came to something: the thread is its owner's for good."""
        for other in self.attempts():
            if other.has_bound:
                self._write(attrs.evolve(other, has_bound=False))
        self._kv.delete(ATTEMPT + attempt.name)
        self.arm_next()

    def undo(self, attempt: Attempt) -> None:
        """Take back what an attempt that came to nothing has written: all of it, or nothing.

        Of half an attempt, which a read that fails would leave, nobody would find the rest again.
        """
        self._storage.transaction_sync(partial(self._undo, attempt))

    def _undo(self, attempt: Attempt) -> None:
        kept = self.attempt(attempt.name)
        if kept is None:
            return
        # Others may have handed it on, or have come to something, since it began.
        attempt = kept
        self._kv.delete(ATTEMPT + attempt.name)
        if self._kv.get(ACTIVE) == attempt.name:
            self._put(ACTIVE, attempt.was_active)
        others = self._handed_on(attempt)
        if attempt.has_bound and not others and self._kv.get(ACTIVE) is None:
            self._kv.delete(BINDING)
        self.arm_next()

    def _handed_on(self, undone: Attempt) -> list[Attempt]:
        """Let the attempts that began after *undone* take back what it would have; returns them."""
        others = self.attempts()
        for number, other in enumerate(others):
            has_bound = other.has_bound or (undone.has_bound and number == 0)
            was_active = other.was_active
            if was_active == undone.name:
                was_active = undone.was_active
            following = attrs.evolve(other, has_bound=has_bound, was_active=was_active)
            if following != other:
                self._write(following)
        return others

    def _write(self, attempt: Attempt) -> None:
        self._kv.put(ATTEMPT + attempt.name, attrs.asdict(attempt))

    def reconcile(self, snapshot: Snapshot) -> None:
        """Let deadline and active run be what *snapshot* says."""
        name = name_of(snapshot.workflow_id, snapshot.run_id)
        self.resumed(name)
        kept = self._kv.get(DEADLINE + name)
        due = still_due(None if kept is None else Deadline(**kept), snapshot)
        self.set_deadline(name, due)
        if snapshot.status in TERMINAL:
            self.end_active(snapshot.workflow_id, snapshot.run_id)
        self.arm_next()

    def end_active(self, agent_id: str, run_id: str) -> None:
        """Let no signal be for this run any more."""
        if self._kv.get(ACTIVE) == name_of(agent_id, run_id):
            self._kv.delete(ACTIVE)

    def gone(self, name: str) -> None:
        """Keep nothing of the run *name*, which is not there."""
        self.resumed(name)
        self.set_deadline(name, None)

    # ---- deadlines and the alarm

    def resume(self, name: str, now_ms: int) -> None:
        """Note that a run is resumed: should that die, somebody looks at what it has come to.

        Whoever is refused puts no deadline off.
        """
        self._storage.set_alarm(soon(self.deadlines(), now_ms))
        self._kv.put(RESUME + name, True)

    def resumed(self, name: str) -> None:
        """Note that a resumption has ended; whoever made it knows what is to be done next."""
        self._kv.delete(RESUME + name)

    def resuming(self) -> list[str]:
        """Return the name of each run that is resumed, as far as nobody has seen the end."""
        return [key.removeprefix(RESUME) for key in self._kv.list(prefix=RESUME)]

    def deadlines(self) -> list[Deadline]:
        """Return the deadline of each run that has one."""
        found = self._kv.list(prefix=DEADLINE)
        return [Deadline(**cast(dict[str, Any], each)) for each in found.values()]

    def set_deadline(self, name: str, deadline: Deadline | None) -> None:
        """Keep the deadline of the run *name* in place of the one before."""
        self._put(DEADLINE + name, None if deadline is None else attrs.asdict(deadline))

    def watch(self) -> None:
        """Look again in a while."""
        self._storage.set_alarm(WATCH)

    def arm_next(self) -> None:
        """Set the one alarm for what is to be done next; none if there is nothing."""
        due = [deadline.at_ms for deadline in self.deadlines()]
        if self.attempts() or self.resuming():
            self.watch()
        elif due:
            self._storage.set_alarm(instant_of(min(due)))
        else:
            self._storage.delete_alarm()

    # ---- claims

    def sealed(self, name: str) -> int | None:
        """Return the newest stamp of a claim of the run *name* that is refused for good."""
        return cast("int | None", self._kv.get(SEALED + name))

    def seal(self, name: str, stamp: int) -> None:
        """Refuse the claim of that stamp, and those before it, for good."""
        self._kv.put(SEALED + name, max(stamp, self.sealed(name) or 0))

    # ---- signals

    def keep(self, signal: Any) -> bool:
        """Keep a signal until a run takes it; returns whether there was room."""
        waiting = self._kv.list(prefix=SIGNAL)
        if len(waiting) >= SIGNALS_MAX:
            return False
        last = max((int(key.removeprefix(SIGNAL)) for key in waiting), default=0)
        self._kv.put(f"{SIGNAL}{last + 1:012}", signal)
        return True

    def signals(self) -> dict[str, Any]:
        """Return the signals that wait, by key, in the order in which they came."""
        return dict(self._kv.list(prefix=SIGNAL))

    def take(self, signals: dict[str, Any]) -> None:
        """Note that a run has taken *signals*."""
        self._kv.delete_many(signals)

    def _put(self, key: str, value: Any) -> None:
        if value is None:
            self._kv.delete(key)
        else:
            self._kv.put(key, value)

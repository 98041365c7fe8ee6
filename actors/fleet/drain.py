"""When a drain and its fence live, and what may happen to them.

Source: spec/deploy-fence.md C.0, C.1, E.1, L (operation 4).
"""

from typing import Final, Literal

import attrs

from .bounds import CYCLE_BOUND_MS, RESERVE_MS
from .documents import as_int, as_mapping
from .drain_record import DrainRecord, Fence, FenceOwner, Hold, Swap
from .identities import WorkerVersion, is_uuid
from .machines import Edge, Guard, Machine

__all__ = [
    "DRAIN_MACHINE",
    "DrainFacts",
    "DrainRecord",
    "Fence",
    "FenceOwner",
    "Hold",
    "Swap",
    "drain_end",
    "drain_state",
    "fence_problem",
    "fence_ready",
    "held_for",
    "is_post_upload",
    "is_withdrawable",
    "live_drain",
    "lowered",
    "names_another",
    "reported",
    "room",
    "withdrawn",
    "worker_of",
]

WITHDRAWABLE: Final = ("preflight", "recovery", "deciding")
"""Owners that may take their own fence back; the others hand it over or let it expire."""
WINDOW_OWNERS: Final = ("decision", "controller")
"""Owners of a risk window's fence, which no ordinary undrain lifts."""

State = Literal["NONE", "DRAINED", "FENCED", "LIFT_ASKED"]


# ---- when it lives


def drain_end(record: DrainRecord) -> int:
    """Return when *record* ends by itself.

    Holds keep a lift that was asked, and no longer than their own end. They never shorten a drain
    that nobody has asked to lift: a fence that was verified in it would vanish with it.
    """
    if record.lift_asked and record.holds and record.holds_until is not None:
        return min(record.until, record.holds_until)
    return record.until


def live_drain(record: DrainRecord | None, now: int) -> DrainRecord | None:
    """Return *record* if it lives at *now*; what cannot be read as a drain is none."""
    return None if record is None or drain_end(record) <= now else record


def room(record: DrainRecord, now: int, *ends: int | None) -> int:
    """Return how many milliseconds are left until the earliest end."""
    return min([drain_end(record), *(end for end in ends if end is not None)]) - now


def fence_ready(record: DrainRecord | None, now: int, *ends: int | None) -> bool:
    """Whether a fence stands in *record* with the reserve left to every end (I-32: inclusive)."""
    return (
        record is not None and record.fence is not None and room(record, now, *ends) >= RESERVE_MS
    )


def fence_problem(
    record: DrainRecord | None, now: int, fence_id: str, version: str, *ends: int
) -> str | None:
    """Return the code of why the fence *fence_id*, set by *version*, does not do now; or None."""
    fence = None if record is None else record.fence
    if record is None or fence is None or fence.fence_id != fence_id:
        return "FENCE_UNAVAILABLE"
    if fence.swap.version != version:
        return "FENCE_UNAVAILABLE"
    return None if fence_ready(record, now, *ends) else "RESERVE_TOO_SMALL"


def drain_state(record: DrainRecord | None, now: int) -> State:
    """Return the state of the drain machine; a lift that was asked outlasts the fence."""
    live = live_drain(record, now)
    if live is None:
        return "NONE"
    if live.lift_asked:
        return "LIFT_ASKED"
    return "DRAINED" if live.fence is None else "FENCED"


def is_post_upload(fence: Fence | None, worker: WorkerVersion | None) -> bool:
    """Whether *worker* was uploaded after *fence* was set, by another version than set it."""
    if fence is None:
        return True
    if worker is None or worker.uploaded_at is None:
        return False
    return worker.id != fence.swap.version and worker.uploaded_at > fence.swap.at


def is_withdrawable(fence: Fence | None, fence_id: str | None) -> bool:
    """Whether an attempt that names *fence_id* may take *fence* back: its own one, and no other."""
    return fence is not None and fence.fence_id == fence_id and fence.owner.kind in WITHDRAWABLE


def names_another(record: DrainRecord | None, drain_id: str | None) -> bool:
    """Whether *drain_id* is that of another drain than *record*; None is that of whichever lives.

    A runner that has failed lifts what it has closed, and not what somebody closed after it.
    """
    return record is not None and drain_id is not None and record.drain_id != drain_id


def worker_of(producer: object) -> WorkerVersion | None:
    """Return the Worker version that *producer*, a document, names; None if it names none."""
    fields = as_mapping(producer) or {}
    version = fields.get("workerVersion")
    return WorkerVersion(version, as_int(fields.get("uploadedAt"))) if is_uuid(version) else None


# ---- what happens to it


def withdrawn(record: DrainRecord) -> DrainRecord:
    """Return *record* without its fence; everything else stays, also the name of the Worker."""
    return attrs.evolve(record, fence=None)


def lowered(record: DrainRecord) -> DrainRecord | None:
    """Return what undrain leaves of *record*: nothing, or a lift that waits for the holds."""
    return attrs.evolve(record, lift_asked=True) if record.holds else None


def held_for(
    record: DrainRecord, resource: str, token: str | None, since: int | None, now: int
) -> DrainRecord:
    """Return *record* with the hold of *resource*.

    A member's own hold takes the place of any other. One without a token, put on from outside, is
    left out where the member has a hold, or has reported since the reconcile began. The first hold
    that stands says how long holds keep the drain.
    """
    if token is None:
        done = record.reported_at.get(resource)
        if done is not None and since is not None and done >= since:
            return record
        if any(hold.resource == resource for hold in record.holds):
            return record
    others = [hold for hold in record.holds if hold.resource != resource]
    holds = sorted([*others, Hold(resource, token)], key=lambda hold: hold.resource)
    until = record.holds_until
    if until is None or not record.holds:
        until = min(record.until, now + CYCLE_BOUND_MS)
    return attrs.evolve(record, holds=tuple(holds), holds_until=until)


def reported(record: DrainRecord, resource: str, token: str | None, now: int) -> DrainRecord | None:
    """Return *record* after a report: None if it was the last one that an asked lift waited for."""
    holds = tuple(
        hold
        for hold in record.holds
        if hold.resource != resource or hold.token not in (None, token)
    )
    if record.lift_asked and record.holds and not holds:
        return None
    return attrs.evolve(record, holds=holds, reported_at={**record.reported_at, resource: now})


# ---- the table


@attrs.frozen(kw_only=True)
class DrainFacts:
    """What one event at the drain knows.

    Attributes:
        record: that lives; None for none.
        now: the Registry's clock.
        worker: that asks.
        fence_id: that it names.
        drain_id: that it names; None for whichever lives.
        ends: other ends that the reserve has to reach.
        unsettled: permits that count.
    """

    record: DrainRecord | None
    now: int
    worker: WorkerVersion | None = None
    fence_id: str | None = None
    drain_id: str | None = None
    ends: tuple[int, ...] = ()
    unsettled: int = 0

    @property
    def fence(self) -> Fence | None:
        """The fence that stands."""
        return None if self.record is None else self.record.fence

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The holds that stand."""
        return () if self.record is None else self.record.holds

    @property
    def reserve_is_left(self) -> bool:
        """Whether a fence set now would be ready."""
        record = self.record
        return record is not None and room(record, self.now, *self.ends) >= RESERVE_MS


Row = Edge[DrainFacts]
FENCED: Final = Guard[DrainFacts]("a fence stands", lambda facts: facts.fence is not None)
HELD: Final = Guard[DrainFacts]("holds stand", lambda facts: bool(facts.holds))
NAMELESS: Final = Guard[DrainFacts]("version unknown", lambda facts: facts.worker is None)
SHORT: Final = Guard[DrainFacts]("under 20 min to an end", lambda facts: not facts.reserve_is_left)
ANOTHER: Final = Guard[DrainFacts](
    "another drain is named", lambda facts: names_another(facts.record, facts.drain_id)
)
PRE_UPLOAD: Final = Guard[DrainFacts](
    "fence, Worker not newer than it",
    lambda facts: not is_post_upload(facts.fence, facts.worker),
)
WINDOWED: Final = Guard[DrainFacts](
    "fence of a risk window",
    lambda facts: facts.fence is not None and facts.fence.owner.kind in WINDOW_OWNERS,
)
UNSETTLED: Final = Guard[DrainFacts](
    "fence, counted > 0", lambda facts: facts.fence is not None and facts.unsettled > 0
)
OWN: Final = Guard[DrainFacts](
    "its own id, owner preflight, recovery or deciding",
    lambda facts: is_withdrawable(facts.fence, facts.fence_id),
)

DRAIN_MACHINE: Final = Machine[DrainFacts](
    "drain and fence",
    ("NONE", "DRAINED", "FENCED", "LIFT_ASKED"),
    (
        Row("NONE DRAINED LIFT_ASKED FENCED", "drain", None, FENCED, code="DRAIN_FENCED"),
        Row("NONE", "drain", "DRAINED", effect="a new drainId; alarm at its end"),
        Row("DRAINED LIFT_ASKED", "drain", "DRAINED", effect="replaces the drain and its holds"),
        Row("NONE FENCED LIFT_ASKED", "set fence", None, code="FENCE_UNAVAILABLE"),
        Row("DRAINED", "set fence", None, NAMELESS, code="PRODUCER_IDENTITY_UNKNOWN"),
        Row("DRAINED", "set fence", None, SHORT, code="FENCE_UNAVAILABLE"),
        Row("DRAINED", "set fence", "FENCED", effect="a new fenceId"),
        Row("FENCED", "withdraw", "DRAINED", OWN, effect="the fence goes"),
        Row("LIFT_ASKED", "withdraw", "LIFT_ASKED", OWN, effect="the fence goes"),
        Row("NONE DRAINED FENCED LIFT_ASKED", "withdraw", None, effect="nothing"),
        Row("NONE", "undrain", None, effect="nothing"),
        Row("DRAINED FENCED LIFT_ASKED", "undrain", None, ANOTHER, effect="nothing"),
        Row("FENCED LIFT_ASKED", "undrain", None, PRE_UPLOAD, code="PRE_UPLOAD_WORKER"),
        Row("FENCED LIFT_ASKED", "undrain", None, WINDOWED, code="FENCE_OWNED_BY_WINDOW"),
        Row("FENCED LIFT_ASKED", "undrain", None, UNSETTLED, code="ADMITTED_WORK_UNSETTLED"),
        Row("DRAINED FENCED LIFT_ASKED", "undrain", "LIFT_ASKED", HELD, effect="the lift is asked"),
        Row("DRAINED FENCED LIFT_ASKED", "undrain", "NONE", effect="drain and fence go"),
    ),
)
"""E.1: what drain, fence, withdrawal and undrain do, and by which code they are refused."""

"""The part of the Registry that keeps drain, fence and holds.

Each request is one turn, without an await between what it reads and what it writes: its writes are
one transaction. Source: spec/deploy-fence.md C.1, C.5.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ..object import AlarmInfo, DurableObject
from ..storage import instant
from .admissions import Admissions
from .bounds import (
    BY_CHARS_MAX,
    DRAIN_MINUTES_DEFAULT,
    DRAIN_MINUTES_MAX,
    MINUTE_MS,
    REASON_CHARS_MAX,
    milliseconds,
)
from .codes import refused
from .documents import as_text
from .drain import (
    DRAIN_MACHINE,
    DrainFacts,
    drain_end,
    drain_state,
    fence_problem,
    held_for,
    live_drain,
    lowered,
    reported,
    withdrawn,
    worker_of,
)
from .drain_record import DrainRecord, Fence, FenceOwner, Swap
from .machines import Edge
from .maintenance import MAINTENANCE, held_records
from .permits import Counted, counted

__all__ = ["Document", "Draining"]

DRAIN: Final = "drain"

Document = dict[str, Any]


def is_drain_request(minutes: object, by: object, reason: object) -> bool:
    """Whether a drain may be asked for so; nothing is cut to fit."""
    return (
        type(minutes) is int
        and 1 <= minutes <= DRAIN_MINUTES_MAX
        and isinstance(by, str)
        and len(by) <= BY_CHARS_MAX
        and isinstance(reason, str)
        and len(reason) <= REASON_CHARS_MAX
    )


def fence_document(record: DrainRecord, fence: Fence) -> Document:
    """Return *fence* with the ends of its drain, as whoever set it is answered."""
    return {
        "fenceId": fence.fence_id,
        "owner": fence.owner.wire(),
        "drainId": record.drain_id,
        "since": record.since,
        "until": record.until,
        **fence.swap.wire(),
    }


class Draining(DurableObject, name="Draining"):
    """Drain, fence and holds of one fleet."""

    delivery = "serial"

    def __init__(self) -> None:
        self._admissions = Admissions(self.storage)

    def _now(self) -> int:
        return milliseconds(self.now())

    def _stored(self) -> DrainRecord | None:
        return DrainRecord.parse(self.storage.kv.get(DRAIN))

    def _live(self, now: int) -> DrainRecord | None:
        return live_drain(self._stored(), now)

    def _keep(self, record: DrainRecord | None) -> None:
        """Write the drain and the alarm at its end; None for no drain any more."""
        if record is None:
            self.storage.kv.delete(DRAIN)
            self.storage.delete_alarm()
            return
        self.storage.kv.put(DRAIN, record.wire())
        self.storage.set_alarm(instant(drain_end(record) * 1000))

    def _held(self) -> list[Mapping[str, Any]]:
        """Return the maintenance records that are held."""
        return held_records(self.storage.kv.list(prefix=MAINTENANCE).values())

    def _counted(self, fence: Fence | None, now: int, gate: str) -> Counted:
        """Return which permits block *gate*."""
        return counted(self._admissions.permits(), None, None, fence, now, gate)

    def _drain_event(
        self,
        event: str,
        producer: Mapping[str, Any] | None = None,
        *,
        fence_id: str | None = None,
        drain_id: str | None = None,
        ends: tuple[int, ...] = (),
    ) -> tuple[DrainFacts, Edge[DrainFacts]]:
        """Return what *event* knows, and the row of the table that it takes."""
        now = self._now()
        record = self._live(now)
        facts = DrainFacts(
            record=record,
            now=now,
            worker=worker_of(producer),
            fence_id=fence_id,
            drain_id=drain_id,
            ends=ends,
            unsettled=self._unsettled(record, now) if event == "undrain" else 0,
        )
        return facts, DRAIN_MACHINE.step(drain_state(record, now), event, facts)

    def _unsettled(self, record: DrainRecord | None, now: int) -> int:
        fence = None if record is None else record.fence
        return 0 if fence is None else len(self._counted(fence, now, "undrain").blocking)

    # ---- drain and fence

    async def drain(self, minutes: int | None = None, by: str = "", reason: str = "") -> Document:
        """Close the fleet to new runs for *minutes*; returns the drain (OP-01).

        Raises:
            FleetRefused: BAD_REQUEST, a bound is not kept. DRAIN_FENCED, a fence stands. The drain
                that was there stays.
        """
        asked = DRAIN_MINUTES_DEFAULT if minutes is None else minutes
        if not is_drain_request(asked, by, reason):
            raise refused("BAD_REQUEST", f"{minutes} min by {by!r} for {reason!r}")
        now = self._drain_event("drain")[0].now
        record = DrainRecord(
            drain_id=str(self.uuid()), since=now, until=now + asked * MINUTE_MS, by=by,
            reason=reason,
        )  # fmt: skip
        self._keep(record)
        return record.wire()

    async def undrain(self, producer: Mapping[str, Any]) -> Document:
        """Lift the drain, whichever lives, or ask for its lift where members owe reports (OP-02).

        Returns `cleared`, the resources that are `held`, and the `maintenance` that stays.

        Raises:
            FleetRefused: PRE_UPLOAD_WORKER, FENCE_OWNED_BY_WINDOW or ADMITTED_WORK_UNSETTLED: the
                fence stands.
        """
        return self._lift(producer, None)

    async def undrain_exactly(self, producer: Mapping[str, Any], drain_id: str) -> Document:
        """As `undrain`, for the drain of that id alone: if another lives, nothing happens.

        Raises:
            FleetRefused: as `undrain`.
        """
        return self._lift(producer, drain_id)

    def _lift(self, producer: Mapping[str, Any], drain_id: str | None) -> Document:
        facts, edge = self._drain_event("undrain", producer, drain_id=drain_id)
        held: list[str] = []
        if facts.record is not None and edge.next is not None:
            held = [hold.resource for hold in facts.holds]
            self._keep(lowered(facts.record))
        return {
            "cleared": edge.next == "NONE",
            "held": held,
            "maintenance": "held" if self._held() else None,
        }

    async def draining(self) -> Document | None:
        """Return the drain that lives, or None."""
        record = self._live(self._now())
        return None if record is None else record.wire()

    async def set_fence(
        self, owner: Mapping[str, Any], producer: Mapping[str, Any], ends: list[int]
    ) -> Document:
        """Set a fence in the drain that lives, as one; returns it (OP-04).

        Raises:
            FleetRefused: FENCE_UNAVAILABLE, PRODUCER_IDENTITY_UNKNOWN or BAD_REQUEST: no fence was
                set; whatever stood, stands.
        """
        whose = FenceOwner.parse(owner)
        if whose is None:
            raise refused("BAD_REQUEST", f"{owner!r} owns no fence")
        facts, _ = self._drain_event("set fence", producer, ends=tuple(ends))
        assert facts.record is not None
        assert facts.worker is not None
        build = as_text(producer.get("artifactId")) or ""
        swap = Swap(facts.worker.id, build, facts.now)
        fence = Fence(str(self.uuid()), whose, swap)
        record = attrs.evolve(facts.record, fence=fence, swap=swap)
        self._keep(record)
        return fence_document(record, fence)

    async def verify_fence(self, fence_id: str, worker_version: str, ends: list[int]) -> Document:
        """Say whether that fence does for an upload now, with nothing counted (OP-05). Reads only.

        Returns `verified`, how many permits are `counted`, and else the `problem`, a code.
        """
        now = self._now()
        record = self._live(now)
        fence = None if record is None else record.fence
        found = self._counted(fence, now, "verify")
        problem = fence_problem(record, now, fence_id, worker_version, *ends) or found.problem
        if problem is None and not found.is_clear:
            problem = "ADMITTED_WORK_UNSETTLED"
        verdict: Document = {"verified": problem is None, "counted": len(found.blocking)}
        return verdict if problem is None else {**verdict, "problem": problem}

    async def withdraw_fence(self, fence_id: str) -> Document:
        """Take that fence back, if it stands and its owner may (OP-06); the drain stays.

        Returns `withdrawn`, and which fence is `standing` otherwise.
        """
        facts, edge = self._drain_event("withdraw", fence_id=fence_id)
        if facts.record is None or edge.next is None:
            standing = None if facts.fence is None else facts.fence.fence_id
            return {"withdrawn": False, "standing": standing}
        self._keep(withdrawn(facts.record))
        return {"withdrawn": True, "standing": None}

    async def alarm(self, info: AlarmInfo) -> None:
        """Delete the drain if it has ended, or ring again at its end (OP-37)."""
        del info
        record = self._stored()
        if record is not None:
            self._keep(live_drain(record, self._now()))

    # ---- holds

    async def hold_for(
        self, resource: str, token: str | None, since: int | None = None
    ) -> Document:
        """Note on the drain that lives that a member owes an image report (OP-27)."""
        now = self._now()
        record = self._live(now)
        if record is None:
            return {"held": False}
        held = held_for(record, resource, token, since, now)
        if held != record:
            self._keep(held)
        return {"held": any(hold.resource == resource for hold in held.holds)}

    async def report_image_current(self, resource: str, token: str | None) -> Document:
        """Take a member's report; the last one that an asked lift waits for lifts (OP-26)."""
        now = self._now()
        record = self._live(now)
        if record is None:
            return {"lifted": False}
        after = reported(record, resource, token, now)
        self._keep(after)
        return {"lifted": after is None}

"""INV-08, INV-09, INV-22 to INV-25: when an upload may be sent, and what stands until the lift."""

from collections.abc import Mapping
from typing import Any, Final, cast

import attrs

from ...actors.fleet import RESERVE_MS
from .checks import Check
from .log import Answer, Call, Commit, Log, Seen, fence_in
from .sights import (
    answered,
    asked,
    has_ended,
    living_fence,
    new_permits,
    registry_ms,
    table,
)

__all__ = ["UPLOAD", "Attempts", "Reading", "Runner"]

MINUTE_MS: Final = 60_000
STATES: Final = frozenset({"warm", "degraded", "down", "refreshing", "restoring"})
SENT: Final = "check B, upload sent"


@attrs.define
class Reading:
    """What one stack has read, and the verification of its fence.

    Attributes:
        views: what each member answered last; None for no answer.
        fence_id: of the fence that was verified well; None if none was.
        verified_seq: when.
    """

    views: dict[str, Any] = attrs.field(factory=dict[str, Any])
    fence_id: str | None = None
    verified_seq: int = 0


@attrs.define
class Runner:
    """One runner, as far as it has come.

    Attributes:
        force: whether it goes over verdicts.
        fence_id: of the verdict that it took last; None if there was none.
        verdict_seq: when that was answered.
        status: of the answer to its last fence read.
        room_ms: the least that it saw remain in this attempt; None before a look.
        has_looked_ms: when it looked last.
        uploads: how often it has sent one.
        activated: how often one became active.
        asked_lift: sequence number of its first undrain after the upload; 0 before.
        events: of its machine.
    """

    force: bool = False
    artifact: str = ""
    fence_id: str | None = None
    verdict_seq: int = 0
    status: int = 0
    room_ms: int | None = None
    looked_seq: int = 0
    uploads: int = 0
    activated: int = 0
    sent_ms: int = 0
    asked_lift: int = 0
    events: list[str] = attrs.field(factory=list[str])


@attrs.define
class Attempts:
    """What was seen of runners and of readings.

    Attributes:
        admitted_seq: when an ordinary permit was written last.
        rooms: what remained of the drain when a verification arrived, by its call.
        answered: calls of runners that were answered.
    """

    runners: dict[str, Runner] = attrs.field(factory=dict[str, Runner])
    readings: dict[int, Reading] = attrs.field(factory=dict[int, Reading])
    admitted_seq: int = 0
    rooms: dict[tuple[str, int], int] = attrs.field(factory=dict[tuple[str, int], int])
    answered: set[int] = attrs.field(factory=set[int])


class OfAttempts(Check[Attempts]):
    """Follows runners and the readings of the router."""

    sees = (
        "note deploy", "note runner", "note upload", "commit Registry", "call FleetRouter.fetch",
        "answer FleetRouter.fetch", "uncertain FleetRouter.fetch", "answer Resident.deploy_info",
        "uncertain Resident.deploy_info",
        "deliver Registry.verify_fence", "answer Registry.verify_fence", "call NativePlane.upload",
    )  # fmt: skip

    def begin(self) -> Attempts:
        """Nothing was seen."""
        return Attempts()

    def see(self, seen: Seen[Attempts]) -> None:
        """Follow; what a check looks at, its own method is told."""
        kind, data, own = seen.entry.kind, seen.entry.data, seen.own
        if kind == "note deploy":
            own.runners[data["by"]] = Runner(data["force"], data["artifact"])
        elif kind == "note runner":
            runner = own.runners.setdefault(data["by"], Runner())
            follow(seen, runner, data)
            self.ran(seen, runner, data)
        elif kind == "note upload":
            self._activated(seen, data)
        elif isinstance(data, Commit):
            self._committed(seen, data)
        elif isinstance(data, Call) and data.method == "verify_fence":
            drain = seen.log.drain
            own.rooms[data.caller, data.number] = (
                0 if drain is None else drain["until"] - registry_ms(seen.log)
            )
        elif isinstance(data, Call):
            caller = own.runners.get(data.caller)
            if caller is not None and data.method == "upload":
                caller.uploads += 1
                caller.sent_ms = seen.entry.time_ms
                self.sent(seen, caller)
            elif caller is not None:
                self._requested(seen, caller, data)
        elif isinstance(data, Answer):
            self._answered(seen, data)

    def _committed(self, seen: Seen[Attempts], commit: Commit) -> None:
        if any(row.get("kind") != "reconcile" for _, row in new_permits(commit)):
            seen.own.admitted_seq = seen.entry.seq

    def _activated(self, seen: Seen[Attempts], data: Mapping[str, Any]) -> None:
        for runner in seen.own.runners.values():
            if runner.artifact == data["artifactId"] and runner.activated < runner.uploads:
                runner.activated += 1
                if seen.entry.time_ms - runner.sent_ms <= RESERVE_MS:
                    self.activated(seen, runner)

    def _requested(self, seen: Seen[Attempts], runner: Runner, call: Call) -> None:
        request = asked(call)
        if request is not None and request.path == "/undrain" and runner.uploads:
            self.lifts(seen, runner)
            runner.asked_lift = runner.asked_lift or seen.entry.seq

    def _answered(self, seen: Seen[Attempts], answer: Answer) -> None:
        own, method = seen.own, answer.call.method
        if method == "deploy_info":
            reading = own.readings.setdefault(answer.call.stack, Reading())
            value = answer.value if answer.is_granted else None
            reading.views[answer.call.address.name] = value
        elif method == "verify_fence":
            reading = own.readings.setdefault(answer.call.stack, Reading())
            room = own.rooms.pop((answer.call.caller, answer.call.number), 0)
            if room >= RESERVE_MS and is_good(seen.log, reading, answer.call.arguments[0]):
                reading.fence_id = answer.call.arguments[0]
                reading.verified_seq = seen.entry.seq
        elif answer.call.caller in own.runners and answer.call.number not in own.answered:
            # What arrives twice is answered twice; its caller has taken the first one.
            own.answered.add(answer.call.number)
            request = asked(answer.call)
            if request is not None and request.path == "/deploy-fence":
                runner = own.runners[answer.call.caller]
                runner.status, body = answered(answer)
                runner.fence_id = table(body.get("draining")).get("fenceId")
                runner.verdict_seq = seen.entry.seq

    def ran(self, seen: Seen[Attempts], runner: Runner, data: Mapping[str, Any]) -> None:
        """A runner has told something."""

    def sent(self, seen: Seen[Attempts], runner: Runner) -> None:
        """A runner has sent an upload."""

    def activated(self, seen: Seen[Attempts], runner: Runner) -> None:
        """What a runner has sent became active, within the reserve."""

    def lifts(self, seen: Seen[Attempts], runner: Runner) -> None:
        """A runner that has uploaded asks undrain."""


def follow(seen: Seen[Attempts], runner: Runner, data: Mapping[str, Any]) -> None:
    """Take in what a runner has told."""
    event = data["event"]
    runner.events.append(event)
    if event == "check A":
        runner.status, runner.fence_id = 0, None
    elif event == "refused attempt":
        runner.room_ms = None
    elif event == "reserve":
        room = data["until"] - data["at"]
        runner.room_ms = room if runner.room_ms is None else min(runner.room_ms, room)
        runner.looked_seq = seen.entry.seq


def is_good(log: Log, reading: Reading, fence_id: str) -> bool:
    """Whether at this moment everything holds that an upload needs: by storages and answers."""
    fence = living_fence(log, log.drain)
    if fence is None or fence["fenceId"] != fence_id or log.permits:
        return False
    views = (reading.views.get(resource) for resource in log.rows("resident:"))
    return all(
        view is not None
        and view.get("executingRuns") == 0
        and view.get("unknownRuns") == 0
        and view.get("state") in STATES
        for view in views
    )


class UploadIsCovered(OfAttempts):
    """Ordinary path: at upload(t) a fence F of this attempt stands, and some verification of F
    happened with counted requests 0, executing 0, unknown 0, safe states, room >= 20 min, if the
    plane activates the upload within 20 minutes of check B.
    """

    name = "INV-08"

    def sent(self, seen: Seen[Attempts], runner: Runner) -> None:
        """A second upload has no attempt of its own."""
        del seen
        assert runner.uploads == 1, "a runner has sent a second upload"

    def activated(self, seen: Seen[Attempts], runner: Runner) -> None:
        """Its fence stands, and was verified."""
        if runner.force:
            return
        fence = living_fence(seen.log, seen.log.drain)
        is_own = fence is not None and fence["fenceId"] == runner.fence_id
        assert is_own, "an upload became active, and the fence of its attempt does not stand"
        readings = seen.own.readings.values()
        verified = any(reading.fence_id == runner.fence_id for reading in readings)
        assert verified, "an upload became active on a fence that was never verified"


class NothingSlipsIn(OfAttempts):
    """Between that verification and upload(t), no ordinary admission commits, if the plane
    activates the upload within 20 minutes of check B.
    """

    name = "INV-09"

    def activated(self, seen: Seen[Attempts], runner: Runner) -> None:
        """The last admission was before the verification."""
        if runner.force:
            return
        since = runner.verdict_seq
        for reading in seen.own.readings.values():
            if reading.fence_id is not None and reading.fence_id == runner.fence_id:
                since = reading.verified_seq
        slipped = seen.own.admitted_seq > since
        assert not slipped, "a request was admitted between verification and upload"


class ReserveAtUpload(OfAttempts):
    """In the same attempt checks A and B each saw at least 20 minutes to every end, and no read,
    preparation or wait lies between B and the send.
    """

    name = "INV-22"

    def sent(self, seen: Seen[Attempts], runner: Runner) -> None:
        """Two looks were enough, the second right before."""
        del seen
        looks = looks_of(runner)
        assert looks >= 2, f"an upload was sent after {looks} looks at the reserve"
        assert runner.room_ms is not None
        minutes = runner.room_ms / MINUTE_MS
        assert runner.room_ms >= RESERVE_MS, f"an upload was sent with {minutes:.1f} min left"
        tail = runner.events[-2:]
        assert tail == ["reserve", SENT], f"between check B and the send there was {tail}"


def looks_of(runner: Runner) -> int:
    """Return how often the runner looked at the reserve in its last attempt."""
    events = runner.events
    began = max((n for n, event in enumerate(events) if event == "refused attempt"), default=-1)
    return events[began + 1 :].count("reserve")


class OneReserve(Check[None]):
    """The reserve used anywhere equals the one shared constant."""

    name = "INV-23"
    sees = ("note runner", "answer Registry.set_fence", "answer Registry.verify_fence")

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Enough is twenty minutes, exactly, wherever it is asked."""
        data = seen.entry.data
        if seen.entry.kind == "note runner":
            if data["event"] == "reserve":
                enough = data["until"] - data["at"] >= RESERVE_MS
                assert enough == data["enough"], "a runner has another reserve"
            return
        answer = cast(Answer, data)
        if answer.call.method == "set_fence" and answer.is_granted and answer.value:
            room = answer.value["until"] - answer.value["swapAt"]
            assert room >= RESERVE_MS, f"a fence was set with {room // MINUTE_MS} min left"
        elif answer.call.method == "verify_fence" and answer.is_granted:
            self._verified(seen.log, answer)

    def _verified(self, log: Log, answer: Answer) -> None:
        fence = living_fence(log, log.drain)
        if fence is None or fence["fenceId"] != answer.call.arguments[0]:
            return
        said = answer.value
        room = fence["until"] - registry_ms(log)
        enough = room >= RESERVE_MS or not said["verified"]
        # What was verified was so when it was handled; an answer takes at most a minute.
        assert enough or room >= RESERVE_MS - MINUTE_MS, "a fence was verified without the reserve"


class NoEndpointNoUpload(OfAttempts):
    """A missing fence endpoint never leads to an ordinary upload, force or not."""

    name = "INV-24"

    def sent(self, seen: Seen[Attempts], runner: Runner) -> None:
        """The fence read of this attempt was answered by a verdict."""
        del seen
        said = f"an upload was sent after a fence read that answered {runner.status}"
        assert runner.status == 200, said


class FenceUntilLift(OfAttempts):
    """Successful ordinary deploy: this attempt's fence stands from verification until undrain is
    asked, which is after reconcile finished or was skipped.
    """

    name = "INV-25"

    def lifts(self, seen: Seen[Attempts], runner: Runner) -> None:
        """Undrain is asked when all is proved, or when it has failed."""
        del seen
        is_over = "own fence stands" in runner.events or "failed" in runner.events
        assert is_over, "undrain was asked before the members were read back"

    def ran(self, seen: Seen[Attempts], runner: Runner, data: Mapping[str, Any]) -> None:
        """Whoever is ready had its fence until it asked."""
        if data["event"] == "own fence stands" and not runner.force:
            drain = seen.log.drain
            fence = fence_in(drain)
            stands = fence is not None and fence["fenceId"] == runner.fence_id
            assert stands, "the lift is asked, and the fence of the attempt does not stand"
            late = has_ended(drain, registry_ms(seen.log) - MINUTE_MS)
            assert not late, "the lift is asked, and the drain of the attempt has ended"


UPLOAD: Final = (
    UploadIsCovered(), NothingSlipsIn(), ReserveAtUpload(), OneReserve(), NoEndpointNoUpload(),
    FenceUntilLift(),
)  # fmt: skip
"""INV-08, INV-09, INV-22, INV-23, INV-24, INV-25."""

"""Progress of deploys: quiet fleets are found, outages wait, terminal workspaces do not (F.9).

Each statement holds under its fairness: what an entry of the log shows to be unfair, a lost
message, a restart, a run that goes on, is left out of account, and no more.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import attrs

from .checks import Check
from .log import Commit, Entry, Log, Seen

__all__ = ["PROGRESS"]

MINUTE_MS: Final = 60_000
WAIT_MS: Final = 60 * MINUTE_MS
DRAIN_MS: Final = 90 * MINUTE_MS
RESERVE_MS: Final = 20 * MINUTE_MS
READY_MS: Final = 10 * MINUTE_MS
SLACK_MS: Final = 3 * MINUTE_MS
"""What clocks that are a minute off, late alarms and slow calls may add."""
PATIENCE_MS: Final = 12 * MINUTE_MS
"""A quiet fleet has had ten attempts in it."""
SAFE: Final = frozenset({"warm", "degraded", "down", "refreshing", "restoring"})
STATUSES: Final = frozenset({"completed", "stopped_soft", "stopped_hard", "failed", "interrupted"})
FINAL: Final = frozenset(
    "FENCE_ENDPOINT_MISSING UNAUTHORIZED NATIVE_READ_UNAVAILABLE FENCE_UNAVAILABLE DRAIN_FENCED "
    "BAD_REQUEST NOT_FOUND UNDELIVERED".split()
)
"""Before the upload, these end a deploy at once."""
WAITED: Final = frozenset({"NATIVE_TARGET_UNPROVEN", "NATIVE_HINT_CONFLICT", "READBACK_MISMATCH"})
"""After the upload, these say that something was waited for until the deadline."""
TRIPLE: Final = ("runId", "ownerGen", "ownerFence")


def is_retained(rows: Mapping[str, Any], ledger: Mapping[str, Any], thread: str) -> bool:
    """Whether the registration of *thread* is that of a run that has ended for good."""
    row, accepted = rows[f"reg:{thread}"], rows.get(f"regFence:{thread}")
    if accepted is None or any(row.get(part) != accepted.get(part) for part in TRIPLE):
        return False
    record = ledger.get(f"terminal:{row.get('runId')}")
    return (
        record is not None
        and not record["provisional"]
        and record["thread"] == thread
        and record["status"] in STATUSES
    )


def is_member_settled(rows: Mapping[str, Any], ledger: Mapping[str, Any]) -> bool:
    """Whether nothing runs at a member, and all that it keeps is retained."""
    if rows.get("state", "down") not in SAFE:
        return False
    for key in rows:
        word, _, thread = key.partition(":")
        if word == "reg" and not is_retained(rows, ledger, thread):
            return False
        has_owner = word == "regFence" or (word == "binding" and rows[key].get("lastOwner"))
        if has_owner and f"reg:{thread}" not in rows:
            return False
    return True


def is_settled(log: Log) -> bool:
    """Whether nothing runs in the fleet, so that a quiet read may say so."""
    return all(is_member_settled(rows, log.ledger) for rows in log.residents.values())


@attrs.define
class Attempt:
    """One deploy so far."""

    force: bool = False
    registry_mode: bool = True
    image: str | None = None
    drained_ms: int | None = None
    drain_id: object = None
    checked: int = 0
    has_room: bool = False
    had_room: bool = False
    fence_stood: bool = False
    was_replaced: bool = False
    sent: bool = False
    had_outage: bool = False


@attrs.define
class Deploys:
    """What was seen of all deploys, and when anything last kept the fleet from being quiet."""

    attempts: dict[str, Attempt] = attrs.field(factory=dict[str, Attempt])
    fence_seq: int = 0
    run_seq: int = 0
    run_ms: int = 0
    any_seq: int = 0
    is_down: bool = False


class OfDeploys(Check[Deploys]):
    """Follows deploys by what their runners note."""

    sees = (
        "note deploy", "note runner", "note state worker", "fault", "down", "commit Registry",
        "commit Resident", "commit RunLedger", "note container stop", "note application",
    )  # fmt: skip

    def begin(self) -> Deploys:
        """No deploy."""
        return Deploys()

    def see(self, seen: Seen[Deploys]) -> None:
        """Follow, then judge."""
        kind, data = seen.entry.kind, seen.entry.data
        if kind == "note deploy":
            seen.own.attempts[data["by"]] = Attempt(
                data["force"],
                data["mode"] == "registry",
                data["image"],
                had_outage=seen.own.is_down,
            )
        elif kind == "note runner":
            self._step(seen, seen.own.attempts[data["by"]], data)
        else:
            self._disturbance(seen)

    def _disturbance(self, seen: Seen[Deploys]) -> None:
        own, entry = seen.own, seen.entry
        if entry.kind == "down" and not is_unfair(entry):
            return
        if entry.kind == "note state worker":
            own.is_down = not entry.data["answers"]
            for attempt in own.attempts.values():
                attempt.had_outage = True
        if entry.kind.startswith("commit"):
            changes = cast(Commit, entry.data).changes
            keys = [change.key for change in changes]
            if "drain" in keys and seen.log.fence is not None:
                own.fence_seq = entry.seq
            if all(key.startswith(("live:", "drain", "deploy:receipt")) for key in keys):
                return
            own.any_seq = entry.seq
            if all(key.startswith(("deploy:", "native:")) for key in keys):
                return
        own.any_seq = own.run_seq = entry.seq
        own.run_ms = entry.time_ms

    def _step(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        event, drain = data["event"], seen.log.drain
        if event == "drain lives":
            attempt.drained_ms = seen.entry.time_ms
            attempt.drain_id = None if drain is None else drain["since"]
        elif event == "check A":
            attempt.checked = seen.entry.seq
            attempt.has_room = has_room(seen)
            attempt.had_room = attempt.had_room or attempt.has_room
            attempt.fence_stood = seen.log.fence is not None
            attempt.was_replaced |= not has_own_drain(seen, attempt)
        elif event == "check B, upload sent":
            attempt.sent = True
        elif event == "refused attempt":
            self.refused(seen, attempt, data)
        elif event == "report":
            self.reported(seen, attempt, data)

    def refused(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        """An attempt to find the fleet quiet was refused."""

    def reported(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        """The runner has ended."""


def is_unfair(entry: Entry) -> bool:
    """Whether a death is more than an upload, or the eviction of an object that was idle."""
    return entry.data[0] not in ("evict", "swap")


def has_own_drain(seen: Seen[Deploys], attempt: Attempt) -> bool:
    """Whether the drain that the runner asked for is the one that is stored."""
    drain = seen.log.drain
    return drain is not None and drain["since"] == attempt.drain_id


def has_room(seen: Seen[Deploys]) -> bool:
    """Whether more than the reserve is left to the drain, by clocks that are a minute off."""
    drain = seen.log.drain
    left = 0 if drain is None else drain["until"] - seen.entry.time_ms
    return left >= RESERVE_MS + SLACK_MS and not has_skew(seen.log)


def gave_up(seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> str | None:
    """Return how a runner gave up too early, or on a quiet fleet; None if it did not."""
    if data["outcome"] != "failed" or attempt.sent or data["code"] in FINAL:
        return None
    if attempt.drained_ms is None or attempt.was_replaced or has_skew(seen.log):
        return None
    waited = seen.entry.time_ms - attempt.drained_ms
    # Whoever has failed has lifted its drain: what it was is known by nobody else having one.
    if waited < WAIT_MS - SLACK_MS and seen.log.fence is None:
        return f"the runner gave up after {waited // MINUTE_MS} min: {data['code']}"
    if not attempt.had_room:
        # Its preparation alone took longer than the wait.
        return None
    quiet_ms = seen.entry.time_ms - seen.own.run_ms
    is_fair = not seen.own.is_down and not has_debt(seen) and not attempt.fence_stood
    if quiet_ms >= PATIENCE_MS and is_fair and is_settled(seen.log):
        return f"nothing ran for {quiet_ms // MINUTE_MS} min, and the runner gave up"
    return None


def has_skew(log: Log) -> bool:
    """Whether any clock is wrong by so much that bounds of minutes are shifted by it."""
    return any(abs(each.skew_us) > 90_000_000 for each in log.world.machines.values())


def has_debt(seen: Seen[Any]) -> bool:
    """Whether a permit stands that is older than any request takes."""
    limit = seen.entry.time_ms - SLACK_MS
    return any(row.get("startedAt", 0) < limit for row in seen.log.permits.values())


class ReachesUpload(OfDeploys):
    """If all runs end within 60 min and owners answer, an ordinary deploy reaches the upload."""

    name = "LIV-01"

    def reported(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        """Whoever waits for quiet goes on while there is time, and uploads when it is quiet."""
        if not attempt.had_outage:
            why = gave_up(seen, attempt, data)
            assert why is None, why


class OutageDelays(OfDeploys):
    """An unavailable state Worker delays, and the deploy proceeds once it answers."""

    name = "LIV-04"

    def reported(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        """Unknown is no end."""
        if attempt.had_outage:
            why = gave_up(seen, attempt, data)
            assert why is None, f"after an outage of the state Worker: {why}"


class TerminalDoesNotWait(OfDeploys):
    """Terminal workspaces alone never keep a Worker-only deploy waiting."""

    name = "LIV-02"

    def refused(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        """An attempt is refused for a reason that the log shows."""
        own = seen.own
        is_known = data["why"] != "FENCE_READ_FAILED" and not has_skew(seen.log)
        is_known = is_known and attempt.has_room
        # Another runner may have set its own fence since this one looked at the reserve.
        is_closed = attempt.fence_stood or seen.log.fence is not None
        is_undisturbed = own.any_seq < attempt.checked and not is_closed and is_known
        if is_undisturbed and not own.is_down and has_own_drain(seen, attempt):
            idle = is_settled(seen.log) and not seen.log.permits
            assert not idle, f"nothing ran, and the attempt was refused: {data['why']}"

    def reported(self, seen: Seen[Deploys], attempt: Attempt, data: Mapping[str, Any]) -> None:
        """A deploy without a change of containers needs nothing of them."""
        if not attempt.sent or data["code"] not in WAITED or not attempt.registry_mode:
            return
        ground = seen.log.ground
        own = seen.own
        if ground is None or attempt.image is not None or own.run_seq > attempt.checked:
            return
        is_read = not ground.reads_fail and not ground.containers_fail
        if is_read and ground.lag_ms < READY_MS // 2 and is_whole(seen.log):
            raise AssertionError(f"a deploy of the Worker alone was not ready: {data['code']}")


def is_whole(log: Log) -> bool:
    """Whether nothing runs and no member owes a report."""
    owed = any("image:pending" in rows for rows in log.residents.values())
    return is_settled(log) and not owed and not log.permits


PROGRESS: Final = (ReachesUpload(), TerminalDoesNotWait(), OutageDelays())
"""LIV-01, LIV-02, LIV-04."""

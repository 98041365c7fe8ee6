"""INV-78 to INV-84: progress of members to an image, and the debt of a report."""

from typing import Any, Final, NamedTuple, TypeVar

import attrs

from .checks import Check
from .log import Answer, Call, Change, Commit, Log, Seen
from .sights import has_ended, registry_ms, table

__all__ = [
    "IMAGES",
    "PROGRESS",
    "RECONCILE",
    "REPORT",
    "Pair",
    "change_of",
    "pair_asked",
    "pair_of",
    "pending_of",
]

S = TypeVar("S")

PENDING: Final = "image:pending"
PROGRESS: Final = "image:progress"
MINUTE_MS: Final = 60_000
RECONCILE: Final = "Resident.reconcile_for_deploy"
REPORT: Final = "Registry.report_image_current"


class Pair(NamedTuple):
    """Build and target, as text that can be compared; None for what is not there."""

    build: Any
    target: str | None


def pair_of(row: Any) -> Pair:
    """Return the build and target of a stored row."""
    fields = table(row)
    target = fields.get("target")
    return Pair(fields.get("build"), None if target is None else repr(sorted(target.items())))


def pair_asked(call: Call) -> Pair:
    """Return the build and target that a request names."""
    _, build, target = call.arguments
    return Pair(build, repr(sorted(table(target).items())))


def change_of(commit: Commit, key: str) -> Change | None:
    """Return what a commit did to *key*; None for nothing."""
    return next((change for change in commit.changes if change.key == key), None)


def pending_of(log: Log, resource: str) -> Any:
    """Return the marker that a member stores; None if it owes nothing."""
    return log.resident(resource).get(PENDING)


class DebtIsKept(Check[set[tuple[str, Any]]]):
    """A pending record's build and target are never overwritten; only its report, or later operator
    recovery, ends it.
    """

    name = "INV-78"
    level = 5
    sees = ("commit Resident", f"call {REPORT}")

    def begin(self) -> set[tuple[str, Any]]:
        """Reports that were sent: resource and token."""
        return set()

    def see(self, seen: Seen[set[tuple[str, Any]]]) -> None:
        """Look at what becomes of a marker, and of the progress under it."""
        data = seen.entry.data
        if isinstance(data, Call):
            seen.own.add((data.arguments[0], data.arguments[1]))
            return
        commit: Commit = data
        marker, progress = change_of(commit, PENDING), change_of(commit, PROGRESS)
        if marker is not None and marker.before is not None:
            before = table(marker.before)
            if marker.after is None:
                told = (commit.name, before.get("token")) in seen.own
                assert told, f"the debt of {commit.name} ended without its report"
            else:
                same = pair_of(marker.before) == pair_of(marker.after)
                assert same, f"the debt of {commit.name} was overwritten by another"
        owes = pending_of(seen.log, commit.name) is not None and marker is None
        if owes and progress is not None:
            same = pair_of(progress.before) == pair_of(progress.after)
            assert same, f"the progress of {commit.name} changed under its debt"


@attrs.define
class Conflicts:
    """Requests that meet another debt, by caller and number: the debt that they met."""

    met: dict[tuple[str, int], tuple[str, Any]] = attrs.field(
        factory=dict[tuple[str, int], tuple[str, Any]]
    )
    asked: dict[str, int] = attrs.field(factory=dict[str, int])
    stops: dict[str, int] = attrs.field(factory=dict[str, int])


class OtherTargetIsError(Check[Conflicts]):
    """A request for another target against a pending record returns an error at once and causes no
    stop.
    """

    name = "INV-79"
    level = 5
    sees = (f"deliver {RECONCILE}", f"answer {RECONCILE}", "note container stop")

    def begin(self) -> Conflicts:
        """None."""
        return Conflicts()

    def see(self, seen: Seen[Conflicts]) -> None:
        """Remember what a request met; compare when it is answered."""
        data, own = seen.entry.data, seen.own
        if seen.entry.kind == "note container stop":
            resource, asked = data["resource"], data["why"] == "asked"
            met = [r for r, _ in own.met.values() if r == resource]
            alone = met and own.asked.get(resource, 0) == len(met)
            assert not (asked and alone), f"a request for another target stopped {resource}"
        elif isinstance(data, Call):
            resource = data.address.name
            marker = pending_of(seen.log, resource)
            own.asked[resource] = own.asked.get(resource, 0) + 1
            if marker is not None and pair_of(marker) != pair_asked(data):
                own.met[data.caller, data.number] = (resource, table(marker).get("token"))
        else:
            self._answered(seen, data)

    def _answered(self, seen: Seen[Conflicts], answer: Answer) -> None:
        resource, own = answer.call.address.name, seen.own
        own.asked[resource] = own.asked.get(resource, 1) - 1
        _, token = own.met.pop((answer.call.caller, answer.call.number), (resource, ABSENT))
        marker = table(pending_of(seen.log, resource))
        if token is not ABSENT and marker and marker.get("token") == token and answer.is_granted:
            result = table(answer.value).get("result")
            assert result == "error", f"{resource} owes another report, and answered {result!r}"


ABSENT: Final = object()
"""No request met any debt."""


class ReplacementIsLeft(Check[None]):
    """A retry for the same target never stops a container that started after the recorded stop."""

    name = "INV-80"
    level = 5
    sees = ("note container stop",)

    def begin(self) -> None:
        """Nothing: the progress says which boot was stopped."""

    def see(self, seen: Seen[None]) -> None:
        """Compare the boot that is stopped with the one of which the progress says so."""
        data = seen.entry.data
        rows = seen.log.resident(data["resource"])
        progress = table(rows.get(PROGRESS))
        if data["why"] == "asked" and PENDING in rows and progress.get("cycleIssued") is True:
            first = data["bootId"] == progress.get("containerBeforeCycle")
            assert first, f"the replacement of {data['resource']} was stopped"


@attrs.define
class Stopped:
    """Members whose container was stopped for them, and what was seen of it since.

    Attributes:
        boots: resource to the boot that was stopped last.
        seen: resources of which something was seen after it.
        whole: boots that are hydrated, by resource.
    """

    boots: dict[str, str] = attrs.field(factory=dict[str, str])
    seen: set[str] = attrs.field(factory=set[str])
    whole: dict[str, set[str]] = attrs.field(factory=dict[str, set[str]])


class StopIsNoReport(Check[Stopped]):
    """The step that stops a container never reports; a later read that finds it inactive, or a new
    boot id plus hydration, may, and the result says which.
    """

    name = "INV-81"
    level = 5
    sees = (
        "note container stop", "note container hydrated", "answer NativeContainer.activity",
        "deliver Resident.container_ready", f"call {REPORT}", f"answer {RECONCILE}",
    )  # fmt: skip

    def begin(self) -> Stopped:
        """Nothing was stopped."""
        return Stopped()

    def see(self, seen: Seen[Stopped]) -> None:
        """A report after a stop needs something that was seen after the stop."""
        kind, data, own = seen.entry.kind, seen.entry.data, seen.own
        if kind == "note container stop":
            if data["why"] == "asked":
                own.boots[data["resource"]] = data["bootId"]
                own.seen.discard(data["resource"])
        elif kind == "note container hydrated":
            if seen.log.ground is not None:
                resource = seen.log.ground.containers[data["member"]].resource
                own.whole.setdefault(resource, set()).add(str(data["bootId"]))
        elif kind == "answer NativeContainer.activity":
            resource, said = data.call.caller.removeprefix("Resident/"), table(data.value)
            if said.get("running") is False:
                own.seen.add(resource)
        elif kind == f"call {REPORT}":
            self._reported(own, data.arguments[0])
        elif kind == f"answer {RECONCILE}":
            said = table(data.value)
            false = said.get("result") == "restarted" and said.get("verified") is True
            assert not false, "a request stopped the container, and calls it verified"

    def _reported(self, own: Stopped, resource: str) -> None:
        if resource in own.boots and resource not in own.seen:
            new = own.whole.get(resource, set()) - {own.boots[resource]}
            assert new, f"{resource} reports, and nothing was seen since its container was stopped"


class HoldComesFirst(Check[dict[tuple[str, Any], Any]]):
    """The hold for a member is committed before its pending marker exists, if a drain is live."""

    name = "INV-82"
    level = 5
    sees = ("commit Resident", "deliver Registry.hold_for")

    def begin(self) -> dict[tuple[str, Any], Any]:
        """Resource and token to the drain that lived when its hold was asked for."""
        return {}

    def see(self, seen: Seen[dict[tuple[str, Any], Any]]) -> None:
        """Look for the hold when a debt begins."""
        data, drain = seen.entry.data, seen.log.drain
        lives = drain is not None and not has_ended(drain, registry_ms(seen.log))
        if isinstance(data, Call):
            resource, token = data.arguments[:2]
            seen.own[resource, token] = drain.get("drainId") if lives and drain else None
            return
        commit: Commit = data
        marker = change_of(commit, PENDING)
        if marker is None or marker.before is not None or not lives or drain is None:
            return
        token = table(marker.after).get("token")
        asked = (commit.name, token) in seen.own
        assert asked, f"{commit.name} owes a report, and nobody was asked to hold the drain for it"
        if seen.own[commit.name, token] == drain.get("drainId"):
            holds = [(h["resource"], h.get("token")) for h in drain.get("holds", ())]
            held = (commit.name, token) in holds
            assert held, f"{commit.name} owes a report, and the drain is not held for it"


class NoTimerEndsDebt(Check[dict[str, int]]):
    """No timer deletes a pending marker."""

    name = "INV-83"
    level = 5
    sees = ("commit Resident", f"answer {REPORT}")

    def begin(self) -> dict[str, int]:
        """When a report of each resource was answered last, milliseconds since 1970."""
        return {}

    def see(self, seen: Seen[dict[str, int]]) -> None:
        """A debt ends by the answer to a report, and not by itself while time passes."""
        entry, data = seen.entry, seen.entry.data
        if isinstance(data, Answer):
            seen.own[data.call.arguments[0]] = entry.time_ms
            return
        commit: Commit = data
        marker = change_of(commit, PENDING)
        if marker is not None and marker.after is None:
            quiet_ms = entry.time_ms - seen.own.get(commit.name, 0)
            assert quiet_ms < MINUTE_MS, f"the debt of {commit.name} ended without an answer"


class DebtBeginsWhole(Check[None]):
    """Progress and pending marker are written in one transaction."""

    name = "INV-84"
    level = 5
    sees = ("commit Resident",)

    def begin(self) -> None:
        """Nothing: commits say all."""

    def see(self, seen: Seen[None]) -> None:
        """Where one of both begins, the other does, for the same build and target."""
        commit: Commit = seen.entry.data
        marker, progress = change_of(commit, PENDING), change_of(commit, PROGRESS)
        begins = marker is not None and marker.before is None
        moves = progress is not None and pair_of(progress.before) != pair_of(progress.after)
        if not begins and not moves:
            return
        whole = marker is not None and pair_of(marker.after) == pair_of(
            seen.log.resident(commit.name).get(PROGRESS)
        )
        assert whole, f"{commit.name} stores progress and debt apart"
        issued = table(seen.log.resident(commit.name).get(PROGRESS)).get("cycleIssued")
        assert issued is False, f"{commit.name} begins a debt as if its container was stopped"


IMAGES: Final = (
    NoTimerEndsDebt(),
    DebtIsKept(),
    OtherTargetIsError(),
    ReplacementIsLeft(),
    StopIsNoReport(),
    HoldComesFirst(),
    DebtBeginsWhole(),
)
"""In the order of their numbers, but what names a cause goes before what names its effect."""

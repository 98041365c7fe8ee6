"""How what was begun comes to an end: drains, owed reports, refused readings; what can be learned.

Each statement holds under its fairness, as those of `inv_progress.py` do (F.9).
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import attrs

from ...actors import WebRequest, WebResponse
from .checks import Check
from .inv_progress import DRAIN_MS, MINUTE_MS, READY_MS, SLACK_MS, has_skew, is_unfair
from .log import Answer, Call, Log, Seen
from .sights import drain_change, registry_ms, table

__all__ = ["ENDINGS"]


class DeadRunnersEnd(Check[list[int]]):
    """A dead runner's drain and fence end by `until`, at most 90 min after they began."""

    name = "LIV-03"
    sees = ("commit Registry", "answer Registry.begin_keyed")

    def begin(self) -> list[int]:
        """Until when a fence may close the fleet, by what was stored of it."""
        return [0]

    def see(self, seen: Seen[list[int]]) -> None:
        """No drain is longer, and none refuses anybody after its end."""
        own, now = seen.own, seen.entry.time_ms
        if seen.entry.kind == "commit Registry":
            drain, fence = seen.log.drain, seen.log.fence
            if drain is not None:
                length = drain["until"] - drain["since"]
                assert length <= DRAIN_MS, f"a drain lasts {length // MINUTE_MS} min"
            own[0] = min(own[0], now) if fence is None else fence["until"]
            return
        answer: Answer = seen.entry.data
        code = None if answer.error is None else answer.error.code
        if code == "FENCED" and not has_skew(seen.log):
            late = now - own[0]
            assert late <= SLACK_MS, f"the fleet is closed {late // MINUTE_MS} min after its fence"

    def at_end(self, seen: Seen[list[int]]) -> None:
        """Nothing is left of a drain that has ended."""
        drain, ground = seen.log.drain, seen.log.ground
        if drain is not None and ground is not None and seen.log.world.is_at_rest:
            late = ground.now_ms - drain["until"]
            assert late <= READY_MS, f"a drain stands {late // MINUTE_MS} min after its end"


class ReplacementReports(Check[dict[str, int]]):
    """A member whose replacement boots and hydrates reports; the last report lifts as asked."""

    name = "LIV-08"
    level = 5
    sees = (
        "note container hydrated", "note container stop", "fault", "down", "commit Registry",
        "call Resident.reconcile_for_deploy",
    )  # fmt: skip

    def begin(self) -> dict[str, int]:
        """Sequence number of what was seen last, by member; "" for faults. By resource, when it was
        asked last, by the Registry's clock."""
        return {}

    def see(self, seen: Seen[dict[str, int]]) -> None:
        """Remember which boots are whole; an asked lift without holds is a drain that is gone."""
        entry = seen.entry
        if entry.kind in ("fault", "down"):
            if is_unfair(entry):
                seen.own[""] = entry.seq
        elif entry.kind == "commit Registry":
            drain = seen.log.drain
            if drain is not None and drain.get("liftAsked"):
                assert drain.get("holds"), "the last report is in, and the drain was not lifted"
            self._held(seen)
        elif entry.kind == "call Resident.reconcile_for_deploy":
            seen.own[entry.data.address.name] = registry_ms(seen.log)
        elif entry.kind == "note container hydrated":
            seen.own[entry.data["member"]] = entry.seq
        else:
            seen.own.pop(entry.data["member"], None)

    def _held(self, seen: Seen[dict[str, int]]) -> None:
        """A hold from outside is for nobody who has reported since it was asked."""
        change = drain_change(seen)
        before = table(None if change is None else change.before).get("holds", ())
        after = table(None if change is None else change.after)
        for hold in after.get("holds", ()):
            reported = table(after.get("reportedAt")).get(hold["resource"])
            if hold.get("token") is None and hold not in before and reported is not None:
                asked = seen.own.get(hold["resource"], 0)
                assert reported < asked, f"{hold['resource']} has reported, and is held again"

    def at_end(self, seen: Seen[dict[str, int]]) -> None:
        """Whoever is whole since the last fault owes no report."""
        ground = seen.log.ground
        if ground is None or not seen.log.world.is_at_rest:
            return
        for member, container in ground.containers.items():
            rows = seen.log.resident(container.resource)
            progress: Any = rows.get("image:progress") or {}
            is_new = container.boot_id != progress.get("containerBeforeCycle")
            is_fair = seen.own.get(member, -1) > seen.own.get("", 0)
            if container.running and is_fair and is_new and progress.get("cycleIssued"):
                assert "image:pending" not in rows, f"{member} is whole and has not reported"


class OtherTargetFails(Check[dict[tuple[str, int], Any]]):
    """A request for another target fails at once while a report is owed, and does not hang."""

    name = "LIV-09"
    level = 5
    sees = ("call Resident.reconcile_for_deploy", "answer Resident.reconcile_for_deploy")

    def begin(self) -> dict[tuple[str, int], Any]:
        """Token of the other debt that each request meets, by its caller and number."""
        return {}

    def see(self, seen: Seen[dict[tuple[str, int], Any]]) -> None:
        """The member says error, if it owed the other report all the time."""
        asks = isinstance(seen.entry.data, Call)
        call: Call = seen.entry.data if asks else seen.entry.data.call
        resource, build, target = call.arguments
        rows = seen.log.resident(resource)
        marker, progress = table(rows.get("image:pending")), table(rows.get("image:progress"))
        owes = (progress.get("build"), progress.get("target")) != (build, target) and marker
        token = marker.get("token", "") if owes else None
        if asks:
            seen.own[call.caller, call.number] = token
        elif token is not None and seen.own.pop((call.caller, call.number), None) == token:
            answer: Answer = seen.entry.data
            said = answer.value["result"] if answer.is_granted else "error"
            assert said == "error", f"{resource} owes another report, and answered {said!r}"


class RecoveryCanBeLearned(Check[None]):
    """After any lost recovery reply the inventory shows what was committed."""

    name = "LIV-11"
    level = 3
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A quote of an id shows the audit that names it."""
        answer: Answer = seen.entry.data
        if not answer.is_granted:
            return
        request, response = answer.call.arguments[0], answer.value
        if not isinstance(request, WebRequest) or not isinstance(response, WebResponse):
            return
        permit = request.query.get("id")
        if request.path != "/deploy-admissions" or permit is None or response.status != 200:
            return
        audit = seen.log.registry.get(f"deploy:recovered:{permit}")
        shown = cast("Mapping[str, Any]", response.body).get("evidence")
        if audit is not None and isinstance(shown, Mapping):
            is_told = cast("Mapping[str, Any]", shown).get("recovered") == audit
            assert is_told or audit["recoveredAt"] + MINUTE_MS > seen.entry.time_ms, (
                f"{permit} was recovered, and the inventory does not show it"
            )


class RetainedIsDeferred(Check[dict[str, int]]):
    """An image change on a retained workspace's container fails readiness by 10 min, and loses
    nothing.
    """

    name = "LIV-13"
    level = 5
    sees = ("note runner", "note container stop")

    def begin(self) -> dict[str, int]:
        """When each runner's upload was answered."""
        return {}

    def see(self, seen: Seen[dict[str, int]]) -> None:
        """Ready means that what runs is the target; not ready is said in time."""
        data, log = seen.entry.data, seen.log
        if seen.entry.kind == "note container stop":
            is_ours = data["why"] == "asked"
            assert not (is_ours and data["lost"]), f"a cycle lost the files of {data['lost']}"
        elif data["event"] == "uploaded":
            seen.own[data["by"]] = seen.entry.time_ms
        elif data["event"] == "report" and data["by"] in seen.own:
            if data["outcome"] == "failed" and not has_skew(log):
                took = seen.entry.time_ms - seen.own[data["by"]]
                assert took <= READY_MS + SLACK_MS, f"not ready was said after {took} ms"
            elif data["outcome"] == "ready" and data["target"] is not None:
                require_target(log, data["target"])


def require_target(log: Log, target: Mapping[str, Any]) -> None:
    """Require that no container with a registration runs another image than *target*'s."""
    assert log.ground is not None
    for member, container in log.ground.containers.items():
        rows = log.resident(container.resource)
        is_retained = any(key.startswith("reg:") for key in rows)
        if container.running and is_retained:
            assert container.image == target["image"], f"{member} runs {container.image}"


@attrs.define
class Refusals:
    """What was seen of fences."""

    fence_seq: int = 0
    fault_seq: int = 0
    sent: dict[tuple[str, int], tuple[int, bool]] = attrs.field(
        factory=dict[tuple[str, int], tuple[int, bool]]
    )


class RefusalReopens(Check[Refusals]):
    """After a refused read whose withdrawal committed, the registered owner can reattach."""

    name = "LIV-14"
    sees = (
        "fault", "down", "commit Registry", "call FleetRouter.fetch", "answer FleetRouter.fetch",
        "call Registry.begin_keyed", "answer Registry.begin_keyed",
    )  # fmt: skip

    def begin(self) -> Refusals:
        """No fence."""
        return Refusals()

    def see(self, seen: Seen[Refusals]) -> None:
        """Not ready leaves no fence, and no fence refuses nobody."""
        own, entry = seen.own, seen.entry
        if entry.kind in ("fault", "down"):
            if is_unfair(entry):
                own.fault_seq = entry.seq
        elif entry.kind == "commit Registry":
            if seen.log.fence is not None:
                own.fence_seq = entry.seq
        elif entry.kind.startswith("call"):
            is_open = seen.log.fence is None
            own.sent[entry.data.caller, entry.data.number] = entry.seq, is_open
        else:
            self._answered(seen, entry.data)

    def _answered(self, seen: Seen[Refusals], answer: Answer) -> None:
        own = seen.own
        key = (answer.call.caller, answer.call.number)
        sent, was_open = own.sent.pop(key, (0, False))
        if answer.call.method == "begin_keyed":
            code = None if answer.error is None else answer.error.code
            is_refused = code == "FENCED" and was_open and own.fence_seq < sent
            assert not is_refused, "no fence stood, and a request was refused as if one did"
            return
        if (
            not answer.is_granted
            or own.fault_seq > sent
            or not isinstance(answer.value, WebResponse)
        ):
            return
        body = answer.value.body
        if isinstance(body, Mapping) and cast("Mapping[str, Any]", body).get("fenceReady") is False:
            require_withdrawn(seen.log, cast("Mapping[str, Any]", body))


def require_withdrawn(log: Log, body: Mapping[str, Any]) -> None:
    """Require that the fence of a reading that was refused does not stand any more."""
    fence = log.fence
    said = body.get("deployDiagnostic")
    named: Any = None
    if isinstance(said, Mapping):
        named = cast("Mapping[str, Any]", said)["fence"].get("fenceId")
    stands = fence is not None and (named is None or fence["fenceId"] == named)
    assert not stands, "a refused reading has left its fence"


ENDINGS: Final = (
    DeadRunnersEnd(), ReplacementReports(), OtherTargetFails(), RecoveryCanBeLearned(),
    RetainedIsDeferred(), RefusalReopens(),
)  # fmt: skip
"""LIV-03, LIV-08, LIV-09, LIV-11, LIV-13, LIV-14."""

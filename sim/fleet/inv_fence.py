"""INV-10 to INV-12, INV-16 to INV-21: what a fence is, who sets it, and who takes it away."""

from typing import Any, Final

import attrs

from .checks import Check
from .fleet import BEARERS
from .log import Answer, Call, Commit, Seen, fence_in
from .sights import (
    ADMISSION,
    answered,
    asked,
    drain_change,
    has_ended,
    living_fence,
    new_permits,
    registry_ms,
    table,
)

__all__ = ["FENCE"]


class NothingBeginsUnderFence(Check[None]):
    """While a fence stands no attach begins; one admitted before it keeps its permit.

    So it keeps every verdict not ready until it has ended.
    """

    name = "INV-10"
    sees = ("commit Registry", "commit Resident")

    def begin(self) -> None:
        """Nothing: storages say all."""

    def see(self, seen: Seen[None]) -> None:
        """No ordinary permit is written under a fence, and no attach without one from before."""
        commit: Commit = seen.entry.data
        if commit.kind == "Registry":
            change = drain_change(seen)
            drain = seen.log.drain if change is None else change.before
            if living_fence(seen.log, drain) is not None:
                for permit, row in new_permits(commit):
                    kind = row.get("kind")
                    assert kind == "reconcile", (
                        f"permit {permit} ({kind}) was written under a fence"
                    )
        elif any(change.after is not None for change in commit.of("regFence:")):
            fence = living_fence(seen.log, seen.log.drain)
            if fence is not None:
                rows = seen.log.permits.values()
                before = [r for r in rows if r.get("kind") in ("attach", None)]
                assert before, f"{commit.name} attached under a fence, and no permit covers it"


class FenceBeforeReading(Check[set[int]]):
    """In each attempt the fence commit precedes the first member read."""

    name = "INV-11"
    sees = ("call Resident.deploy_info", "call Registry.set_fence")

    def begin(self) -> set[int]:
        """Stacks that have read a member."""
        return set()

    def see(self, seen: Seen[set[int]]) -> None:
        """Whoever sets a fence has read no member before."""
        stack = seen.entry.data.stack
        if seen.entry.kind == "call Resident.deploy_info":
            seen.own.add(stack)
        else:
            assert stack not in seen.own, "members were read before the fence was set"


class VerdictCoversAll(Check[None]):
    """A ready verdict covers every member in the Registry's list at that attempt; a failed or
    missing read makes it not ready.
    """

    name = "INV-12"
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Compare a ready verdict with the stored list."""
        answer: Answer = seen.entry.data
        request = asked(answer.call)
        _, body = answered(answer)
        if request is None or request.path != "/deploy-fence" or body.get("fenceReady") is not True:
            return
        views = [table(view) for view in body.get("residents", ())]
        for view in views:
            assert "error" not in table(view.get("live")), f"{view['resource']} could not be read"
        missing = set(seen.log.rows("resident:")) - {view.get("resource") for view in views}
        assert not missing, f"the verdict is ready without {', '.join(sorted(missing))}"


@attrs.define
class Removals:
    """What was asked that may take a fence or a drain away."""

    withdrawals: set[str] = attrs.field(factory=set[str])
    fencers: set[int] = attrs.field(factory=set[int])


class OwnFenceOnly(Check[Removals]):
    """A withdrawal removes only the fence whose fenceId it names; a not-ready reply never removes
    the drain.
    """

    name = "INV-16"
    sees = (
        "commit Registry", "deliver Registry.withdraw_fence", "call Registry.set_fence",
        "call Registry.undrain", "call Registry.undrain_exactly",
    )  # fmt: skip

    def begin(self) -> Removals:
        """Nothing was asked."""
        return Removals()

    def see(self, seen: Seen[Removals]) -> None:
        """A fence that goes while its drain stays was named; who reads does not lift."""
        own, data = seen.own, seen.entry.data
        if isinstance(data, Call):
            stack = data.stack
            if data.method == "withdraw_fence":
                own.withdrawals.add(data.arguments[0])
            elif data.method == "set_fence":
                own.fencers.add(stack)
            else:
                assert stack not in own.fencers, "whoever set a fence has lifted the drain"
            return
        change = drain_change(seen)
        if change is None or change.after is None:
            return
        fence, drain = living_fence(seen.log, change.before), change.after
        is_same = change.before is not None and change.before["since"] == drain["since"]
        if fence is not None and is_same and fence_in(drain) is None:
            named = fence["fenceId"] in own.withdrawals
            assert named, "a fence was withdrawn by somebody who named another one"


@attrs.define
class Lives:
    """Until when fences lived, and when whoever was refused by one had asked."""

    last_ms: int = 0
    sent: dict[tuple[str, int], int] = attrs.field(factory=dict[tuple[str, int], int])


class FenceNeedsDrain(Check[Lives]):
    """A fence is never live when its drain is not."""

    name = "INV-17"
    sees = (
        "commit Registry", "call Registry.begin_keyed", "answer Registry.begin_keyed",
    )  # fmt: skip

    def begin(self) -> Lives:
        """No fence has lived."""
        return Lives()

    def see(self, seen: Seen[Lives]) -> None:
        """Whoever is refused by a fence asked while one was in a drain that lived."""
        own, now = seen.own, registry_ms(seen.log)
        data = seen.entry.data
        if isinstance(data, Commit):
            change = drain_change(seen)
            if change is not None and fence_in(change.before) is not None:
                own.last_ms = max(own.last_ms, min(now, change.before["until"]))
        elif isinstance(data, Call):
            own.sent[data.caller, data.number] = now
        elif isinstance(data, Answer):
            sent = own.sent.pop((data.call.caller, data.call.number), 0)
            fence = fence_in(seen.log.drain)
            last = own.last_ms if fence is None else max(own.last_ms, fence["until"])
            is_fenced = data.error is not None and data.error.code == "FENCED"
            is_ended = last + JUMP_MS < sent
            assert not (is_fenced and is_ended), "a fence closes the fleet after its drain"


JUMP_MS: Final = 180_000
"""By how much the clock of the Registry may have been set back meanwhile."""
GUARDED: Final = ("/drain", "/undrain", "/deploy-fence", "/reconcile")


class ScopeIsAsked(Check[None]):
    """Only drain or admin scope creates, claims or lifts."""

    name = "INV-18"
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A guarded route that answers was asked with a credential."""
        answer: Answer = seen.entry.data
        request = asked(answer.call)
        status, _ = answered(answer)
        if request is None or request.path not in GUARDED or status in (0, 401, 404, 405):
            return
        credential = request.request.headers.get("authorization", "").removeprefix("Bearer ")
        able = credential in (BEARERS.drain, BEARERS.admin)
        assert able, f"{request.who} has neither scope, and {request.path} answered {status}"


class NewWorkerLifts(Check[dict[tuple[str, int], Any]]):
    """A Worker that is not post-upload never lifts a fenced drain."""

    name = "INV-19"
    sees = (
        "deliver Registry.undrain", "answer Registry.undrain", "uncertain Registry.undrain",
        "deliver Registry.undrain_exactly", "answer Registry.undrain_exactly",
        "uncertain Registry.undrain_exactly", "commit Registry",
    )  # fmt: skip

    def begin(self) -> dict[tuple[str, int], Any]:
        """The producers of what was asked and not answered."""
        return {}

    def see(self, seen: Seen[dict[tuple[str, int], Any]]) -> None:
        """One of those who ask while a fenced drain goes runs a Worker newer than the fence."""
        own, data = seen.own, seen.entry.data
        if isinstance(data, Call):
            own[data.caller, data.number] = table(data.arguments[0])
        elif isinstance(data, Answer):
            if data.is_readable:
                own.pop((data.call.caller, data.call.number), None)
        else:
            self._lifted(seen)

    def _lifted(self, seen: Seen[dict[tuple[str, int], Any]]) -> None:
        change = drain_change(seen)
        before = None if change is None else change.before
        fence = living_fence(seen.log, before)
        if change is None or before is None or fence is None or before.get("liftAsked"):
            return
        if change.after is not None and not change.after.get("liftAsked"):
            return
        able = [
            each
            for each in seen.own.values()
            if each.get("workerVersion") != fence["swapVersion"]
            and (each.get("uploadedAt") or 0) > (fence["swapAt"] or 0)
        ]
        assert able, "a fenced drain was lifted by the Worker that set the fence, or an older one"


class FenceIsNotReplaced(Check[None]):
    """A standing fence is never replaced by a second drain or a second fence."""

    name = "INV-20"
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """The drain of a living fence stays, and so does the fence or no other comes."""
        change = drain_change(seen)
        if change is None or change.after is None:
            return
        fence = living_fence(seen.log, change.before)
        if fence is None:
            return
        after = fence_in(change.after)
        assert change.after["since"] == change.before["since"], "a drain has replaced a fenced one"
        is_same = after is None or after["fenceId"] == fence["fenceId"]
        assert is_same, "a fence has replaced one that stood"


class LiftNeedsNoDebt(Check[None]):
    """Undrain under an ordinary fence needs counted requests 0."""

    name = "INV-21"
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Nobody's permit stands when a fenced drain goes before its end."""
        change = drain_change(seen)
        if change is None or living_fence(seen.log, change.before) is None:
            return
        if has_ended(change.before, registry_ms(seen.log)) or change.before.get("liftAsked"):
            return
        is_lifted = change.after is None or change.after.get("liftAsked")
        permits = [k for k in seen.log.registry if k.startswith(ADMISSION)] if is_lifted else []
        assert not permits, f"a fenced drain was lifted, and {len(permits)} permits stand"


FENCE: Final = (
    NothingBeginsUnderFence(), FenceBeforeReading(), VerdictCoversAll(), OwnFenceOnly(),
    FenceNeedsDrain(), ScopeIsAsked(), NewWorkerLifts(), FenceIsNotReplaced(), LiftNeedsNoDebt(),
)  # fmt: skip
"""INV-10, INV-11, INV-12, INV-16, INV-17, INV-18, INV-19, INV-20, INV-21."""

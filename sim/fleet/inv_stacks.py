"""INV-26 to INV-30, INV-36, LIV-05, LIV-07: what a stack may do about its permit (F.3, F.9)."""

from typing import Any, Final

from .log import Call, Seen
from .stacks import ARRIVALS, SUBMIT, OfStacks, Stack, Stacks

__all__ = ["STACKS"]

LATE_MS: Final = 45 * 60_000
"""Longer than any request takes whose stack lives."""


class SubmissionsAreGranted(OfStacks):
    """Every native submission by a new caller carries a permit id for which that same living stack
    sent the one begin and got a positive match (reply or one read).
    """

    name = "INV-26"
    sees = (*OfStacks.sees, SUBMIT)

    def other(self, seen: Seen[Stacks]) -> None:
        """Something is submitted under a permit."""
        call: Call = seen.entry.data
        permit = call.arguments[1]
        stack = seen.own.by_permit.get(permit)
        assert stack is not None, f"work was submitted under {permit}, for which nobody has begun"
        assert stack.caller == call.caller, f"{call.caller} uses the permit of {stack.caller}"
        assert stack.is_granted, f"work was submitted under {permit}, which was not granted"


class WorkIsBeforeTheEnd(OfStacks):
    """A permit stands for all of its work: whoever has ended it submits nothing more (C.2)."""

    name = "work comes before the end of its permit"
    sees = (*OfStacks.sees, SUBMIT)

    def other(self, seen: Seen[Stacks]) -> None:
        """Something is submitted under a permit."""
        call: Call = seen.entry.data
        permit = call.arguments[1]
        stack = seen.own.by_permit.get(permit)
        assert stack is None or not stack.ends, f"work was submitted under {permit}, which is ended"


class OneOfEach(OfStacks):
    """Per permit id: begins sent <= 1, reads after an uncertain begin <= 1, ends sent <= 1, receipt
    reads <= 1.
    """

    name = "INV-27"

    def begun(self, seen: Seen[Stacks], stack: Stack, call: Call) -> None:
        """A second begin of the id."""
        del seen
        assert stack.begins <= 1, f"{call.caller} has sent {stack.begins} begins of {stack.permit}"

    def asked(self, seen: Seen[Stacks], stack: Stack, call: Call) -> None:
        """A second read of the row, or of the receipt."""
        del seen
        assert stack.reads <= 1, f"{call.caller} has read {stack.permit} {stack.reads} times"
        assert stack.receipts <= 1, f"{call.caller} has read the receipt {stack.receipts} times"

    def ended(self, seen: Seen[Stacks], stack: Stack | None, call: Call) -> None:
        """A second end of the id."""
        del seen
        if stack is not None:
            assert stack.ends <= 1, f"{call.caller} has sent {stack.ends} ends of {stack.permit}"


class NamedBeforehand(OfStacks):
    """Permit id and provenance hash exist before the first RPC of the request and never change."""

    name = "INV-28"
    sees = (*OfStacks.sees, *ARRIVALS, "call Registry.begin_deploy_admission")

    def begun(self, seen: Seen[Stacks], stack: Stack, call: Call) -> None:
        """The hash is that of a request that has arrived, and of nothing else."""
        _, provenance, *_ = call.arguments
        if call.caller.startswith("Resident/"):
            known = provenance in seen.own.arrived
            assert known, f"the hash of {stack.permit} names no request that has arrived"
        assert provenance == stack.provenance, f"the hash of {stack.permit} has changed"

    def ended(self, seen: Seen[Stacks], stack: Stack | None, call: Call) -> None:
        """The end names the hash of the begin."""
        del seen
        if stack is not None:
            same = call.arguments[1] == stack.provenance
            assert same, f"{stack.permit} is ended by another hash than it was begun with"

    def other(self, seen: Seen[Stacks]) -> None:
        """Whoever lets the Registry make the id has none before the first call."""
        caller = seen.entry.data.caller
        ours = caller.startswith("Resident/") and seen.log.level_of(caller) >= self.level
        assert not ours, f"{caller} has no permit id of its own"


class UnmatchedDoNothing(OfStacks):
    """A stack that did not match submits nothing, begins nothing, ends nothing."""

    name = "INV-29"
    sees = (*OfStacks.sees, *ARRIVALS, SUBMIT)

    def begun(self, seen: Seen[Stacks], stack: Stack, call: Call) -> None:
        """One request that has arrived begins once."""
        own = seen.own
        times = own.begun[stack.provenance] = own.begun.get(stack.provenance, 0) + 1
        if call.caller.startswith("Resident/"):
            arrived = own.arrived.get(stack.provenance, times)
            assert times <= arrived, f"{arrived} requests of one origin have begun {times} times"

    def ended(self, seen: Seen[Stacks], stack: Stack | None, call: Call) -> None:
        """Only what was granted is ended."""
        del seen
        granted = stack is not None and stack.is_granted
        assert granted, f"{call.caller} ends {call.arguments[0]}, which it was not granted"

    def other(self, seen: Seen[Stacks]) -> None:
        """Only under what was granted is anything submitted."""
        permit = seen.entry.data.arguments[1]
        stack = seen.own.by_permit.get(permit)
        assert stack is None or stack.is_granted, f"work goes on under {permit}, an unknown outcome"


class NobodyAdopts(OfStacks):
    """After a restart no code continues an earlier stack's permit."""

    name = "INV-30"
    sees = (*OfStacks.sees, SUBMIT)

    def ended(self, seen: Seen[Stacks], stack: Stack | None, call: Call) -> None:
        """The end is sent by the incarnation that has begun."""
        del seen
        if stack is not None:
            require_same(stack, call)

    def other(self, seen: Seen[Stacks]) -> None:
        """So is the work."""
        stack = seen.own.by_permit.get(seen.entry.data.arguments[1])
        if stack is not None:
            require_same(stack, seen.entry.data)


def require_same(stack: Stack, call: Call) -> None:
    """Require that *call* comes from the very incarnation of *stack*."""
    same = (call.caller, call.stack) == (stack.caller, stack.incarnation)
    assert same, (
        f"{stack.permit} was begun by incarnation {stack.incarnation} of {stack.caller}, "
        f"and {call.stack} of {call.caller} goes on with it"
    )


class SettledByEvidence(OfStacks):
    """ "Settled" is concluded only from a granted end reply or a matching receipt."""

    name = "INV-36"
    sees = (*OfStacks.sees, "note report")

    def other(self, seen: Seen[Stacks]) -> None:
        """A settlement is reported."""
        data = seen.entry.data
        if data.get("code") == "SETTLED":
            stack = seen.own.by_permit.get(data["permit"])
            proved = stack is not None and stack.is_settled
            assert proved, f"{data['permit']} is said to be settled, and nothing says so"


class LivingStacksSettle(OfStacks):
    """Every living stack with working Registry, whose end request arrives, settles its permit."""

    name = "LIV-05"
    sees = (*OfStacks.sees, "deliver Registry.end_keyed", "down", "fault")

    def other(self, seen: Seen[Stacks]) -> None:
        """Who was down, or met a fault, is left out of account; only the idle are evicted."""
        if seen.entry.data[0] != "evict":
            seen.own.arrived[""] = seen.entry.time_ms

    def see(self, seen: Seen[Stacks]) -> None:
        """An end that arrives is none of the requests to members."""
        if seen.entry.kind == "deliver Registry.end_keyed":
            seen.own.arrived[seen.entry.data.arguments[0]] = seen.entry.time_ms
        else:
            super().see(seen)

    def at_end(self, seen: Seen[Stacks]) -> None:
        """What stands has a stack that was struck, or has just begun."""
        own, ground = seen.own, seen.log.ground
        if ground is None:
            return
        struck = own.arrived.get("", 0)
        for permit, row in seen.log.permits.items():
            stack = own.by_permit.get(permit)
            # What was settled and stands again is a copy of the begin, and nobody's any more.
            if stack is None or not stack.is_granted or stack.is_settled:
                continue
            if stack.begun_ms <= struck:
                continue
            late = ground.now_ms - row["startedAt"] > LATE_MS
            assert not late, f"{permit} stands, its stack has lived, and nothing was lost"


class LateBeginsAreDebt(OfStacks):
    """A delayed begin whose caller stopped becomes debt, never work."""

    name = "LIV-07"
    sees = (*OfStacks.sees, SUBMIT, "commit Registry")

    def other(self, seen: Seen[Stacks]) -> None:
        """No work is done under it, and only recovery takes it away."""
        data: Any = seen.entry.data
        if seen.entry.kind == SUBMIT:
            stack = seen.own.by_permit.get(data.arguments[1])
            assert stack is None or stack.is_granted, f"a late begin of {stack.permit} became work"
            return
        for change in data.of("deploy:admission:"):
            permit = change.key.rpartition(":")[2]
            stack = seen.own.by_permit.get(permit)
            is_gone = change.before is not None and change.after is None
            if is_gone and stack is not None and not stack.is_granted:
                recovered = f"deploy:recovered:{permit}" in seen.log.registry
                assert recovered or stack.ends, f"the debt {permit} went without a recovery"


STACKS: Final = (
    SubmissionsAreGranted(), WorkIsBeforeTheEnd(), OneOfEach(), NamedBeforehand(),
    UnmatchedDoNothing(), NobodyAdopts(), SettledByEvidence(), LivingStacksSettle(),
    LateBeginsAreDebt(),
)  # fmt: skip
"""INV-26 to INV-30, INV-36, LIV-05, LIV-07."""

"""Who asked for a permit, and what became of it: one living stack for each keyed begin.

Source: spec/deploy-fence.md C.2, E.2 (the caller's view).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from unicodedata import normalize

import attrs

from ...wire import content_hash
from .checks import Check
from .log import Answer, Call, Seen

__all__ = ["STRANGER", "OfStacks", "Stack", "Stacks", "arrivals_of"]

STRANGER: Final = "stranger"
"""Clients whose name begins so are no callers of ours: they guess, copy and repeat."""

METHODS: Final = ("begin_keyed", "read_admission", "end_keyed", "read_receipt")
CALLS: Final = tuple(f"call Registry.{method}" for method in METHODS)
ANSWERS: Final = (
    *(f"answer Registry.{method}" for method in METHODS), "uncertain Registry.begin_keyed"
)  # fmt: skip
SUBMIT: Final = "call NativeContainer.submit"
KINDS: Final = {
    "attach": "attach", "exec": "exec", "op": "op", "set_deadline": "deadline", "detach": "detach",
    "refresh": "refresh", "watchdog": "watchdog", "onboard": "fleet",
}  # fmt: skip
"""What a member is asked, and the kind of the permit that it takes for it."""
ARRIVALS: Final = tuple(f"deliver Resident.{method}" for method in KINDS)


@attrs.define
class Stack:
    """One stack and its permit.

    Attributes:
        permit: id.
        caller: the participant in which it runs.
        incarnation: of that participant, or the request of a worker.
        provenance: the hash that it sent first.
        kind: that it sent.
        begun_ms: when its begin left, by a clock that is right.
        begins, reads, ends, receipts: how many calls of each kind it sent.
        is_granted: whether it has learned that the permit is its own.
        is_settled: whether it has learned that the permit was released.
        is_answered: whether its begin has ended: what comes later is heard by nobody.
    """

    permit: str
    caller: str
    incarnation: int
    provenance: str
    kind: str
    begun_ms: int
    begins: int = 1
    reads: int = 0
    ends: int = 0
    receipts: int = 0
    is_granted: bool = False
    is_settled: bool = False
    is_answered: bool = False


@attrs.define
class Stacks:
    """Every stack by the id of its permit, and the requests that have arrived at members."""

    by_permit: dict[str, Stack] = attrs.field(factory=dict[str, Stack])
    arrived: dict[str, int] = attrs.field(factory=dict[str, int])
    begun: dict[str, int] = attrs.field(factory=dict[str, int])


def arrivals_of(call: Call) -> Iterator[str]:
    """Yield the provenance hash of a request to a member: what its caller named, and no more."""
    parts: tuple[Any, ...] = (*call.arguments, *call.named.values())
    tables = [cast("Mapping[str, Any]", part) for part in parts if isinstance(part, Mapping)]
    if not tables:
        return
    origin = tables[0]
    kind = KINDS[call.method]
    named = {
        key: normalize("NFC", str(origin[key])) for key in ("actor", "request") if key in origin
    }
    # What a member adds: its own name and the template of its route.
    route = {"method": "post", "route": f"/{kind}", "resource": call.address.name, "kind": kind}
    yield content_hash({**named, **route})


class OfStacks(Check[Stacks]):
    """Follows every stack that asks the Registry for a permit."""

    level = 2
    sees = (*CALLS, *ANSWERS)

    def begin(self) -> Stacks:
        """Nobody has asked."""
        return Stacks()

    def see(self, seen: Seen[Stacks]) -> None:
        """Follow, then judge."""
        word, _, what = seen.entry.kind.partition(" ")
        method = what.rpartition(".")[2]
        if word == "call" and method in METHODS:
            call: Call = seen.entry.data
            if not call.caller.startswith(STRANGER):
                self._called(seen, call, method)
        elif word in ("answer", "uncertain") and method in METHODS:
            self._answered(seen.own, seen.entry.data, method)
        elif word == "deliver":
            for provenance in arrivals_of(seen.entry.data):
                seen.own.arrived[provenance] = seen.own.arrived.get(provenance, 0) + 1
        else:
            self.other(seen)

    def _called(self, seen: Seen[Stacks], call: Call, method: str) -> None:
        stacks = seen.own.by_permit
        permit = call.arguments[0]
        stack = stacks.get(permit)
        if method == "begin_keyed":
            if stack is None:
                _, provenance, kind, _ = call.arguments
                stack = stacks[permit] = Stack(
                    permit, call.caller, call.stack, provenance, kind, seen.entry.time_ms
                )
            else:
                stack.begins += 1
            self.begun(seen, stack, call)
        elif method == "read_admission" and stack is not None:
            stack.reads += 1
            self.asked(seen, stack, call)
        elif method == "end_keyed":
            if stack is not None:
                stack.ends += 1
            self.ended(seen, stack, call)
        elif method == "read_receipt" and stack is not None:
            stack.receipts += 1
            self.asked(seen, stack, call)

    def _answered(self, stacks: Stacks, answer: Answer, method: str) -> None:
        stack = stacks.by_permit.get(answer.call.arguments[0])
        if stack is None or answer.call.caller != stack.caller:
            return
        said: Any = answer.value if answer.is_granted else {}
        if method == "begin_keyed":
            heard = not stack.is_answered
            stack.is_granted = stack.is_granted or (heard and said.get("granted") is True)
            stack.is_answered = True
        elif method == "read_admission":
            row: Any = said.get("row") or {}
            ours = (row.get("provenanceSha256"), row.get("kind")) == (stack.provenance, stack.kind)
            stack.is_granted = stack.is_granted or (ours and said.get("audit") is None)
        elif method == "end_keyed":
            stack.is_settled = stack.is_settled or answer.is_granted
        else:
            receipt: Any = said.get("receipt") or {}
            ours = receipt.get("provenanceSha256") == stack.provenance
            stack.is_settled = stack.is_settled or ours

    def begun(self, seen: Seen[Stacks], stack: Stack, call: Call) -> None:
        """A begin was sent."""

    def asked(self, seen: Seen[Stacks], stack: Stack, call: Call) -> None:
        """A row or a receipt was asked for."""

    def ended(self, seen: Seen[Stacks], stack: Stack | None, call: Call) -> None:
        """An end was sent; *stack* is None if nobody has begun what it names."""

    def other(self, seen: Seen[Stacks]) -> None:
        """Something else was seen."""

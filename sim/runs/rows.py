"""What must hold of reservation rows: one execution, one decision, one way back."""

from collections import Counter
from typing import Any

import attrs

from ..ledger import Entry
from ..trace import Row
from ..world import World
from .losses import FENCES
from .notes import fields, short, told
from .watching import Fence, Reserved, Watched, Watching

__all__ = [
    "ExecutionIsSingle",
    "GivenBackForCause",
    "GivenBackForItsCause",
    "GivenBackUnstarted",
    "OfBegun",
    "SettledStaysSettled",
    "StartIsDecidedOnce",
]


class ExecutionIsSingle(Watching["Counter[str]"]):
    """One reservation row, one execution, as the outside has seen it (8.7)."""

    name = "one execution per reservation"

    def begin(self) -> "Counter[str]":
        """No key has begun."""
        return Counter()

    def changed(
        self,
        seen: Watched["Counter[str]"],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A key whose row is purged is a new key."""
        del world
        if after is None:
            assert before is not None
            del seen.own[before.key]

    def noted(self, seen: Watched["Counter[str]"], entry: Entry, world: World) -> None:
        """Count what begins."""
        del world
        if entry.kind == "began":
            key, run_id = told(entry)
            if key is not None:
                seen.own[key] += 1
                times = seen.own[key]
                assert times == 1, f"{key} was executed {times} times; the last as {short(run_id)}"


class StartIsDecidedOnce(Watching[dict[str, int]]):
    """Of one row, one `start` is decided, and one more for each time it was given back."""

    name = "one start decision per claim"

    def begin(self) -> dict[str, int]:
        """Nothing is owed."""
        return {}

    def changed(
        self,
        seen: Watched[dict[str, int]],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A row that is made, or given back, may be started once."""
        del world
        if after is None:
            assert before is not None
            seen.own.pop(before.key, None)
        elif after.state == "reserved" and (before is None or before.state != "reserved"):
            seen.own[after.key] = seen.own.get(after.key, 0) + 1

    def noted(self, seen: Watched[dict[str, int]], entry: Entry, world: World) -> None:
        """A start was decided."""
        del world
        if entry.kind == "log start-decided":
            key = fields(entry)["key"]
            left = seen.own.get(key, 0)
            assert left > 0, f"a start of {key} was decided again, and it had not been given back"
            seen.own[key] = left - 1


@attrs.define
class Causes:
    """What could be the cause of a give-back since a row was claimed."""

    closed: bool = False
    sealed: set[str] = attrs.field(factory=set[str])
    asked: set[int] = attrs.field(factory=set[int])
    unreadable: bool = False


class GivenBackForCause(Watching[Causes]):
    """A claim goes back only when the fence refused, or was not to be read, or it was sealed."""

    name = "given back for cause only"
    kinds = ("effect", "query", "queried", "told")

    def begin(self) -> Causes:
        """The fence was never shut."""
        return Causes()

    def observe(self, state: Watched[Causes], event: Any) -> Watched[Causes]:
        """Look for readings of the fence that failed, too."""
        if event.kind == "query" and FENCES in event.detail[1]:
            state.own.asked.add(event.detail[0])
        elif event.kind == "told":
            number, what = event.detail
            if number in state.own.asked and what != "rows":
                state.own.unreadable = True
            state.own.asked.discard(number)
            return state
        return super().observe(state, event)

    def moved(self, seen: Watched[Causes], before: Fence, after: Fence, world: World) -> None:
        """Remember that the fence was shut."""
        del before, world
        if after.state != "open":
            seen.own.closed = True

    def noted(self, seen: Watched[Causes], entry: Entry, world: World) -> None:
        """Remember what was sealed."""
        del world
        if entry.kind == "log claim-sealed":
            seen.own.sealed.add(fields(entry)["key"])

    def changed(
        self,
        seen: Watched[Causes],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A give-back needs a cause."""
        del world
        if is_given_back(before, after):
            assert after is not None
            own = seen.own
            cause = own.closed or own.unreadable or own.sealed
            assert cause, f"the claim of {after.key} was given back, and no fence has refused"


@attrs.define
class OwnCauses:
    """Whose claims the fence may have refused since they were made.

    Attributes:
        keys: of them, and of claims that were sealed.
        asked: readings of the fence under way.
    """

    keys: set[str] = attrs.field(factory=set[str])
    asked: set[int] = attrs.field(factory=set[int])


class GivenBackForItsCause(Watching[OwnCauses]):
    """A claim goes back only if the fence may have refused that very claim, or it was sealed."""

    name = "each claim goes back for its own cause"
    kinds = ("effect", "query", "queried", "told")

    def begin(self) -> OwnCauses:
        """Nothing was refused."""
        return OwnCauses()

    def observe(self, state: Watched[OwnCauses], event: Row) -> Watched[OwnCauses]:
        """A reading that fails may refuse whatever is claimed."""
        own = state.own
        if event.kind == "query" and FENCES in event.detail[1]:
            own.asked.add(event.detail[0])
        elif event.kind == "told":
            number, what = event.detail
            own.keys.update(state.rows if number in own.asked and what != "rows" else ())
            own.asked.discard(number)
            return state
        return super().observe(state, event)

    def moved(self, seen: Watched[OwnCauses], before: Fence, after: Fence, world: World) -> None:
        """A fence that shuts may refuse whatever is claimed."""
        del before, world
        seen.own.keys.update(seen.rows if after.state != "open" else ())

    def noted(self, seen: Watched[OwnCauses], entry: Entry, world: World) -> None:
        """A sealed claim may go back."""
        del world
        if entry.kind == "log claim-sealed":
            seen.own.keys.add(fields(entry)["key"])

    def changed(
        self,
        seen: Watched[OwnCauses],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A claim begins without a cause, unless the fence is shut; a give-back needs one."""
        del world
        if after is None:
            return
        own, is_shut = seen.own, seen.fence.state != "open"
        if is_given_back(before, after):
            assert after.key in own.keys, f"{after.key} was given back, and nothing refused it"
        elif after.state == "started" and (before is None or before.state == "reserved"):
            own.keys.discard(after.key)
            own.keys.update([after.key] if is_shut else [])


class OfBegun(Watching[set[str]]):
    """Remembers the keys whose run has begun. Subclass it."""

    def begin(self) -> set[str]:
        """No run has begun."""
        return set()

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Remember what has begun."""
        del world
        if entry.kind == "began":
            seen.own.add(told(entry)[0])


class GivenBackUnstarted(OfBegun):
    """No claim goes back whose run has begun."""

    name = "no claim goes back after its run began"

    def changed(
        self,
        seen: Watched[set[str]],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A give-back needs a run that never began."""
        del world
        if is_given_back(before, after):
            assert after is not None
            assert after.key not in seen.own, f"{after.key} was given back, and its run had begun"


class SettledStaysSettled(Watching[None]):
    """What is spent never becomes startable (case 24)."""

    name = "a settled key stays settled"

    def begin(self) -> None:
        """Nothing."""

    def changed(
        self,
        seen: Watched[None],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """`terminal` is the last state."""
        del seen, world
        if before is not None and after is not None and before.state == "terminal":
            assert after.state == "terminal", f"{after.key} was settled, and is {after.state} now"


def is_given_back(before: Reserved | None, after: Reserved | None) -> bool:
    """Whether a row has gone back to `reserved`; one that means another run is another row."""
    if before is None or after is None or before.run_id != after.run_id:
        return False
    return before.state != "reserved" and after.state == "reserved"

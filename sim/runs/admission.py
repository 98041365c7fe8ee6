"""What must hold of the fence: what it shuts out neither begins nor leaves a trace (1.9, 1.10)."""

from collections import Counter
from typing import Any

import attrs

from ..ledger import Entry
from ..trace import Row
from ..world import World
from .notes import fields, told
from .watching import Fence, Reserved, Watched, Watching, is_table, stored_status

__all__ = [
    "keyed_only",
    "moves_are_won",
    "proof_is_one_run",
    "sealed_stays_sealed",
    "settled_means_persisted",
    "shut_means_untouched",
    "stamps_grow",
]

SEALED = "flowsafe:sealed-claim:v1"
RUNS = "SELECT run_id FROM flowsafe_runs ORDER BY run_id"
PURGE = "batch DELETE flowsafe_runs"
ENDED = frozenset("success failed tripwire canceled bailed skipped cancelled timed_out".split())


@attrs.define
class Admitted:
    """Which keys the fence would have let in at some moment since their start was decided."""

    decided: dict[str, str] = attrs.field(factory=dict[str, str])
    keys: set[str] = attrs.field(factory=set[str])


def would_admit(fence: Fence, key: str | None) -> bool:
    """Whether *fence* lets a start of *key* in."""
    return fence.state == "open" or (fence.state == "proof-only" and key == fence.proof_key)


class ShutMeansUntouched(Watching[Admitted]):
    """A start that the fence shuts out all the time neither runs nor writes anything."""

    name = "what is shut out is untouched"
    kinds = ("effect", "query", "queried", "commit")

    def begin(self) -> Admitted:
        """Nothing was decided."""
        return Admitted()

    def observe(self, state: Watched[Admitted], event: Row) -> Watched[Admitted]:
        """See what a run object keeps, too."""
        if event.kind == "commit" and event.actor.startswith("RunObject/"):
            _, changes, *_ = event.detail
            run_id = event.actor.rpartition(":")[2]
            # A seal says that nothing of a claim ran, nor ever will.
            wrote = any(after is not None and name != SEALED for name, _, after in changes)
            state.own.keys.update({f"wrote {run_id}"} if wrote else ())
        return super().observe(state, event)

    def moved(self, seen: Watched[Admitted], before: Fence, after: Fence, world: World) -> None:
        """Whoever is under way may be let in from now on."""
        del before, world
        own = seen.own
        own.keys.update(key for key in own.decided.values() if would_admit(after, key))

    def noted(self, seen: Watched[Admitted], entry: Entry, world: World) -> None:
        """A start was decided, or runs."""
        del world
        own = seen.own
        if entry.kind == "log start-decided":
            line = fields(entry)
            own.decided[line["runId"]] = line["key"]
            own.keys.discard(line["key"])
            if would_admit(seen.fence, line["key"]):
                own.keys.add(line["key"])
        elif entry.kind == "began":
            key, _ = told(entry)
            shut_out = key in own.decided.values() and key not in own.keys
            assert not shut_out, f"{key} runs, and the fence was {seen.fence.state} all the time"

    def holds(self, state: Watched[Admitted], world: World) -> bool:
        """Look at what was written, for runs that were never let in."""
        is_stale = state.is_stale
        super().holds(state, world)
        own = state.own
        wrote = [each for each in sorted(own.keys) if each.startswith("wrote ")]
        for each in wrote:
            own.keys.discard(each)
            key = own.decided.get(each.removeprefix("wrote "))
            assert key is None or key in own.keys, f"the object of {key} wrote, and was shut out"
        if is_stale and own.decided and is_table(world, "flowsafe_runs"):
            for (run_id,) in world.database.look(RUNS).rows:
                key = own.decided.get(str(run_id))
                assert key is None or key in own.keys, f"a run of {key} is there, and was shut out"
        return True


class MovesAreWon(Watching["Counter[tuple[str, str]]"]):
    """Whoever is told that the fence was moved has moved it, alone (case 31)."""

    name = "one operator wins a move"

    def begin(self) -> "Counter[tuple[str, str]]":
        """Nothing was moved."""
        return Counter()

    def moved(
        self, seen: Watched["Counter[tuple[str, str]]"], before: Fence, after: Fence, world: World
    ) -> None:
        """The fence was moved."""
        del world
        seen.own[before.state, after.state] += 1

    def noted(self, seen: Watched["Counter[tuple[str, str]]"], entry: Entry, world: World) -> None:
        """An operator was told."""
        del world
        if entry.kind == "moved":
            expected, following, status = told(entry)
            if status == 200:
                seen.own[expected, following] -= 1
                was = seen.own[expected, following] >= 0
                assert was, f"told to be moved from {expected} to {following}, and it was not"


class ProofIsOneRun(Watching[set[str]]):
    """While only the proof may run, one run is the proof (case 35)."""

    name = "the proof is one run"

    def begin(self) -> set[str]:
        """No proof ran."""
        return set()

    def moved(self, seen: Watched[set[str]], before: Fence, after: Fence, world: World) -> None:
        """Another proof may follow when the fence has been moved."""
        del world
        if (before.state, before.proof_key) != (after.state, after.proof_key):
            seen.own.clear()

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """A run begins."""
        del world
        if entry.kind == "began" and seen.fence.state == "proof-only":
            key, run_id = told(entry)
            if key == seen.fence.proof_key:
                seen.own.add(run_id)
                assert len(seen.own) == 1, f"{len(seen.own)} runs have begun as the proof"


@attrs.define
class Purging:
    """Which queries purge a run together with what they do to its key.

    Attributes:
        asked: of all that were sent.
        is_running: whether the query that has just run is one of them.
    """

    asked: set[int] = attrs.field(factory=set[int])
    is_running: bool = False


class SettledMeansPersisted(Watching[Purging]):
    """A key is spent only when its run has ended and is persisted so, or purged (2.8, 52)."""

    name = "a key is settled after its run is persisted"

    def begin(self) -> Purging:
        """Nothing is being purged."""
        return Purging()

    def observe(self, state: Watched[Purging], event: Row) -> Watched[Purging]:
        """See what is purged."""
        if event.kind == "query" and event.detail[1] == PURGE:
            state.own.asked.add(event.detail[0])
        elif event.kind == "queried":
            state.own.is_running = event.detail[0] in state.own.asked
        return super().observe(state, event)

    def changed(
        self,
        seen: Watched[Purging],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A key is spent."""
        if after is not None and after.state == "terminal":
            if before is not None and before.state == "terminal":
                return
            status = stored_status(world, after.run_id)
            is_purged = status is None and seen.own.is_running
            assert is_purged or status in ENDED, f"{after.key} was settled, and its run is {status}"


class KeyedOnly(Watching[set[str]]):
    """Only the first key makes the table of keys; reading makes nothing (case 54)."""

    name = "reading makes no table"

    def begin(self) -> set[str]:
        """No key was asked for."""
        return set()

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Somebody asks, with a key or without."""
        if entry.kind == "asked" and told(entry)[1] is not None:
            seen.own.add("key")
        elif entry.kind == "answered" and "key" not in seen.own:
            is_there = is_table(world, "flowsafe_start_idempotency")
            assert not is_there, "nobody has used a key, and there is a table of keys"


@attrs.define
class Claims:
    """Stamps of claims, by key.

    Attributes:
        sealed: of the newest claim that was refused for good.
        bound: of the newest claim that was bound to an execution.
    """

    sealed: dict[str, int] = attrs.field(factory=dict[str, int])
    bound: dict[str, int] = attrs.field(factory=dict[str, int])


class SealedStaysSealed(Watching[Claims]):
    """A claim that was sealed is never bound to an execution, nor one that is older (8.2)."""

    name = "a sealed claim is never bound"

    def begin(self) -> Claims:
        """Nothing is sealed, nothing bound."""
        return Claims()

    def noted(self, seen: Watched[Claims], entry: Entry, world: World) -> None:
        """A claim was sealed; whoever learns of it late speaks of a claim that is long gone."""
        del world
        if entry.kind == "log claim-sealed":
            line: dict[str, Any] = fields(entry)
            key, stamp, own = line["key"], line["stamp"], seen.own
            own.sealed[key] = max(stamp, own.sealed.get(key, stamp))
            is_bound = key in own.bound and own.bound[key] <= stamp
            assert not is_bound, f"{key} was sealed, and it is bound to an execution"

    def changed(
        self,
        seen: Watched[Claims],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A row is bound, or gone."""
        del world
        own = seen.own
        if after is None:
            assert before is not None
            own.bound.pop(before.key, None)
        elif before is not None and before.start_token is None and after.start_token is not None:
            own.bound[after.key] = before.stamp
            is_free = before.stamp > own.sealed.get(after.key, -1)
            assert is_free, f"{after.key} was bound, and this claim of it had been sealed"


class StampsGrow(Watching[None]):
    """Each change of a row has a stamp of its own, whatever the clocks say (8.2)."""

    name = "stamps grow"

    def begin(self) -> None:
        """Nothing."""

    def changed(
        self, seen: Watched[None], before: Reserved | None, after: Reserved | None, world: World
    ) -> None:
        """A row was changed."""
        del seen, world
        if before is None or after is None or before.run_id != after.run_id:
            return
        # A corrupt row holds anything.
        if isinstance(before.stamp, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            grown = after.stamp > before.stamp
            assert grown, f"{after.key} went from stamp {before.stamp} to {after.stamp}"


stamps_grow = StampsGrow()
shut_means_untouched = ShutMeansUntouched()
moves_are_won = MovesAreWon()
proof_is_one_run = ProofIsOneRun()
settled_means_persisted = SettledMeansPersisted()
keyed_only = KeyedOnly()
sealed_stays_sealed = SealedStaysSealed()

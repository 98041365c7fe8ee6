"""What must hold of keyed starts, whatever is lost (spec/run-claims.md 2.6, 8.4 to 8.7)."""

from collections import Counter
from typing import Any

import attrs

from ...actors import Address

from ..faults import (
    DuplicateQuery,
    FailQuery,
    LoseQuery,
    LoseQueryReply,
    SlowQuery,
)
from ..ledger import Entry
from ..properties import Property
from ..world import World
from .admission import (
    keyed_only,
    moves_are_won,
    proof_is_one_run,
    sealed_stays_sealed,
    settled_means_persisted,
    shut_means_untouched,
    stamps_grow,
)
from .watching import Fence, Reserved, Watched, Watching, stored_status

__all__ = [
    "ANSWERS",
    "CLAIMS",
    "EVERYWHERE",
    "answers_fit",
    "execution_is_single",
    "given_back_for_cause",
    "given_back_unstarted",
    "live_deadlines_are_met",
    "no_key_is_stranded",
    "not_started_while_live",
    "no_start_fails_unheard",
    "proof_slot_is_earned",
    "refused_means_untouched",
    "refused_runs_leave_nothing",
    "settled_stays_settled",
    "start_is_decided_once",
]

FENCED = ("EXECUTION_FENCED", "EXECUTION_FENCE_UNREADABLE")
KEYS = "flowsafe_start_idempotency"
FENCES = "flowsafe_execution_fence"
RESULTS = frozenset(
    "waiting paused suspended waiting_callback waiting_signal retry_wait success failed tripwire "
    "canceled bailed skipped cancelled timed_out".split()
)
"""Statuses that can be shown again: of runs that wait for somebody or have ended."""


class ExecutionIsSingle(Watching["Counter[str]"]):
    """One reservation row, one execution, as the outside has seen it (8.7)."""

    name = "one execution per reservation"

    def begin(self) -> "Counter[str]":
        """No key has begun."""
        return Counter()

    def noted(self, seen: Watched["Counter[str]"], entry: Entry, world: World) -> None:
        """Count what begins."""
        del world
        if entry.kind == "began":
            key, run_id = entry.value  # type: ignore[misc]  # as `charge` notes it
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
    asked: dict[int, str] = attrs.field(factory=dict[int, str])
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
            state.own.asked[event.detail[0]] = event.detail[1]
        elif event.kind == "told":
            number, what = event.detail
            if state.own.asked.pop(number, None) is not None and what != "rows":
                state.own.unreadable = True
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


class GivenBackUnstarted(Watching[set[str]]):
    """No claim goes back whose run has begun."""

    name = "no claim goes back after its run began"

    def begin(self) -> set[str]:
        """No run has begun."""
        return set()

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Remember what has begun."""
        del world
        if entry.kind == "began":
            seen.own.add(entry.value[0])  # type: ignore[index]  # as `charge` notes it

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


@attrs.define
class Callers:
    """Who was told what.

    Attributes:
        runs: the run of each key.
        shown: what its first 200 said, by key.
        began: keys that have begun.
        asking: for each key who has asked and has no answer.
        decided: keys for which a start was decided while one caller asked alone.
    """

    runs: dict[str, str] = attrs.field(factory=dict[str, str])
    shown: dict[str, str] = attrs.field(factory=dict[str, str])
    began: set[str] = attrs.field(factory=set[str])
    asking: "Counter[str]" = attrs.field(factory=Counter)
    decided: set[str] = attrs.field(factory=set[str])


class AnswersFit(Watching[Callers]):
    """Each caller is told what the table of 2.6 says."""

    name = "answers as the table says"

    def begin(self) -> Callers:
        """Nobody was told anything."""
        return Callers()

    def changed(
        self,
        seen: Watched[Callers],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A key means one run."""
        del world
        if after is None:
            return
        run_id = seen.own.runs.setdefault(after.key, after.run_id)
        assert run_id == after.run_id or before is None, f"{after.key} has become another run"
        seen.own.runs[after.key] = after.run_id

    def noted(self, seen: Watched[Callers], entry: Entry, world: World) -> None:
        """Look at an answer."""
        own = seen.own
        if entry.kind == "asked":
            key = entry.value[1]  # type: ignore[index]  # as `Stage.start` notes it
            own.asking[key] += 1
            own.decided.discard(key)
        elif entry.kind == "log start-decided":
            own.decided.add(fields(entry)["key"])
        elif entry.kind == "began":
            own.began.add(entry.value[0])  # type: ignore[index]  # as `charge` notes it
        elif entry.kind == "answered":
            self._answered(seen, entry, world)

    def _answered(self, seen: Watched[Callers], entry: Entry, world: World) -> None:
        who, key, status, code, run_id, shown, files = entry.value  # type: ignore[misc]
        own = seen.own
        was_alone = own.asking[key] == 1
        own.asking[key] -= 1
        if key is None or status == 0:
            return
        row = seen.rows.get(key)
        if run_id is not None and row is not None:
            assert run_id == row.run_id, f"{key} means {short(row.run_id)}, not {short(run_id)}"
        if row is not None:
            theirs = who != row.owner_id
            probe = (code, run_id) == ("IDEMPOTENT_START_OWNER_MISMATCH", None) or status != 200
            assert not theirs or probe and run_id is None, f"{who} was shown {key}, another's"
            probed = not theirs or code not in ("IDEMPOTENT_START_TARGET_MISMATCH",)
            assert probed, f"{who} was told what {key} starts, which is another's"
        if status == 200:
            assert not (files and key in own.shown), f"approvals of {key} were filed again"
            assert own.shown.setdefault(key, shown) == shown, f"{key} was shown otherwise before"
            assert key in own.began, f"{key} was answered 200, and its run never began"
        if code == "IDEMPOTENT_START_ALREADY_SETTLED" and row is not None:
            left = stored_status(world, row.run_id)
            assert left not in RESULTS, f"{key} is said to be gone, and can be shown: {left}"
        if was_alone and key in own.decided:
            about_key = str(code).startswith("IDEMPOTENT_START")
            assert not about_key, f"a start of {key} was made, and its answer is {code}"


class RefusedMeansUntouched(Watching[set[str]]):
    """Whoever is told that the fence refused: nothing of that key ran (8.5)."""

    name = "a refused start ran nothing"

    def begin(self) -> set[str]:
        """No run has begun."""
        return set()

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Look at a refusal."""
        del world
        if entry.kind == "began":
            seen.own.add(entry.value[0])  # type: ignore[index]  # as `charge` notes it
        elif entry.kind == "answered":
            _, key, _, code, *_ = entry.value  # type: ignore[misc]
            told = code in FENCED and key in seen.own
            assert not told, f"{key} was answered {code}, and its run had begun"


class NoStartFailsUnheard(Watching[None]):
    """Without a message lost nobody is answered 500, or not at all."""

    name = "no start is answered 500"

    def begin(self) -> None:
        """Nothing."""

    def noted(self, seen: Watched[None], entry: Entry, world: World) -> None:
        """Look at an answer."""
        del seen
        if entry.kind == "answered":
            _, key, status, *_ = entry.value  # type: ignore[misc]
            fine = status not in (0, 500) or is_lossy(world)
            assert fine, f"{key} was answered {status}, and no message was lost"


class ProofSlotIsEarned(Watching[set[str]]):
    """The slot for proofs names only a run that came through the runtime's own gate (8.12)."""

    name = "the proof slot names a run that passed the gate"
    when = "at_rest"

    def begin(self) -> set[str]:
        """Nothing has begun."""
        return set()

    def holds(self, state: Watched[set[str]], world: World) -> bool:
        """Look at the slot at the end."""
        super().holds(state, world)
        bound = state.fence.proof_run_id
        if bound is not None and not is_lossy(world, beside="RunOwners"):
            assert bound in state.own, f"the slot is bound to {short(bound)}, which never began"
        return True

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Remember what has begun."""
        del world
        if entry.kind == "began":
            seen.own.add(entry.value[1])  # type: ignore[index]  # as `charge` notes it


class NoKeyIsStranded(Watching[dict[str, Any]]):
    """No key ends unresolvable, except by the losses that its design names."""

    name = "no key is stranded"

    def begin(self) -> dict[str, Any]:
        """Nothing is known of the deployment."""
        return {"design": "router", "began": set()}

    def noted(self, seen: Watched[dict[str, Any]], entry: Entry, world: World) -> None:
        """Look at a final answer."""
        if entry.kind == "deployed":
            seen.own["design"] = entry.value[1]  # type: ignore[index]  # as `set_stage` notes it
        elif entry.kind == "began":
            seen.own["began"].add(entry.value[0])  # type: ignore[index]
        elif entry.kind == "final":
            key, status, code, _ = entry.value  # type: ignore[misc]
            if status == 200:
                return
            row = seen.rows.get(key)
            is_bound = row is not None and row.start_token is not None
            never_began = not is_bound and key not in seen.own["began"]
            excused = is_lossy(world) and not (seen.own["design"] == "sealer" and never_began)
            assert excused, f"{key} is stranded: its last answer is {status} {code}"


class RefusedRunsLeaveNothing(Watching[set[str]]):
    """Of a run that never began nothing is left, once its object has recovered (8.5)."""

    name = "a refused start leaves nothing"
    when = "at_rest"

    def begin(self) -> set[str]:
        """No run has begun."""
        return set()

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Remember what has begun."""
        del world
        if entry.kind == "began":
            seen.own.add(entry.value[1])  # type: ignore[index]  # as `charge` notes it

    def holds(self, state: Watched[set[str]], world: World) -> bool:
        """Look at what every run object and the registry keep."""
        super().holds(state, world)
        begun = {f":{run_id}" for run_id in state.own}
        for address in sorted(world.disk.objects, key=str):
            if address.kind == "RunObject":
                left = [name for name in world.disk.decoded(address) if "recovery" in name]
                assert not left, f"{short(address.name)} still has a journal"
            if address.kind == "RunOwners":
                for name in world.disk.decoded(address):
                    is_ours = any(name.endswith(each) for each in begun)
                    assert is_ours, f"{short(name)} still has an owner, and it never began"
        return True


class NotStartedWhileLive(Watching[None]):
    """No start is decided for a run that its object still has in flight (case 43)."""

    name = "no start is decided while the run is live"

    def begin(self) -> None:
        """Nothing."""

    def noted(self, seen: Watched[None], entry: Entry, world: World) -> None:
        """Look into the memory of the run's object."""
        del seen
        if entry.kind == "log start-decided":
            line = fields(entry)
            found = world.incarnation(Address("RunObject", f"order:{line['runId']}"))
            run: Any = None if found is None else found._object
            is_live = run is not None and bool(run._in_flight)
            assert not is_live, f"a start of {line['key']} was decided, and its run is live"


class LiveDeadlinesAreMet(Watching[None]):
    """No run waits for longer than its deadline when all has settled (case 33)."""

    name = "a live deadline is met"
    when = "at_rest"

    def begin(self) -> None:
        """Nothing."""

    def holds(self, state: Watched[None], world: World) -> bool:
        """Look at what still waits."""
        super().holds(state, world)
        waiting = "SELECT COUNT(*) FROM flowsafe_runs WHERE status = 'suspended'"
        ((count,),) = world.database.look(waiting).rows
        assert count == 0, f"{count} runs wait, and their deadline was given up"
        return True


LOSING = (DuplicateQuery, FailQuery, LoseQuery, LoseQueryReply, SlowQuery)


def is_lossy(world: World, *, beside: str | None = None) -> bool:
    """Whether something has struck by which a design may strand a key (2.9).

    A fence that cannot be read is none of it: it refuses, and the claim goes back (case 27).

    Args:
        world: where.
        beside: what strikes there does not count.
    """
    for fault, count in zip(world.plan, world.choices.struck, strict=True):
        is_query = isinstance(fault, LOSING)
        harmless = is_query and isinstance(fault.where, str) and FENCES in fault.where
        if count and not harmless and (beside is None or fault.where != beside):
            return True
    return False


def is_given_back(before: Reserved | None, after: Reserved | None) -> bool:
    """Whether a row has gone from `started` to `reserved`."""
    if before is None or after is None:
        return False
    return before.state != "reserved" and after.state == "reserved"


def fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of a logged line."""
    return dict(entry.value)  # type: ignore[call-overload,no-any-return]


def short(name: str) -> str:
    """Return the end of a name that is long, to be told from others."""
    return name if len(name) <= 12 else f"..{name[-6:]}"


execution_is_single = ExecutionIsSingle()
start_is_decided_once = StartIsDecidedOnce()
given_back_for_cause = GivenBackForCause()
given_back_unstarted = GivenBackUnstarted()
settled_stays_settled = SettledStaysSettled()
answers_fit = AnswersFit()
refused_means_untouched = RefusedMeansUntouched()
no_start_fails_unheard = NoStartFailsUnheard()
proof_slot_is_earned = ProofSlotIsEarned()
no_key_is_stranded = NoKeyIsStranded()
not_started_while_live = NotStartedWhileLive()
live_deadlines_are_met = LiveDeadlinesAreMet()
refused_runs_leave_nothing = RefusedRunsLeaveNothing()

CLAIMS: tuple[Property[Any], ...] = (
    execution_is_single,
    start_is_decided_once,
    given_back_for_cause,
    given_back_unstarted,
    settled_stays_settled,
    stamps_grow,
    settled_means_persisted,
    sealed_stays_sealed,
    shut_means_untouched,
    moves_are_won,
    proof_is_one_run,
    keyed_only,
)
"""What holds of rows in every story, under every fault of a design's assumptions."""

ANSWERS: tuple[Property[Any], ...] = (
    answers_fit,
    refused_means_untouched,
    no_start_fails_unheard,
    no_key_is_stranded,
)
"""What callers may rely on."""

EVERYWHERE = (*CLAIMS, *ANSWERS, proof_slot_is_earned)

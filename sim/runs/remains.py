"""What is left of runs: of those that were refused nothing, of deadlines none unmet."""

from typing import Any

from ...actors import Address
from ..ledger import Entry
from ..world import World
from .losses import is_lossy
from .notes import fields, short, told
from .watching import Watched, Watching

__all__ = [
    "LiveDeadlinesAreMet",
    "NotStartedWhileLive",
    "ProofSlotIsEarned",
    "RefusedRunsLeaveNothing",
]


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
            seen.own.add(told(entry)[1])


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
            seen.own.add(told(entry)[1])

    def holds(self, state: Watched[set[str]], world: World) -> bool:
        """Look at what every run object and the registry keep."""
        super().holds(state, world)
        begun = {f":{run_id}" for run_id in state.own}
        for address in sorted(world.disk.objects, key=str):
            if address.kind in ("RunObject", "ThreadObject"):
                left = [name for name in world.disk.decoded(address) if "recovery" in name]
                assert not left, f"{short(address.name)} still has a journal"
            if address.kind == "RunOwners":
                kept = world.disk.decoded(address)
                for name in (key for key in kept if key.startswith("run/")):
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
            run: Any = None if found is None else found._object  # pyright: ignore[reportPrivateUsage]
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

"""What is left of runs: of those that were refused nothing, of deadlines none unmet."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ...actors import Address
from ..ledger import Entry
from ..world import World
from .losses import is_lossy
from .notes import fields, short, told
from .watching import Watched, Watching, is_table

__all__ = [
    "LiveDeadlinesAreMet",
    "NotStartedWhileLive",
    "ProofSlotIsEarned",
    "RefusedRunsLeaveNothing",
]


RUNS = "SELECT run_id FROM flowsafe_runs ORDER BY run_id"
SEALED = "sealed-claim"
ACTIVE = "flowsafe:thread-active:v1"
BINDING = "flowsafe:thread:v1"


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


@attrs.define
class Begun:
    """What has begun.

    Attributes:
        topology: of the deployment.
        runs: by id.
        actors: in which one has begun.
    """

    topology: str = ""
    runs: set[str] = attrs.field(factory=set[str])
    actors: set[str] = attrs.field(factory=set[str])


class RefusedRunsLeaveNothing(Watching[Begun]):
    """Of a run that never began nothing is left, once its object has recovered (8.5).

    No journal, no record of its thread, no snapshot, no owner; an alarm is none either, since the
    world is at rest. A claim that is refused for good stays so. In process nobody makes up for a
    start that died; a key that is free there has left nothing.
    """

    name = "a refused start leaves nothing"
    when = "at_rest"

    def begin(self) -> Begun:
        """No run has begun."""
        return Begun()

    def noted(self, seen: Watched[Begun], entry: Entry, world: World) -> None:
        """Remember what has begun."""
        del world
        if entry.kind == "deployed":
            seen.own.topology = told(entry)[0]
        elif entry.kind == "began":
            seen.own.runs.add(told(entry)[1])
            seen.own.actors.add(entry.actor)

    def holds(self, state: Watched[Begun], world: World) -> bool:
        """Look at what every home of runs, the shared database and the registry keep."""
        super().holds(state, world)
        own = state.own
        for address in sorted(world.disk.objects, key=str):
            kept = world.disk.decoded(address)
            if address.kind == "RunObject":
                look_at_run(address, kept, own)
            elif address.kind == "ThreadObject":
                look_at_thread(address, kept, own)
            elif address.kind == "RunOwners":
                for name in (key for key in kept if key.startswith("run/")):
                    is_begun = name.rpartition(":")[2] in own.runs
                    assert is_begun, f"{short(name)} still has an owner, and it never began"
        if is_table(world, "flowsafe_runs"):
            free = {row.run_id for row in state.rows.values() if row.state == "reserved"}
            for (run_id,) in world.database.look(RUNS).rows:
                excused = own.topology == "process" and run_id not in free
                is_begun = excused or run_id in own.runs
                assert is_begun, f"{short(str(run_id))} still has a snapshot, and it never began"
        return True


def look_at_run(address: Address, kept: Mapping[str, Any], own: Begun) -> None:
    """Look at what the object of a run keeps."""
    left = [name for name in kept if "recovery" in name]
    assert not left, f"{short(address.name)} still has a journal"
    if address.name.rpartition(":")[2] not in own.runs:
        others = sorted(name for name in kept if SEALED not in name)
        assert not others, f"{short(address.name)} never began, and keeps {others[0]}"


def look_at_thread(address: Address, kept: Mapping[str, Any], own: Begun) -> None:
    """Look at what a thread keeps of its runs, of which some may have begun."""
    left = [name for name in kept if "recovery" in name]
    assert not left, f"{short(address.name)} still has a journal"
    is_begun = str(address) in own.actors
    for name, value in sorted(kept.items()):
        run = str(value) if name == ACTIVE else name.rpartition("/")[2]
        if name == BINDING:
            assert is_begun, f"thread {short(address.name)} is bound, and no run of it has begun"
        elif ":" in run and SEALED not in name:
            of_begun = run.rpartition(":")[2] in own.runs
            assert of_begun, f"{short(run)} never began, and its thread keeps {name.split('/')[0]}"


class NotStartedWhileLive(Watching[None]):
    """No start is decided for a run that its object still has in flight (case 43)."""

    name = "no start is decided while the run is live"

    def begin(self) -> None:
        """Nothing."""

    def noted(self, seen: Watched[None], entry: Entry, world: World) -> None:
        """Look into the memory of wherever runs live."""
        del seen
        if entry.kind == "log start-decided":
            line = fields(entry)
            is_live = any(name.endswith(f":{line['runId']}") for name in in_flight(world))
            assert not is_live, f"a start of {line['key']} was decided, and its run is live"


def in_flight(world: World) -> Iterator[str]:
    """Yield the name of each run whose start is under way, as the memory of its home has it."""
    for machine in world.machines.values():
        for address, incarnation in machine.host.incarnations.items():
            home: Any = incarnation._object  # pyright: ignore[reportPrivateUsage]
            if address.kind == "RunProcess":
                home = home._front.topology
            if address.kind in ("RunObject", "RunProcess", "ThreadObject"):
                yield from home._in_flight


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

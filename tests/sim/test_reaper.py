"""The dead have no effects: a run is the same whatever its dead still try."""

import gc
import math
from collections.abc import Awaitable, Callable
from functools import cache

import attrs
import pytest
import trio

from durasim.actors import CALL_DEADLINE_S, Address
from durasim.sim import (
    Crash,
    Fault,
    Job,
    KillProgram,
    Recorded,
    RunResult,
    World,
    run_once,
    scenario,
)

from .dying import Stage
from .mortals import Mortal, Serial, Working
from .shapes import SHAPES

Work = Callable[[World], Awaitable[object]]
NOTHING: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Death:
    """A way to die.

    Attributes:
        act: what the scenario does for it.
        faults: the fault plan.
        deviations: the choices that strike.
        begin: how the victim comes to run the shape.
        long_s: seconds that the shape waits.
    """

    act: Work
    faults: tuple[Fault, ...] = ()
    deviations: tuple[tuple[str, str], ...] = NOTHING
    begin: str = "work"
    long_s: float = 50


def victim(world: World, cls: type[Mortal] = Mortal) -> Mortal:
    """Return a stub of the one who dies."""
    return world.client("other caller").get(cls, "v")


async def crash(world: World) -> None:
    """Crash the machine."""
    world.default().crash("of a test")


async def swap(world: World) -> None:
    """Change the code over."""
    world.default().swap()


async def write(world: World) -> None:
    """Let the victim write."""
    await refused(victim(world).write())


async def abort(world: World) -> None:
    """Let the victim abort."""
    await refused(victim(world).die())


async def fail_in_section(world: World) -> None:
    """Let the victim fail in a critical section."""
    await refused(victim(world).fail_in_section())


async def replace_and_crash(world: World) -> None:
    """Let a second incarnation start; the machine crashes with both."""
    world.default().host.replace(Address("Mortal", "v"))
    await victim(world).ping()
    world.default().crash("of a test")


async def replace_and_write(world: World) -> None:
    """Let a second incarnation start; the first is refused when it writes."""
    old = world.incarnation(Address("Mortal", "v"))
    assert old is not None
    world.default().host.replace(old.address)
    await victim(world).write()
    old.storage.kv.put("count", 100)
    await trio.lowlevel.checkpoint()


async def kill(world: World) -> None:
    """Kill the program."""
    stage = world.env["stage"]
    assert isinstance(stage, Stage)
    assert stage.run is not None
    stage.run.kill()


async def nothing(world: World) -> None:
    """Leave it to somebody else."""
    del world


async def refused(call: Awaitable[object]) -> None:
    """Await a call that fails one way or another."""
    try:
        await call
    except Exception:
        return


DEATHS = {
    "crash": Death(crash),
    "crash of a serial object": Death(crash, begin="serial"),
    "crash of left-over work": Death(crash, begin="leave"),
    "crash before a commit": Death(
        write, (Crash(),), (("commit 1 of Mortal/v in write", "crash before"),)
    ),
    "crash after a commit": Death(
        write, (Crash(),), (("commit 1 of Mortal/v in write", "crash after"),)
    ),
    "crash at an await": Death(
        write, (Crash(),), (("await 1 of Mortal/v in write", "crash here"),)
    ),
    "swap": Death(swap),
    "abort": Death(abort),
    "failed section": Death(fail_in_section),
    "replaced, then a crash": Death(replace_and_crash),
    "replaced, then refused": Death(replace_and_write),
    "kill": Death(kill, begin="program"),
    "kill at an await": Death(
        nothing, (KillProgram(),), (("program 1 of tool", "killed"),), begin="program"
    ),
    "end of the world": Death(nothing, begin="leave", long_s=math.inf),
    "end of the world, serial": Death(nothing, begin="serial", long_s=math.inf),
}


@cache
def quietly(how: str) -> object:
    """Return what is seen of a run whose victim does nothing when it dies."""
    result, attempts = told(DEATHS[how], "quiet")

    assert attempts == []
    assert result.unknown == ()
    assert len(result.deviations) == len(DEATHS[how].deviations)
    return seen(result)


def told(death: Death, shape: str) -> tuple[RunResult, list[tuple[str, str]]]:
    """Run the story of *death* with *shape*; returns what came of it, and of all tries."""
    stages: list[Stage] = []

    @scenario(faults=death.faults, name="death")
    async def story(world: World) -> None:
        stage = Stage(world, Mortal, shape, death.long_s)
        stages.append(stage)
        world.env["stage"] = stage
        await begin(world, death.begin, stage)
        await trio.sleep(1)
        await death.act(world)
        for _ in range(3):
            for cls in (Mortal, Serial):
                if death.long_s < math.inf or cls is Mortal:
                    world.ledger.note("seen", await world.client("late").get(cls, "v").ping())
            await trio.sleep(1)
        await world.client("outside").get(Mortal, "other").ping()

    job = Job(scenario=story, seed=3, source=Recorded(death.deviations))
    result = run_once(job)
    if shape == "in_garbage":
        gc.collect()
    return result, stages[0].attempts


async def begin(world: World, how: str, stage: Stage) -> None:
    """Let the victim begin to run the shape."""
    if how == "program":
        stage.run = world.start(Working(stage), "tool")
        return
    cls = Serial if how == "serial" else Mortal
    stub = world.client("caller").get(cls, "v", deadline_s=CALL_DEADLINE_S)
    if how == "leave":
        await stub.leave()
    else:
        # Dropped: nobody waits for it.
        _ = stub.work()


def seen(result: RunResult) -> object:
    """Return whatever of a run may not depend on its dead."""
    return (
        result.digest,
        result.events,
        result.virtual_seconds,
        result.failures,
        result.deviations,
        result.unknown,
        result.faults,
        [(row.kind, row.actor, row.detail) for row in result.rows],
    )


OWN_WAITS = {"in_own_wait"}
"""Shapes that wait for a port, which has no infinite time."""


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "quiet"])
@pytest.mark.parametrize("how", DEATHS)
def test_the_dead_have_no_effects(how: str, shape: str) -> None:
    """The run is the one of a victim that does nothing when it dies, and all its tries fail."""
    death = DEATHS[how]
    if death.long_s == math.inf and shape in OWN_WAITS:
        shape = "shielded_for_ever"
    result, attempts = told(death, shape)

    assert seen(result) == quietly(how)
    assert attempts != []
    assert {outcome for _, outcome in attempts} == {"IncarnationGone"}

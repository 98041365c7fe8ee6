"""One program in a world of its own, in virtual time."""

from collections.abc import Mapping
from typing import Any

import trio

from ...actors import Address
from ..choices import Ordinary
from ..machine import EPOCH_US
from ..run import Job, run_once
from ..scenario import Scenario
from ..world import World
from .execution import Env, run_list, unwrap
from .faults import ABORT_ALL
from .objects import OPERATIONS, classes_of
from .participants import Driver
from .promises import Thrown
from .record import Run
from .values import Notation, UnknownNotation, encode, encode_error

__all__ = ["observe"]


def observe(program: Mapping[str, Any], backend: str) -> tuple[dict[str, Notation], str | None]:
    """Run *program* on *backend*.

    Returns what was observed (`trace` and `result`), and why it could not be interpreted to its
    end, if it could not.
    """
    run = Run(program, backend)
    observed: dict[str, Notation] = {}

    async def story(world: World) -> None:
        observed["result"] = await _tell(world, run)

    job = Job(scenario=Scenario(program["id"], story), seed=0, source=Ordinary())
    result = run_once(job)
    run.done = True
    for failure in result.failures:
        run.failed(f"{failure.property}: {failure.message}")
    return {"trace": run.trace, **observed}, run.fault


async def _tell(world: World, run: Run) -> Notation:
    machine = world.machine("host", tuple(classes_of(run.backend)))
    world.env["run"] = run

    def abort_all() -> bool:
        machine.host.reset_all(Exception(ABORT_ALL))
        return True

    def evict(address: Address) -> bool:
        return address not in machine.host.incarnations or machine.host.evict(address)

    run.abort_all, run.evict = abort_all, evict
    outcome: Notation = {}
    async with trio.open_nursery() as nursery:
        run.stop = nursery.cancel_scope.cancel
        objects = world.client("main")
        driver = Driver(run, objects, nursery, lambda: (EPOCH_US + world.kernel.now_us) // 1000)
        env = Env(run, "main", driver, OPERATIONS)
        try:
            value = unwrap(await driver.finish(run_list(run.program["main"], env)))
            outcome = {"ok": encode(value, run.norm)}
        except Thrown as thrown:
            outcome = {"err": encode_error(thrown.value, run.norm)}
        except UnknownNotation as error:
            run.failed(str(error))
        run.done = True
        nursery.cancel_scope.cancel()
    return outcome

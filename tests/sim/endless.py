"""Worlds that never end, in a process of their own that is interrupted: see `test_run.py`."""

import os
import signal
import sys
import threading
import time

import trio

from durasim.actors import DurableObject
from durasim.sim import Job, Ordinary, RunResult, World, always, scenario
from durasim.sim.run import run_jobs

PLACE = sys.argv[1] if len(sys.argv) > 1 else ""
GRACE_S = 0.3


def loop_in(place: str) -> None:
    """Loop for ever if this is the place to do so; the signal comes soon after that."""
    if place == PLACE:
        reached.set()
        while True:
            pass


reached = threading.Event()


def interrupt() -> None:
    """Press Ctrl-C a while after the place has been reached."""
    reached.wait()
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGINT)


class Counter(DurableObject):
    """Counts."""

    def __init__(self) -> None:
        loop_in("constructor")

    async def increment(self) -> int:
        """Count one more."""
        loop_in("handler")
        try:
            total = int(await self.storage.get("total", 0)) + 1
            await self.storage.put("total", total)
        finally:
            loop_in("finally")
        return total


@always
def stays_small(world: World) -> bool:
    """Nothing is wrong."""
    loop_in("property")
    return bool(world.machines)


@scenario(properties=(stays_small,))
async def counting(world: World) -> None:
    """Count for ever."""
    stub = world.client("alice").get(Counter, "c")
    await stub.increment()
    loop_in("scenario")
    if PLACE == "waiting":
        reached.set()
        await trio.sleep_forever()
    if PLACE in ("yielding", "running"):
        reached.set()
    while PLACE == "yielding":
        await trio.lowlevel.checkpoint()
    while PLACE == "running":
        await stub.increment()


def main() -> None:
    """Run worlds until interrupted, and tell what is left."""
    runs = 0

    def following(result: RunResult | None) -> Job | None:
        nonlocal runs
        runs += result is not None
        if PLACE == "between" and runs == 3:
            loop_in("between")
        return Job(scenario=counting, seed=runs, source=Ordinary())

    clock = time.time
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        run_jobs(following)
    except KeyboardInterrupt as error:
        assert time.time is clock
        sys.stdout.write(f"interrupted, {error.__context__!r} before it\n")


if __name__ == "__main__":
    main()

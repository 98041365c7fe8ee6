"""Worker processes for one batch.

Where forking is safe (Linux, one thread) workers are forked: a scenario need not have a name, and a
worker is there in a millisecond. Elsewhere they are spawned and find the scenario by its name.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from .batch import Batch, Runner, Tally
from .systems import UnknownMutant, find_mutant, reference, resolve

__all__ = ["WorkerDied", "run_part", "workers"]

RUNNERS: list[Runner] = []
"""In a worker process: its runner."""


class WorkerDied(RuntimeError):
    """A worker process is gone, and with it what its runs showed. The text is one line."""


def run_part(first: int, runs: int) -> Tally:
    """In a worker process: run a part of the batch."""
    return RUNNERS[0].part(first, runs)


@contextmanager
def workers(batch: Batch, jobs: int, *, fork: bool | None = None) -> Generator[ProcessPoolExecutor]:
    """Keep *jobs* processes that run parts of *batch*.

    Args:
        batch: what they run.
        jobs: how many.
        fork: how they begin; None for forking where it is safe.

    Raises:
        RuntimeError: they must be spawned, and cannot find the scenario or mutant by name.
        WorkerDied: one of them was killed, or ended itself. No verdict.
    """
    before = {child.pid for child in multiprocessing.active_children()}
    start, arguments = beginning(batch, is_forking_safe() if fork is None else fork)
    method = "fork" if start is keep else "spawn"
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(method), start, arguments)
    try:
        yield pool
    except BaseException as error:
        # A part may take long, and nobody waits for its answer any more.
        for child in multiprocessing.active_children():
            if child.pid not in before:
                child.terminate()
        if isinstance(error, BrokenProcessPool):
            raise WorkerDied(
                "a worker process died: killed from outside, out of memory, or ended by the code "
                "of the scenario; there is no verdict, and one job shows which"
            ) from error
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def is_forking_safe() -> bool:
    """Whether a fork copies all there is: no other thread that may hold a lock."""
    return sys.platform == "linux" and hasattr(os, "fork") and threading.active_count() == 1


def beginning(batch: Batch, fork: bool) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Return what a worker calls first, and with what."""
    if fork:
        return keep, (batch,)
    name = reference(batch.scenario)
    mutant = None if batch.mutant is None else batch.mutant.name
    found = name is not None
    if found and mutant is not None:
        try:
            found = find_mutant(mutant) is batch.mutant
        except UnknownMutant:
            found = False
    if not found:
        raise RuntimeError(
            f"no other process can find scenario {batch.scenario.name!r}"
            + (f" with mutant {mutant!r}" if mutant else "")
            + " by name: put it at the top of a module, or use one job"
        )
    rest = (batch.seed, batch.strategy, dict(batch.parameters), mutant, batch.keep_going)
    return find, (name, *rest)


def keep(batch: Batch) -> None:
    """In a forked process: run *batch*."""
    # Ctrl-C reaches the whole process group; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    RUNNERS[:] = [Runner(batch)]


def find(
    name: str,
    seed: int,
    strategy: str,
    parameters: Mapping[str, Any],
    mutant: str | None,
    keep_going: bool,
) -> None:
    """In a spawned process: run the batch of the scenario called *name*."""
    keep(
        Batch(
            scenario=resolve(name),
            seed=seed,
            strategy=strategy,
            parameters=parameters,
            mutant=None if mutant is None else find_mutant(mutant),
            keep_going=keep_going,
        )
    )

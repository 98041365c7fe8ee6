"""The same run in a new Python, whose texts have other hashes: what one process cannot show.

A set of texts keeps its order as long as a process lives, so running twice in it proves nothing
about hashes. A replay runs in another process, and so does this, before a failure is told.
"""

import os
import pickle
import subprocess
import sys
from typing import cast

import attrs

from .batch import Batch, Failed, Runner
from .mutants import Mutant
from .run import RunResult
from .systems import UnknownMutant, find_mutant, reference, resolve

__all__ = ["address_of", "run_elsewhere"]

PATIENCE_S = 30.0
"""Real seconds that a new Python may take to begin."""

PATIENCE_TIMES = 20
"""How many times as long as here the run may take there."""

BEGIN = (
    "import pickle, sys; path, run = pickle.load(sys.stdin.buffer); sys.path[:] = path;"
    f"from {__name__} import answer; answer(run)"
)


def address_of(batch: Batch) -> tuple[str, str | None] | None:
    """Return the names by which another process finds scenario and mutant, None if it cannot."""
    name = reference(batch.scenario)
    mutant: Mutant | None = batch.mutant
    if name is None or mutant is None:
        return None if name is None else (name, None)
    try:
        return (name, mutant.name) if find_mutant(mutant.name) is mutant else None
    except UnknownMutant:
        return None


def run_elsewhere(batch: Batch, result: RunResult) -> Failed | None:
    """Run once more what gave *result*, in a new process with other hashes.

    Returns:
        What came out, None if no other process can find the scenario, or it did not answer.
    """
    names = address_of(batch)
    if names is None:
        return None
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    optimized = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
    try:
        planned = attrs.evolve(Failed.of(0, result), rows=())
        asked = pickle.dumps((sys.path, (*names, planned)))
        done = subprocess.run(
            [sys.executable, *optimized, "-c", BEGIN],
            input=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONHASHSEED": other},
            timeout=PATIENCE_S + PATIENCE_TIMES * result.wall_seconds,
            check=True,
        )
        return cast(Failed, pickle.loads(done.stdout))
    except Exception:
        # Whatever keeps it from answering says nothing about the run.
        return None


def answer(run: tuple[str, str | None, Failed]) -> None:
    """In the new process: run, and write what came out."""
    name, mutant, failed = run
    # What the scenario prints must not mix with the answer.
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)
        batch = Batch(
            scenario=resolve(name),
            seed=failed.seed,
            strategy="ordinary",
            parameters=failed.parameters,
            mutant=None if mutant is None else find_mutant(mutant),
            keep_going=False,
        )
        output.write(pickle.dumps(Failed.of(0, Runner(batch).again(failed))))

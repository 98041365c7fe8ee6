"""The same deviations give the same digest: in one process, in others, on every Python."""

import gc
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache

import pytest
import trio

from durasim.actors import DurableObject
from durasim.sim import Job, Ledger, Ordinary, Recorded, World, run_once, scenario
from durasim.wire import IncarnationGone

from ..tidy import ROOT
from .busy import FAULTS, Often, job, jobs, ordinary
from .golden import PATH, digests, results

OTHERS = ("python3.11", "python3.12", "python3.13")
CAN_IMPORT = "import durasim.sim, trio, sys; sys.exit(0)"


@cache
def recorded() -> dict[str, str]:
    """Return the digests on record."""
    found: dict[str, str] = json.loads(PATH.read_text())
    return found


@cache
def interpreters() -> list[str]:
    """Return this Python, and every other one on the path that has durasim."""
    found = [sys.executable]
    for name in OTHERS:
        path = shutil.which(name)
        if path is None or os.path.samefile(path, sys.executable):
            continue
        tried = subprocess.run([path, "-c", CAN_IMPORT], cwd=ROOT, capture_output=True, check=False)
        if tried.returncode == 0:
            found.append(path)
    return found


def test_digests_are_those_on_record() -> None:
    """They were recorded by another Python, too: `python -m tests.sim.golden` writes them anew."""
    assert digests() == recorded()


def test_the_order_of_worlds_makes_no_difference() -> None:
    """Many worlds in one trio run are each what they are alone, whatever came before."""
    names = list(jobs())

    assert digests(names[::-1]) == recorded()
    assert digests(names[5:7]) == {name: recorded()[name] for name in names[5:7]}
    assert {name: run_once(job).digest for name, job in jobs().items()} == recorded()


@pytest.mark.parametrize("hash_seed", ["0", "1", "4294967295"])
def test_other_processes_give_the_same_digests(hash_seed: str) -> None:
    """With other hashes, other addresses, and each Python that is here."""
    for python in interpreters():
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [python, "-m", "tests.sim.golden", "--print"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        assert json.loads(done.stdout) == recorded(), python


def test_each_deviation_is_replayed_by_name() -> None:
    """A run's deviations alone give the run again."""
    names = [name for name in jobs() if not name.startswith("ordinary")]
    seeds = {name: job.seed for name, job in jobs().items()}
    stories = {name: job.scenario for name, job in jobs().items()}
    deviated = 0
    for name, result in results(names).items():
        again = run_once(
            job(
                stories[name],
                seeds[name],
                Recorded([(each.choice, each.option) for each in result.deviations]),
            )
        )
        deviated += len(result.deviations)
        assert again.digest == result.digest
        assert again.deviations == result.deviations
        assert again.unknown == ()
    assert deviated > 500


def test_runs_differ_where_they_should() -> None:
    """A digest that is always the same would prove nothing."""
    assert len(set(recorded().values())) == len(jobs())
    assert (
        run_once(job(ordinary, 1, Ordinary())).digest
        != run_once(job(ordinary, 1, Often(1, 0.01))).digest
    )


def test_faults_struck_in_the_recorded_runs() -> None:
    """What is proved about faults is proved about many of them."""
    found = results(list(jobs()))
    alone = {name: result.faults for name, result in found.items() if name.startswith("only")}

    assert len(alone) == len(FAULTS)
    assert [name for name, struck in alone.items() if not sum(struck)] == []


class Messy(DurableObject):
    """Leaves garbage that acts: cycles with `__del__`, and async generators that are dropped."""

    async def litter(self) -> int:
        """Leave some."""
        ledger = self.env["ledger"]
        assert isinstance(ledger, Ledger)
        books: Ledger = ledger

        class Loud:
            def __init__(self) -> None:
                self.myself = self

            def __del__(self) -> None:
                with suppress(IncarnationGone):
                    books.note("collected")

        for _ in range(10):
            Loud()
            await trio.lowlevel.checkpoint()
        return int(await self.storage.get("count", 0))


@scenario()
async def littering(world: World) -> None:
    """Leave much garbage."""
    for number in range(40):
        await world.client("alice").get(Messy, f"messy-{number}").litter()


def test_garbage_makes_no_difference() -> None:
    """It is collected between worlds, however much of it there is from before."""
    story = Job(scenario=littering, seed=1, source=Ordinary())
    first = run_once(story)
    keep = [[object()] for _ in range(50_000)]
    for each in keep:
        each.append(each)
    del keep
    was_on = gc.isenabled()

    assert run_once(story).digest == first.digest
    assert "effect" not in {row.kind for row in first.rows}
    assert gc.isenabled() == was_on

"""Worker processes run parts of a batch, and are gone afterwards."""

import multiprocessing
import os

import pytest

from durasim.sim import Mutant, System, UnknownParameter, scenario, systems
from durasim.sim.batch import Runner
from durasim.sim.workers import WorkerDied, is_forking_safe, run_part, workers

from .stories import right
from .test_batch import batch, counted

MUTANT = Mutant("backwards", "tests.sim.stories:step", abs, right, ["never_negative"])


@pytest.mark.parametrize("fork", [True, False])
def test_a_part_is_the_same_in_another_process(fork: bool) -> None:
    """Forked or spawned: the runs are functions of their seeds."""
    with workers(batch(), 1, fork=fork) as pool:
        there = pool.submit(run_part, 3, 6).result()

    assert counted(there) == counted(Runner(batch()).part(3, 6))


def test_no_process_is_left() -> None:
    """After an error they are ended at once."""
    before = multiprocessing.active_children()
    with pytest.raises(ZeroDivisionError), workers(batch(), 2) as pool:
        assert 1 // (pool.submit(run_part, 0, 1).result().runs - 1)

    assert multiprocessing.active_children() == before


def test_an_error_of_a_part_reaches_the_parent() -> None:
    """A parameter that is not there is told, not swallowed."""
    with (
        workers(batch(parameters={"other": 1}), 1) as pool,
        pytest.raises(UnknownParameter, match="has no parameter 'other'"),
    ):
        pool.submit(run_part, 0, 1).result()


def test_a_worker_that_dies_is_told_in_one_line() -> None:
    """As the kernel does when memory is short: no verdict, and no traceback of a process pool."""

    @scenario()
    async def deadly(world: object) -> None:
        del world
        os._exit(9)

    with (
        pytest.raises(WorkerDied, match=r"a worker process died: .* there is no verdict"),
        workers(batch(scenario=deadly), 1, fork=True) as pool,
    ):
        pool.submit(run_part, 0, 1).result()


def test_what_no_other_process_can_find_is_refused() -> None:
    """Spawned workers need names; the error says what to do."""

    @scenario()
    async def local(world: object) -> None:
        del world

    with (
        pytest.raises(RuntimeError, match="no other process can find scenario 'local' by name"),
        workers(batch(scenario=local), 1, fork=False),
    ):
        pass
    with (
        pytest.raises(RuntimeError, match="scenario 'right' with mutant 'backwards' by name"),
        workers(batch(mutant=MUTANT), 1, fork=False),
    ):
        pass


def test_a_registered_mutant_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found in the other process by it."""
    from durasim.sim.workers import beginning

    monkeypatch.setattr(systems, "registered", lambda: (System("demo", (), (), (MUTANT,)),))
    _, arguments = beginning(batch(mutant=MUTANT), fork=False)

    assert arguments == (
        "tests/sim/stories.py:right", 0, "rotation", {}, "backwards", False
    )  # fmt: skip


def test_forking_needs_a_single_thread() -> None:
    """A thread of another test may or may not be there; the answer is a plain yes or no."""
    assert is_forking_safe() in (True, False)

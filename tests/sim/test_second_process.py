"""A failure is run once more in a new process: what hangs on hashes differs there."""

import subprocess

import pytest

from durasim.sim import Mutant, explore, scenario, simulate
from durasim.sim.second_process import address_of, run_elsewhere

from .stories import hashed, mistaken, right
from .test_batch import batch


def test_the_same_run_comes_out_there() -> None:
    """Digest, deviations, failures and every row."""
    found = explore(mistaken, runs=50).found[0]
    there = run_elsewhere(batch(scenario=mistaken), found.result)

    assert found.property == "scenario"
    assert there is not None
    assert there.digest == found.result.digest
    assert there.deviations == found.deviations
    assert there.failures == found.result.failures
    assert there.rows == found.result.rows


def test_the_order_of_a_set_is_told_as_determinism() -> None:
    """Not as a failure whose replay diverges: with the first row that differs, and a hint."""
    found = explore(hashed, runs=50).found[0]

    assert found.property == "determinism"
    assert "gave another run: row " in found.message
    assert "effect scenario" in found.message
    assert "the order of a set, hash(), id()" in found.message
    assert found.replay.property == "determinism"
    assert [each.property for each in found.failures] == ["determinism", "scenario"]


def test_what_has_no_name_is_run_here_alone() -> None:
    """Nothing is said of it: neither a scenario nor a mutant that no other process can find."""

    @scenario()
    async def local(world: object) -> None:
        del world
        raise AssertionError

    mutant = Mutant("backwards", "tests.sim.stories:step", abs, right, ["never_negative"])

    assert address_of(batch(scenario=local)) is None
    assert address_of(batch(mutant=mutant)) is None
    assert run_elsewhere(batch(scenario=local), simulate(local).result) is None
    assert explore(local, runs=1).found[0].property == "scenario"


def test_a_process_that_does_not_answer_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run in this process stands."""

    def refused(*args: object, **kwargs: object) -> None:
        del args, kwargs
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "run", refused)

    assert run_elsewhere(batch(), simulate(right).result) is None
    assert explore(mistaken, runs=50).found[0].property == "scenario"

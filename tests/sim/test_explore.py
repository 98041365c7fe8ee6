"""Exploration tells the failure of the lowest run, in few facts, and what was tried."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from durasim.sim import (
    Exploration,
    Failure,
    Mutant,
    Progress,
    Row,
    UnknownMutant,
    UnknownParameter,
    UnknownStrategy,
    UnknownTarget,
    explore,
    simulate,
)
from durasim.sim.batch import Failed
from durasim.sim.explore import differs

from ..quality.orders import three_preemptions
from .stories import leaking, retried, right, vacuous


def told(exploration: Exploration) -> tuple[object, ...]:
    """Return everything of an exploration that does not depend on time."""
    return (
        exploration.runs,
        exploration.distinct,
        exploration.faults,
        exploration.sometimes,
        [attrs.astuple(found.replay) for found in exploration.found],
        [(found.property, found.message, found.times) for found in exploration.found],
    )


def test_what_holds_is_counted() -> None:
    """Runs, distinct ones, faults by title and every `sometimes`."""
    exploration = explore(right, runs=40)

    assert exploration.ok
    assert exploration.runs == 40
    assert 10 < exploration.distinct <= 40
    assert exploration.faults == {}
    assert exploration.sometimes == {"it_counts": True}
    assert not exploration.interrupted


def test_the_first_failure_ends_it_and_is_told_in_few_facts() -> None:
    """It is the lowest run that fails; every run before it holds."""
    exploration = explore(retried, runs=200)
    found = exploration.found[0]

    assert not exploration.ok
    assert exploration.runs == found.seed + 1
    assert all(simulate(retried, seed, strategy="rotation").ok for seed in range(found.seed))
    assert [each.option for each in found.deviations] == ["lost"]
    assert found.shrunk_from >= 1
    assert found.property == "scenario"
    assert found.message.startswith("AssertionError: ")
    assert set(exploration.faults) == {"reply lost of Tally.add", "crash of Tally"}


def test_run_i_has_seed_n_plus_i() -> None:
    """The same run has the same seed from another base."""
    seed = explore(retried, runs=200).found[0].seed

    assert explore(retried, runs=200, seed=2).found[0].seed == seed
    assert explore(retried, runs=1, seed=seed).found[0].seed == seed


def test_the_answer_does_not_depend_on_the_number_of_processes() -> None:
    """Whatever process runs what: the same runs, failures, counts and file."""
    alone = told(explore(three_preemptions, runs=400))

    assert told(explore(three_preemptions, runs=400, jobs=2)) == alone
    assert told(explore(three_preemptions, runs=400, jobs=3)) == alone


def test_processes_share_what_holds() -> None:
    """All runs are done, once each."""
    assert told(explore(right, runs=90, jobs=2)) == told(explore(right, runs=90))
    assert told(explore(right, runs=3, jobs=100_000)) == told(explore(right, runs=3))


def test_keeping_going_tells_the_first_failure_of_each_kind() -> None:
    """All runs are done; how often each kind came is counted."""
    exploration = explore(retried, runs=60, keep_going=True)

    assert exploration.runs == 60
    assert len(exploration.found) == 1
    assert exploration.found[0].times > 5
    assert told(explore(retried, runs=60, keep_going=True, jobs=2)) == told(exploration)


def test_a_state_that_no_run_reaches_fails_the_batch() -> None:
    """A vacuous test shows, by name."""
    exploration = explore(vacuous, runs=10)

    assert not exploration.ok
    assert exploration.found == ()
    assert [each.property for each in exploration.unreached] == ["it_counts_to_a_million"]
    assert exploration.unreached[0].message == "no run of 10 reached it"


def test_a_run_that_comes_out_otherwise_is_told_as_that() -> None:
    """A failure that the same deviations do not give again is a leak, with its first row."""
    found = explore(leaking, runs=3).found[0]

    assert found.property == "determinism"
    assert found.message.startswith("the same seed and deviations gave another run: row ")
    assert ", then [" in found.message
    assert found.replay.property == "determinism"


def test_without_shrinking_every_deviation_is_left() -> None:
    """What the run deviated by is what is told."""
    found = explore(retried, runs=200, shrink=False, strategy="uniform").found[0]

    assert len(found.deviations) == found.shrunk_from
    assert found.result.digest == found.replay.digest


def test_time_ends_it() -> None:
    """No run begins after it; without a number of runs time alone decides."""
    exploration = explore(right, runs=None, time_s=0.3)

    assert exploration.runs > 1
    assert exploration.seconds < 20
    assert exploration.ok


def test_parameters_can_be_fixed() -> None:
    """Those that are not given are drawn."""
    assert explore(right, runs=8, parameters={"clients": 1}).distinct < 20
    with pytest.raises(UnknownParameter, match="right has no parameter 'cleints'; it has clients"):
        explore(right, parameters={"cleints": 1})


def test_progress_is_told() -> None:
    """How far it is, at the end all of it; and when it looks for fewer deviations."""
    steps: list[Progress] = []
    explore(right, runs=30, progress=steps.append)
    assert (steps[-1].runs, steps[-1].runs_max, steps[-1].found) == (30, 30, 0)

    explore(retried, runs=60, progress=steps.append)
    assert steps[-1].shrinking
    assert steps[-1].found == 1


def test_what_makes_no_sense_is_refused_before_anything_runs() -> None:
    """One line each."""
    with pytest.raises(UnknownStrategy):
        explore(right, strategy="none")
    with pytest.raises(ValueError, match="1 job or more"):
        explore(right, jobs=0)
    with pytest.raises(ValueError, match="1 run or more"):
        explore(right, runs=0)
    with pytest.raises(ValueError, match="or a time"):
        explore(right, runs=None)
    with pytest.raises(UnknownMutant):
        explore(right, mutant="none")
    with pytest.raises(UnknownTarget):
        explore(right, mutant=Mutant("m", "tests.sim.stories:gone", abs, right, ["scenario"]))


async def test_inside_of_trio_it_says_what_to_do() -> None:
    """It runs trio itself."""
    with pytest.raises(RuntimeError, match="call it from outside"):
        explore(right)


INTERRUPTED = """
import sys
from durasim.sim import explore
from tests.sim.stories import retried

def shown(progress):
    print("found" if progress.found else "going", flush=True)

e = explore(retried, runs=10**9, keep_going=True, jobs=int(sys.argv[1]), progress=shown)
print(e.interrupted, e.runs > 0, [f.property for f in e.found], e.ok)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_was_found(jobs: int, tmp_path: Path) -> None:
    """It ends soon, and tells the failures so far."""
    script = tmp_path / "explored.py"
    script.write_text(INTERRUPTED)
    child = subprocess.Popen(
        [sys.executable, str(script), str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        assert child.stdout is not None
        assert any(line == "found\n" for line in child.stdout)
        time.sleep(0.1)
        os.killpg(child.pid, signal.SIGINT)
        out, errors = child.communicate(timeout=60)
    finally:
        child.kill()

    assert out.splitlines()[-1] == "True True ['scenario'] False"
    assert errors == ""


def failed(rows: tuple[Row, ...], digest: str = "a", message: str = "m") -> Failed:
    """Return a run that failed, with these rows."""
    return Failed(
        run=0,
        seed=0,
        parameters={},
        failures=(Failure("never_negative", message),),
        deviations=(),
        digest=digest,
        rows=rows,
    )


def test_the_first_row_that_differs_is_named() -> None:
    """Or that there are more of them, or what failed otherwise; the same run differs nowhere."""
    one, two = Row(1, 0, "up", "host", 0, ()), Row(2, 5, "up", "spare", 0, ())
    result = attrs.evolve(simulate(right).result, rows=(one, two), digest="a")
    twice = "the same seed and deviations gave another run"
    held = attrs.evolve(result, failures=failed(()).failures)

    assert differs(failed((one, two)), held) is None
    assert differs(failed((one, one)), result) == (
        f"{twice}: row 1 was [0 s up host ()], then [5e-06 s up spare ()]"
    )
    assert differs(failed((one,)), result) == f"{twice}: 1 rows, then 2"
    assert differs(failed((one, two)), result) == f"{twice}: never_negative, then nothing failed"

"""Planted bugs are found from every base seed, in few runs, and told in the fewest facts."""

import pytest

from durasim.sim import explore, simulate

from .planted import BUGS, SEEDS, Bug

each_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.broken.name)


@each_bug
@pytest.mark.parametrize("seed", SEEDS)
def test_each_bug_is_found_and_told_in_the_fewest_facts(bug: Bug, seed: int) -> None:
    """Rotation finds it within the stated runs, and shrinking leaves nothing that it can do
    without."""
    exploration = explore(bug.broken, runs=bug.runs, seed=seed)

    assert len(exploration.found) == 1, f"not within {bug.runs} runs"
    found = exploration.found[0]
    assert [each.option for each in found.deviations] == [bug.option] * bug.facts
    again = simulate(bug.broken, found.seed, found.deviations)
    assert again.digest == found.replay.digest
    assert again.failures == found.failures


@each_bug
def test_no_bug_shows_in_the_ordinary_run(bug: Bug) -> None:
    """Each one needs what it is said to need: without deviations everything holds."""
    assert simulate(bug.broken).failures == ()


@each_bug
def test_each_fact_is_needed(bug: Bug) -> None:
    """Leaving out any one deviation of a shrunk failure, nothing fails."""
    found = explore(bug.broken, runs=bug.runs).found[0]

    for left_out in found.deviations:
        rest = [each for each in found.deviations if each != left_out]
        assert simulate(bug.broken, found.seed, rest).ok, left_out.sentence


@each_bug
def test_the_repaired_twin_holds_under_the_same_runs(bug: Bug) -> None:
    """What finds the bug finds nothing once it is repaired, and did try something."""
    exploration = explore(bug.repaired, runs=bug.runs + len(SEEDS))

    assert exploration.found == ()
    assert exploration.distinct > 3
    assert all(struck > 0 for struck in exploration.faults.values())

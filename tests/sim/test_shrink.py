"""Shrinking keeps the failure, loses facts, and always ends at the same ones."""

import pytest

from durasim.sim import Failure, Job, RunResult, make_source, run_once
from durasim.sim.batch import play
from durasim.sim.ordinary import OrdinaryLog
from durasim.sim.shrink import Shrinker, cost, fails_like, kind_of

from ..quality.orders import three_preemptions
from .stories import leaking, mistaken, retried


def failing(seed: int) -> RunResult:
    """Return a failing run of `retried` with some deviations more than it needs."""
    for number in range(seed, seed + 200):
        source = make_source(
            "uniform", scenario=retried, seed=number, parameters={}, ordinary=OrdinaryLog.of(())
        )
        result = run_once(Job(scenario=retried, seed=number, source=source))
        if result.failures and len(result.deviations) > 3:
            return result
    raise AssertionError


def shrunk(result: RunResult, *, runs_max: int = 500) -> Shrinker:
    """Shrink *result*."""
    shrinker = Shrinker(
        result,
        kind_of(result.failures[0]),
        lambda source: Job(scenario=result.scenario, seed=result.seed, source=source),
        runs_max=runs_max,
    )
    play(shrinker.steps())
    return shrinker


@pytest.mark.parametrize("seed", [0, 300, 900])
def test_one_lost_reply_is_left_of_many_deviations(seed: int) -> None:
    """It is the first reply to one of the clients, and the run still fails."""
    shrinker = shrunk(failing(seed))

    assert shrinker.plan in [
        ((f"reply 1 of Tally/t.add to client-{client}", "lost"),) for client in range(2)
    ]
    assert fails_like(shrinker.best, ("scenario", "AssertionError"))


def test_the_same_failure_shrinks_to_the_same_facts_in_the_same_runs() -> None:
    """Nothing is drawn."""
    one, two = shrunk(failing(0)), shrunk(failing(0))

    assert one.best.digest == two.best.digest
    assert one.runs == two.runs


def test_shrinking_ends_when_its_runs_are_used_up() -> None:
    """The best so far stands, and still fails."""
    result = failing(0)
    shrinker = shrunk(result, runs_max=1)

    assert shrinker.runs == 1
    assert len(shrinker.plan) <= len(result.deviations)
    assert not shrinker.best.ok


def test_a_failure_of_the_ordinary_run_needs_no_facts() -> None:
    """What fails without any deviation is told so."""
    source = make_source("uniform", scenario=leaking, seed=2, parameters={}, ordinary=None)
    result = run_once(Job(scenario=leaking, seed=2, source=source))

    assert shrunk(result).plan == ()


def test_three_ordered_preemptions_stay_three() -> None:
    """Far more deviations lead to exactly the three that are needed, from several runs."""
    log = OrdinaryLog.of(())
    counts: list[int] = []
    for seed in (257, 404, 8495):
        source = make_source(
            "uniform", scenario=three_preemptions, seed=seed, parameters={}, ordinary=log
        )
        result = run_once(Job(scenario=three_preemptions, seed=seed, source=source))
        if result.failures:
            counts.append(len(shrunk(result, runs_max=1500).plan))
    assert set(counts) <= {3}


def test_another_error_of_a_scenario_is_another_failure() -> None:
    """A candidate that only makes the client give up does not stand for a wrong total."""
    assertion = Failure("scenario", "AssertionError: assert 1 == 2 (a.py:3)")

    assert kind_of(assertion) == ("scenario", "AssertionError")
    assert kind_of(Failure("scenario", "OutcomeUnknown (a.py:4)")) == ("scenario", "OutcomeUnknown")
    assert kind_of(Failure("never_negative", "it is -1")) == ("never_negative", "")


def test_facts_count_more_than_delays_and_delays_more_than_numbers() -> None:
    """The cost is compared part by part."""
    lost = (("reply 9 of A/a.m to c", "lost"),)
    behind = (("reply 1 of A/a.m to c", "behind"),)
    late = (("reply 1 of A/a.m to c", "10 ms late"),)

    assert cost(behind) < cost(lost) < cost(late) < cost(behind + lost)


def test_a_mistake_in_a_scenario_is_shrunk_like_any_failure() -> None:
    """Its error is the property `scenario`, told with its place."""
    runs = (
        run_once(
            Job(
                scenario=mistaken,
                seed=seed,
                source=make_source(
                    "swarm", scenario=mistaken, seed=seed, parameters={}, ordinary=None
                ),
            )
        )
        for seed in range(200)
    )
    result = next(result for result in runs if result.failures)

    assert result.failures[0].message.startswith("KeyError: 'nobody' (stories.py:")
    assert [option for _, option in shrunk(result).plan] == ["lost"]

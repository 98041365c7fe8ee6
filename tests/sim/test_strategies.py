"""Strategies are functions of a seed, and each tries what it says it tries."""

import pytest
from hypothesis import given, settings, strategies as st

from durasim.sim import (
    STRATEGIES,
    Job,
    Option,
    Ordinary,
    RunResult,
    Scenario,
    Site,
    Source,
    UnknownStrategy,
    hypothesis_source,
    make_source,
    run_once,
    simulate,
)
from durasim.sim.ordinary import OrdinaryLog
from durasim.sim.strategies import Aim

from .stories import retried, right


def ordinary_log(scenario: Scenario = retried) -> OrdinaryLog:
    """Return the ordinary run of *scenario*."""
    return OrdinaryLog.of(run_once(Job(scenario=scenario, seed=0, source=Ordinary(), log=True)).log)


def run(strategy: str, seed: int, scenario: Scenario = retried) -> RunResult:
    """Run once by *strategy*."""
    source = make_source(
        strategy, scenario=scenario, seed=seed, parameters={}, ordinary=ordinary_log(scenario)
    )
    return run_once(Job(scenario=scenario, seed=seed, source=source))


def test_an_unknown_strategy_names_the_known_ones() -> None:
    """The error is one line and says what there is."""
    with pytest.raises(UnknownStrategy, match="no strategy is called 'best'; there are ordinary"):
        make_source("best", scenario=right, seed=0, parameters={}, ordinary=None)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_gives_the_same_run(strategy: str) -> None:
    """A strategy is a function of seed, parameters and ordinary run."""
    for seed in range(6):
        assert run(strategy, seed).digest == run(strategy, seed).digest


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "ordinary"])
def test_other_seeds_give_other_runs(strategy: str) -> None:
    """Within ten seeds at least four runs differ."""
    assert len({run(strategy, seed).digest for seed in range(10)}) >= 4


def test_the_ordinary_strategy_never_deviates() -> None:
    """Its runs have no deviations, whatever the seed."""
    assert [run("ordinary", seed).deviations for seed in range(3)] == [(), (), ()]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_runs_without_an_ordinary_run(strategy: str) -> None:
    """What cannot aim draws instead."""
    source = make_source(strategy, scenario=retried, seed=3, parameters={}, ordinary=None)

    assert run_once(Job(scenario=retried, seed=3, source=source)).events > 0


def test_singles_takes_every_lost_reply_and_every_crash_once() -> None:
    """Turn 0 is the ordinary run; then each item of the ordinary run has its turn, in order."""
    log = ordinary_log()
    runs = [run("singles", seed) for seed in range(len(log.faults) + 1)]

    assert runs[0].deviations == ()
    planned = [(each.deviations[0].choice, each.deviations[0].option) for each in runs[1:]]
    assert planned == list(log.losses)
    assert {option for _, option in planned} == {
        "lost",
        "crash before",
        "crash after",
        "crash here",
    }


def test_singles_starts_over_after_the_last_item() -> None:
    """Run i of seed N takes item N + i, modulo their number."""
    count = len(ordinary_log().faults) + 1

    assert run("singles", count + 2).deviations == run("singles", 2).deviations


def test_singles_puts_events_behind_where_no_fault_may_strike() -> None:
    """A scenario without faults has single preemptions instead."""
    assert [each.option for each in run("singles", 1, right).deviations] == ["behind"]


def test_pct_plans_one_to_four_preemptions_in_turn() -> None:
    """Every one planned is an order choice of the ordinary run."""
    orders = set(ordinary_log(right).orders)
    for seed in range(12):
        deviations = run("pct", seed, right).deviations
        assert len(deviations) <= 4
        first = [each for each in deviations if each.option == "behind"]
        assert {each.choice for each in first} <= orders


def test_pct_tries_each_single_preemption_once() -> None:
    """Its turns of one take all order choices, far from each other, before one comes again."""
    log = ordinary_log(right)
    count = len(log.orders)
    tried = [run("pct", 4 * turn, right).deviations[0].choice for turn in range(count)]

    assert sorted(tried) == sorted(log.orders)
    assert tried != list(log.orders)


def test_rotation_takes_the_others_in_turn() -> None:
    """Its first run is the ordinary one, and all kinds of deviations come within 30."""
    options = {each.option for seed in range(30) for each in run("rotation", seed).deviations}

    assert run("rotation", 0).deviations == ()
    assert {"behind", "lost", "crash here"} <= options


def test_a_rate_leaves_out_what_the_plan_does_not_allow() -> None:
    """A site without options has rate 0; more options have more."""
    source = make_source("uniform", scenario=retried, seed=4, parameters={}, ordinary=None)
    moves = (Option("behind", "s"), Option("1 ms late", "s"))

    assert source.rate(Site("request", "x", ())) == 0
    assert 0 < source.rate(Site("request", "x", moves)) <= 0.9
    assert source.pick(Site("request", "x", moves), moves) in moves


@settings(max_examples=20, deadline=None, database=None)
@given(st.data())
def test_hypothesis_is_a_source_like_any_other(data: st.DataObject) -> None:
    """Whatever it draws, the run is one that its deviations give again."""
    result = run_once(Job(scenario=right, seed=1, source=hypothesis_source(data)))

    assert simulate(right, 1, result.deviations).digest == result.digest


def test_hypothesis_that_draws_zero_gives_the_ordinary_run() -> None:
    """The simplest example deviates nowhere."""

    class Zero:
        def draw(self, strategy: object, label: object = None) -> int:
            del strategy, label
            return 0

    assert run_once(Job(scenario=right, seed=1, source=hypothesis_source(Zero()))).deviations == ()


def test_rotation_gives_the_turns_of_singles_to_pct_when_all_are_tried() -> None:
    """Every turn of `pct` comes once, in order, whichever place it has."""
    turns: list[int] = []

    def noted(aim: Aim) -> Source:
        turns.append(aim.turn)
        return Ordinary()

    log = OrdinaryLog(("request 1 of A/a.m by b",), (("reply 1 of A/a.m to b", "lost"),), (), ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, "pct", noted)
        for seed in range(60):
            make_source("rotation", scenario=right, seed=seed, parameters={}, ordinary=log)

    assert turns == list(range(2 * 3 + 8 * 4))

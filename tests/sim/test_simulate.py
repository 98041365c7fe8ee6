"""`simulate` is one run, its verdict, and the line that runs it again."""

import subprocess
import sys
from contextlib import suppress

import pytest

from durasim.actors import OutcomeUnknown
from durasim.sim import (
    Deviation,
    Failure,
    LoseReply,
    Scenario,
    UnknownMutant,
    UnknownParameter,
    UnknownStrategy,
    World,
    explore,
    scenario,
    simulate,
)
from durasim.sim.simulate import setting

from .stories import Tally, adding, retried, right

LOST = ("reply 1 of Tally/t.add to client-0", "lost")


def test_the_ordinary_run_is_the_default() -> None:
    """Nothing deviates, and everything held."""
    report = simulate(right)

    assert report.ok
    assert (report.failures, report.deviations, report.sentences) == ((), (), ())
    assert len(report.digest) == 64
    assert report.rows[0].number == 1


def test_deviations_are_followed_exactly() -> None:
    """As pairs or as they were reported: the same run."""
    report = simulate(retried, 5, [LOST])

    assert not report.ok
    assert report.sentences == ("reply 1 of Tally/t.add to client-0 is lost",)
    assert report.failures[0].property == "scenario"
    again = simulate(retried, 5, report.deviations)
    assert (again.digest, again.failures) == (report.digest, report.failures)
    assert report.unused == ()


def test_deviations_that_never_come_up_are_named() -> None:
    """The run goes on without them, and fails: it is not the one that was asked for."""
    gone = Deviation("reply 99 of Tally/t.add to nobody", "lost", "")
    report = simulate(retried, 0, [gone])

    assert report.unused == (gone.choice,)
    assert report.result.ok
    assert not report.ok
    assert report.failures == (
        Failure(
            "replay",
            "reply 99 of Tally/t.add to nobody: the choice never came up, "
            "so the run is not the one asked for",
        ),
    )
    (failure,) = simulate(retried, 0, [(LOST[0], "eaten")]).failures
    assert "the choice did not have that option" in failure.message


@pytest.mark.parametrize("option", ["lost", "behind"])
def test_a_name_with_braces_stands_in_the_sentence_as_it_is(option: str) -> None:
    """Only the number of the choice is filled in, by a fault as by a move."""

    @scenario(faults=(LoseReply(),))
    async def braced(world: World) -> None:
        with suppress(OutcomeUnknown):
            await world.client("{n}").get(Tally, "{n}{call}").add(1)

    report = simulate(braced, 0, [("reply 1 of Tally/{n}{call}.add to {n}", option)])

    assert report.unused == ()
    assert report.sentences[0].startswith("reply 1 of Tally/{n}{call}.add to {n} ")


def test_a_strategy_gives_the_run_that_exploration_has() -> None:
    """Run i of seed N is the run of seed N + i alone."""
    found = explore(retried, runs=50, shrink=False).found[0]
    report = simulate(retried, found.seed, strategy="rotation")

    assert report.digest == found.replay.digest
    assert report.failures == found.failures


def test_parameters_are_drawn_by_the_seed_unless_they_are_given() -> None:
    """The report says with which ones it ran."""
    drawn = {simulate(right, seed).result.parameters["clients"] for seed in range(8)}

    assert drawn == {1, 2}
    assert simulate(right, parameters={"clients": 5}).result.parameters == {"clients": 5}


def test_the_command_that_reproduces_it_names_everything() -> None:
    """Scenario, seed, strategy, parameters; for given deviations it is a call."""
    report = simulate(right, 3, strategy="pct", parameters={"clients": 2})

    assert report.reproduce == (
        "durasim run tests/sim/stories.py:right --seed 3 --strategy pct --set clients=2"
    )
    called = simulate(retried, 5, [LOST], parameters={}).reproduce
    assert called == f"simulate(retried, seed=5, deviations=[{LOST!r}])"
    assert simulate_again(called)


def simulate_again(call: str) -> bool:
    """Whether the line runs as it is printed, and fails as it did."""
    return not eval(call, {"simulate": simulate, "retried": retried}).ok


def test_what_is_unknown_is_refused_before_anything_runs() -> None:
    """Strategy, parameter, mutant, and names that are no choices: one line each."""
    with pytest.raises(UnknownStrategy, match="no strategy is called 'none'"):
        simulate(right, strategy="none")
    with pytest.raises(UnknownParameter, match="right has no parameter 'other'; it has clients"):
        simulate(right, parameters={"other": 1})
    with pytest.raises(UnknownMutant, match="no mutant is called 'none'"):
        simulate(right, mutant="none")
    with pytest.raises(ValueError, match="'nonsense' is not the name of a choice"):
        simulate(right, deviations=[("nonsense", "lost")])


async def test_inside_of_trio_it_says_what_to_do() -> None:
    """It runs trio itself."""
    with pytest.raises(RuntimeError, match="call it from a plain function"):
        simulate(right)


def test_a_parameter_may_be_one_of_the_story_alone() -> None:
    """Whatever the story takes by name can be given."""

    async def story(world: object, *, size: int = 3) -> None:
        del world
        assert size == 3

    alone = Scenario("alone", story)
    assert simulate(alone).ok
    assert not simulate(alone, parameters={"size": 4}).ok


def test_a_story_without_a_name_is_told_by_its_own() -> None:
    """A scenario made inside of a function has no path."""

    @scenario()
    async def local(world: object) -> None:
        del world

    assert simulate(local).reproduce == "durasim run local --seed 0 --strategy ordinary"
    assert adding.__name__ == "adding"


def test_another_process_with_another_hash_seed_has_the_same_digest() -> None:
    """The order of sets and of hashes decides nothing."""
    code = (
        "from tests.sim.stories import retried; from durasim.sim import simulate;"
        "print(simulate(retried, 7, strategy='uniform').digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "77")
    }

    assert digests == {simulate(retried, 7, strategy="uniform").digest + "\n"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), ("3", '"3"'), ("wire", "wire"), (True, "true"), (None, "null"), ([1], "[1]")],
)
def test_a_parameter_is_written_as_the_command_line_reads_it(value: object, text: str) -> None:
    """A text that looks like JSON is quoted; a value without JSON is shown as Python writes it."""
    assert setting(value) == text
    assert setting({1, 2}) == "{1, 2}"

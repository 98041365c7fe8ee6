"""Parts of a batch: run i is the same run in whatever part."""

from durasim.sim.batch import Batch, Runner, Tally, parameters_of

from .stories import retried, right, vacuous


def batch(**rest: object) -> Batch:
    """Return a batch of `right`."""
    given: dict[str, object] = {
        "scenario": right,
        "seed": 0,
        "strategy": "rotation",
        "parameters": {},
        "mutant": None,
        "keep_going": False,
    }
    return Batch(**{**given, **rest})  # type: ignore[arg-type]


def counted(tally: Tally) -> tuple[object, ...]:
    """Return what a tally says."""
    return tally.runs, tally.digests, tally.struck, tally.reached, tally.kinds


def test_a_part_ends_at_its_first_failure() -> None:
    """Unless it is told to keep going."""
    ended = Runner(batch(scenario=retried)).part(0, 40)
    whole = Runner(batch(scenario=retried, keep_going=True)).part(0, 40)

    assert ended.runs == ended.failed[0].run + 1
    assert whole.runs == 40
    assert whole.failed[0].run == ended.failed[0].run
    assert sum(whole.kinds.values()) > 1


def test_parts_join_to_the_whole() -> None:
    """Two parts in a row are one."""
    runner = Runner(batch(scenario=vacuous, keep_going=True))
    joined = runner.part(0, 5)
    joined.join(runner.part(5, 7))

    assert counted(joined) == counted(runner.part(0, 12))
    assert joined.reached == {"it_counts": True, "it_counts_to_a_million": False}


def test_time_ends_a_part_after_one_run() -> None:
    """A part of no time is one run, so that every part goes on."""
    assert Runner(batch()).part(0, 50, time_s=0.0).runs == 1


def test_parameters_are_drawn_unless_they_are_given() -> None:
    """By the seed, one of the values each."""
    assert parameters_of(right, 0, {"clients": 9}) == {"clients": 9}
    assert {parameters_of(right, seed, {})["clients"] for seed in range(9)} == {1, 2}

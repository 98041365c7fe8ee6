"""A failure in sentences."""

from durasim.sim.report import Told, tell, told_of, what_happened

from .drawn import clicks, ran


def lines(told: Told) -> list[str]:
    """Return the sentences as text."""
    return [line.plain for line in tell(told)]


TOLD = Told(
    scenario="clicks",
    property="counted",
    message="2 clicks, and the total is 3",
    sentences=["reply 1 is lost", "commit 2 takes 1 s"],
    seed=7,
    parameters={"clients": 2},
    shrunk_from=9,
    command="durasim replay clicks-7.json",
)


def test_a_failure_is_told_in_order() -> None:
    """What does not hold, what was seen, when, from where, and how to see it again."""
    assert lines(TOLD) == [
        "✗ clicks: counted does not hold",
        "  2 clicks, and the total is 3",
        "",
        "  It happens when",
        "  1. reply 1 is lost",
        "  2. commit 2 takes 1 s",
        "",
        "  seed 7, clients = 2, 2 of 9 deviations left after shrinking",
        "  again: durasim replay clicks-7.json",
    ]


def test_the_ordinary_run_is_called_so() -> None:
    """Without deviations there is nothing to list; without a command there is none."""
    told = Told(scenario="s", property="p", message="m", sentences=[], seed=0)

    assert lines(told) == [
        "✗ s: p does not hold",
        "  m",
        "",
        "  It happens in the ordinary run: nothing has to go wrong.",
        "",
        "  seed 0",
    ]


def test_messages_of_several_lines_stay_readable_and_harmless() -> None:
    """Each line is told; what would move the cursor is written out."""
    told = Told(scenario="s", property="p", message="a\nb\x1b[2J", sentences=[], seed=0)

    assert lines(told)[1:3] == ["  a", "  b\\x1b[2J"]


def test_a_run_tells_its_own_failure() -> None:
    """Scenario, seed, parameters and sentences come from the run."""
    result = ran(clicks, [("reply 1 of Counter/c.increment to client-0", "lost")], clients=1)
    told = told_of(result, result.failures[0], command="again")

    assert told.scenario == "clicks"
    assert told.property == "scenario"
    assert told.sentences == ["reply 1 of Counter/c.increment to client-0 is lost"]
    assert told.parameters == {"clients": 1}
    chart = [line.plain for line in what_happened(result, width=80)]
    assert any("reply lost" in line for line in chart)

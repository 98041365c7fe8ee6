"""The chart for terminals: what it shows, how it fits, and what it leaves out."""

import io

import attrs
import pytest
from rich.cells import cell_len
from rich.console import Console

from durasim.sim.chart import chart, kept_steps
from durasim.sim.diagram import Diagram, Step

from .drawn import clicks, drawn


def plain(diagram: Diagram, *, width: int = 80, steps_max: int | None = 60) -> list[str]:
    """Return the lines of the chart as text."""
    return [line.plain for line in chart(diagram, width=width, steps_max=steps_max)]


def steps(count: int, *marked: int) -> tuple[Step, ...]:
    """Make *count* notes of `a`, some of them marked."""
    return tuple(
        Step(number=n, time_us=n, source="a", text=f"note {n}", is_marked=n in marked)
        for n in range(count)
    )


def notes(*found: Step, names: tuple[str, ...] = ("a",)) -> Diagram:
    """Make a diagram of *found*."""
    return Diagram(participants=names, objects=frozenset(), steps=found, is_cut=False)


def test_a_lost_reply_reads_like_a_story() -> None:
    """The chart that a newcomer sees first, letter by letter."""
    lost = ("reply 2 of Counter/c.increment to client-0", "lost")

    assert (
        plain(drawn(clicks, [lost], clients=1, each=2))
        == """\
time  client-0                             Counter/c
      ┬───────                             ┬────────
 0 s  │─────────── increment() ───────────▶┃
      │                                    ┃ ● total = 1
      │◀──────────────── 1 ────────────────│
      │─────────── increment() ───────────▶┃
      │                                    ┃ ● total: 1 → 2
      │  ✗────────── reply lost ───────────│
10 s  │                                    ┆ ● is evicted
30 s  │ ✗ no reply within 30 s             ┆
      ── ✗ scenario: OutcomeUnknown: Counter/c: no reply within… (drawn.py:58) ─""".splitlines()
    )


def test_a_message_that_is_late_hangs_in_the_air() -> None:
    """It leaves in one line and arrives in another, each with its own end."""
    late = ("request 1 of Counter/c.increment by client-0", "10 ms late")
    lines = plain(drawn(clicks, [late], clients=1, each=1))

    assert (
        lines[2:5]
        == """\
   0 s  │──── increment() [10 ms late] ┄┄┄  ┆
0.01 s  │┄┄┄┄ increment() [10 ms late] ────▶┃
        │                                   ┃ ● total = 1""".splitlines()
    )


@pytest.mark.parametrize("width", [40, 41, 60, 80, 140, 300])
@pytest.mark.parametrize("clients", [1, 3, 12])
def test_no_line_is_wider_than_the_terminal(width: int, clients: int) -> None:
    """Whatever the width and however many participants there are."""
    lost = ("reply 1 of Counter/c.increment to client-0", "lost")
    lines = plain(drawn(clicks, [lost], clients=clients), width=width)

    assert max(map(cell_len, lines)) <= width
    assert any("✗" in line for line in lines)


def test_many_participants_share_a_lane_unless_a_deviation_touches_them() -> None:
    """Whoever was struck keeps a lane of its own, the rest is counted and still named."""
    lost = ("reply 2 of Counter/c.increment to client-9", "lost")
    lines = plain(drawn(clicks, [lost], clients=12), width=80, steps_max=None)

    assert "client-9" in lines[0]
    assert "Counter/c" in lines[0]
    assert "others" in lines[0]
    assert any("client-10: " in line for line in lines[1:])


def test_the_boring_middle_is_counted() -> None:
    """Marks and their surroundings stay, and the two ends."""
    kept = kept_steps(steps(100, 50), 12)

    assert len(kept) == 12
    assert {48, 49, 50, 51, 52} <= set(kept)
    assert kept[0] == 0
    assert kept[-1] == 99

    lines = plain(notes(*steps(100, 50)), steps_max=12)
    counted = [int(line.split()[-3]) for line in lines if line.endswith("steps more")]
    assert sum(counted) == 88
    assert len(lines) == 2 + 12 + len(counted)


def test_verdicts_are_kept_before_anything_else() -> None:
    """A failure at the end is shown even if everything is marked."""
    verdict = Step(number=200, time_us=200, source="", text="✗ broken", is_marked=True)
    everything = (*steps(200, *range(200)), verdict)

    assert kept_steps(everything, 5) == [0, 1, 2, 3, 200]


def test_all_steps_are_drawn_when_asked() -> None:
    """None means no bound."""
    lines = plain(notes(*steps(500)), steps_max=None)

    assert len(lines) == 502
    assert lines[-1].endswith("● note 499")


def test_an_empty_run_says_so() -> None:
    """A scenario that does nothing has a chart of one line."""
    assert plain(notes()) == ["nothing happened"]


def test_time_stands_only_where_it_moves() -> None:
    """Two steps of one instant show it once."""
    found = [
        Step(number=n, time_us=t, source="a", text="x") for n, t in enumerate((0, 0, 1_500_000))
    ]

    assert [line.partition("│")[0].strip() for line in plain(notes(*found))[2:]] == [
        "0 s",
        "",
        "1.5 s",
    ]


def test_calls_of_oneself_have_an_arrow_of_their_own() -> None:
    """There is no room for a line from a lane to itself."""
    step = Step(number=1, time_us=0, source="a", target="a", arrow="whole", text="f()")

    assert plain(notes(step))[2] == "0 s  │ ↺ f()"


def test_wide_characters_keep_the_lanes_straight() -> None:
    """A character of two cells takes two, a name that is too long is cut."""
    step = Step(number=1, time_us=0, source="日本", target="b" * 90, arrow="whole", text="日本()")
    lines = plain(notes(step, names=("日本", "b" * 90)), width=60)

    assert cell_len(lines[2].partition("▶")[0]) == cell_len(lines[0].partition("b")[0]) - 1
    assert cell_len(lines[0]) <= 60
    assert lines[0].endswith("…")


def test_a_long_method_is_cut_within_its_arrow() -> None:
    """The head of the arrow stays."""
    step = Step(number=1, time_us=0, source="a", target="b", arrow="whole", text="x" * 90)
    line = plain(notes(step, names=("a", "b")), width=60)[2]

    assert "…" in line
    assert line.count("▶") == 1


def test_text_of_the_run_is_never_markup() -> None:
    """Brackets of a user's text are shown, not obeyed."""
    step = Step(number=1, time_us=0, source="a", text="[red]x[/red] :smile:")
    console = Console(file=io.StringIO(), width=80, markup=False, emoji=False)
    for line in chart(notes(step)):
        console.print(line)

    assert "[red]x[/red] :smile:" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_forgotten_beginning_is_said() -> None:
    """A long run keeps the end of its trace only."""
    diagram = Diagram(participants=("a",), objects=frozenset(), steps=steps(1), is_cut=True)

    assert "the beginning of the trace is no longer there" in plain(diagram)[2]


def test_whoever_only_calls_stands_left_of_the_objects() -> None:
    """Also where several of them share a lane."""
    lost = ("reply 1 of Counter/c.increment to client-0", "lost")
    heading = plain(drawn(clicks, [lost], clients=5), width=70)[0]

    assert heading.index("others") < heading.index("client-0") < heading.index("Counter/c")


def test_times_are_shown_to_the_millisecond() -> None:
    """What is nearer than that has one time."""
    found = [
        Step(number=n, time_us=time_us, source="a", text=f"note {n}")
        for n, time_us in enumerate((2_123_456, 2_123_457, 2_124_600))
    ]

    assert [line.partition("│")[0].strip() for line in plain(notes(*found))[2:]] == [
        "2.123 s",
        "",
        "2.125 s",
    ]


def test_the_place_of_a_failure_is_kept() -> None:
    """Whatever is cut before it; a place that would fill the line is cut as well."""
    end = Step(number=2, time_us=0, source="", text=f"✗ {'x' * 90} (story.py:7)", is_marked=True)
    note = Step(number=1, time_us=0, source="a", text="note")
    long = attrs.evolve(end, text=f"✗ {'x' * 90} ({'y' * 60}.py:7)")

    assert plain(notes(note, end))[-1].rstrip(" ─").endswith("x… (story.py:7)")
    assert plain(notes(note, long))[-1].rstrip(" ─").endswith("x…")


def test_a_run_without_participants_has_no_chart() -> None:
    """One line says so."""
    end = Step(number=1, time_us=0, source="", text="✗ scenario: no", is_marked=True)

    assert plain(notes(end, names=())) == ["nobody called anybody"]

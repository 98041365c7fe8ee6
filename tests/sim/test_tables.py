"""Tables of the command line."""

import io

from rich.console import Console, RenderableType

from durasim.hosts import InspectedKey, InspectedObject, Inspection
from durasim.sim.tables import inspection, measure_table, sometimes_table, struck_table
from durasim.wire import Address


def plain(renderable: RenderableType, width: int = 80) -> list[str]:
    """Print for a file, and return the lines without blanks at their ends."""
    kept = io.StringIO()
    Console(file=kept, width=width).print(renderable)
    return [line.rstrip() for line in kept.getvalue().splitlines()]


def test_faults_and_states_have_a_line_each() -> None:
    """How often, and whether at all."""
    assert plain(struck_table({"reply lost": 12, "crash": 0}))[2:] == [
        "reply lost       12",
        "crash             0",
    ]
    assert plain(sometimes_table({"full": True, "empty": False}))[2:] == [
        "full        yes",
        "empty       never",
    ]


def test_measures_show_what_was_not_measured() -> None:
    """Large numbers without digits that mean nothing."""
    row = {"unit": "us", "yardstick": None, "ratio": None, "least": 0.5, "met": None}
    (line,) = plain(measure_table([{"name": "a", "value": 12345.6, **row}]))[2:]

    assert line.split() == ["a", "12346", "us", "-", "-", "0.5", "not", "measured"]


def test_a_long_title_is_broken_within_its_column() -> None:
    """Nothing is lost on a narrow terminal."""
    lines = plain(struck_table({"x" * 50: 1}), width=30)

    assert max(map(len, lines)) <= 30
    assert "".join(lines).count("x") == 50


def test_stored_text_moves_no_cursor() -> None:
    """Keys and values of a file come from anywhere."""
    key = InspectedKey(key="a\x1b[2J", size=1, text="[red]\n", is_readable=True)
    found = Inspection(
        path="f.db",
        is_open=True,
        objects=(
            InspectedObject(address=Address("C", "n"), keys=(key,), alarm=1_767_225_600_000_000),
            InspectedObject(address=Address("C", "o"), keys=(), alarm=2**62),
        ),
    )
    lines = plain(inspection(found))

    assert lines[0] == "f.db: 2 objects, open in a host"
    assert lines[3] == "  a\\x1b[2J  [red]\\n"
    assert lines[4] == "  alarm     2026-01-01 00:00:00+00:00"
    assert "us since 1970" in lines[-1]

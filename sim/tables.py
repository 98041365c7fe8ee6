"""Tables of the command line: what there is, what was tried, what came out."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..hosts import Inspection
from .wording import cut, visible

__all__ = [
    "inspection",
    "kill_table",
    "measure_table",
    "scenario_table",
    "sometimes_table",
    "struck_table",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """Begin a table without frames; the columns in *numbers* stand to the right."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    right = frozenset(numbers)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def struck_table(faults: Mapping[str, int]) -> Table:
    """Which faults struck how often."""
    made = table("fault", "struck", numbers=["struck"])
    for title, count in faults.items():
        style = "" if count else "yellow"
        made.add_row(Text(visible(title), style), Text(str(count), style))
    return made


def sometimes_table(sometimes: Mapping[str, bool]) -> Table:
    """Which states that must be reached were reached."""
    made = table("sometimes", "reached")
    for name, reached in sometimes.items():
        made.add_row(
            Text(visible(name)), Text("yes" if reached else "never", "" if reached else "red")
        )
    return made


def scenario_table(system: str, rows: Iterable[tuple[str, str]]) -> RenderableType:
    """The scenarios of one system: name and title."""
    made = Table.grid(padding=(0, 2, 0, 0))
    for name, title in rows:
        made.add_row(Text(visible(name), "bold"), Text(visible(title)))
    return Group(Text(visible(system)), Padding(made, (0, 0, 0, 2), expand=False))


def kill_table(rows: Iterable[Mapping[str, object]]) -> Table:
    """The mutants of a system: who was killed by which property after how many runs."""
    made = table("mutant", "scenario", "killed by", "runs", "without its fault", numbers=["runs"])
    for row in rows:
        killed = row["killed"]
        silent = row["silent_without_fault"]
        by = str(row["property"]) if row["property"] is not None else "nothing"
        made.add_row(
            Text(visible(str(row["name"]))),
            Text(visible(str(row["scenario"]))),
            Text(
                visible(by if killed else f"{by}: not expected" if row["property"] else by),
                "" if killed else "red",
            ),
            str(row["runs"]),
            Text(
                "-" if silent is None else "silent" if silent else "not silent",
                "red" if silent is False else "",
            ),
        )
    return made


def measure_table(measures: Iterable[Mapping[str, object]]) -> Table:
    """Measures against their yardsticks."""
    columns = ("value", "unit", "yardstick", "ratio", "least")
    made = table("measure", *columns, "met", numbers=("value", "yardstick", "ratio", "least"))
    for row in measures:
        met = row["met"]
        words = "not measured" if met is None else "yes" if met else "no"
        made.add_row(
            Text(visible(str(row["name"]))),
            *(_number(row[column]) for column in columns),
            Text(words, "red" if met is False else ""),
        )
    return made


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return "-" if value is None else str(value)


def inspection(found: Inspection) -> RenderableType:
    """The objects of a host's file, with keys and alarms."""
    state = "open in a host" if found.is_open else "closed"
    count = len(found.objects)
    parts: list[RenderableType] = [
        Text(visible(f"{found.path}: {count} {'object' if count == 1 else 'objects'}, {state}"))
    ]
    for each in found.objects:
        parts += [Text(), Text(visible(str(each.address)), "bold")]
        keys = Table.grid(padding=(0, 2, 0, 0))
        for entry in each.keys:
            value = Text(visible(entry.text), "" if entry.is_readable else "yellow")
            keys.add_row(Text(visible(entry.key)), value)
        if each.alarm is not None:
            keys.add_row(Text("alarm", "italic"), _instant(each.alarm))
        parts.append(Padding(keys, (0, 0, 0, 2), expand=False))
    return Group(*parts)


def _instant(time_us: int) -> str:
    try:
        return (EPOCH + timedelta(microseconds=time_us)).isoformat(sep=" ")
    except OverflowError:
        return cut(f"{time_us} us since 1970", 60)

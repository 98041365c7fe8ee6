"""The legends in docs/ are complete and true."""

import inspect
import re

from durasim import wire
from durasim.actors import errors as inside
from durasim.sim.choices import Option
from durasim.sim.faults import KINDS
from durasim.sim.network import DELAYS_US, moves
from durasim.wire import CODES, ErrorCode, nothing_ran, outcomes

from .legends import (
    FAULTS,
    TABLES,
    first_cells,
    kinds_in,
    kinds_said,
    options_of,
    with_tables,
)
from .tidy import ROOT

OUTCOMES = (ROOT / "docs" / "outcomes.md").read_text()
TRACE = (ROOT / "docs" / "trace.md").read_text()


def test_a_kind_is_found_where_it_is_said() -> None:
    """The search sees rows, ends of incarnations and ends of programs, and no set."""
    source = (
        'trace.add("request", caller, 0)\nself.close("gone")\nself._finish("done", None)\n'
        'seen.add("nothing")\nself.probe.event("start", self.name, 1)\nself.close()\n'
    )

    assert list(kinds_said(source)) == ["request", "gone", "done", "start"]


def test_the_legend_of_the_trace_is_complete() -> None:
    """Each kind of row that the code makes stands in docs/trace.md, and no other."""
    assert sorted(first_cells(TRACE, "kind")) == sorted(kinds_in(ROOT))


def test_the_tables_of_faults_are_those_of_the_code() -> None:
    """`python -m tests.legends` would change nothing."""
    text = FAULTS.read_text()

    assert text == with_tables(text)
    assert all(f"<!-- table: {name} -->" in text for name in TABLES)


def test_each_fault_can_strike_where_it_says() -> None:
    """No fault is without an option, at every kind of site that it names."""
    silent = [
        (kind.__name__, site)
        for kind in KINDS
        for site in kind.kinds
        if site not in {where for where, _ in options_of(kind)}
    ]

    assert silent == []


def test_the_moves_are_all_named() -> None:
    """Options of order and delay stand in docs/faults.md."""
    options: tuple[Option, ...] = moves("a reply")
    shown = first_cells(FAULTS.read_text(), "option")

    assert [option.name for option in options] == shown
    assert set(DELAYS_US) <= set(shown)


def test_each_outcome_stands_under_what_is_true_then() -> None:
    """The section of an error says the same as the table of codes."""
    sections = dict(re.findall(r"^## ([^\n:]+)[^\n]*\n(.*?)(?=^## |\Z)", OUTCOMES, re.M | re.S))
    for code in ErrorCode:
        if code in (ErrorCode.EXCEPTION, ErrorCode.FOREIGN_EXCEPTION):
            continue
        name = "".join(word.capitalize() for word in code.name.split("_"))
        where = "Refused" if nothing_ran(code) else "Failed"
        if code is ErrorCode.OUTCOME_UNKNOWN:
            where = "Uncertain"

        assert name in first_cells(sections[where], "error"), (name, where)
    assert {int(code) for code in ErrorCode} <= set(CODES)


def test_each_error_is_told() -> None:
    """Whatever `wire` and `actors` can raise at somebody stands in docs/outcomes.md."""
    raised = [
        name
        for module in (outcomes, inside)
        for name, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, BaseException) and value.__module__ == module.__name__
    ]

    assert [name for name in raised if f"`{name}`" not in OUTCOMES] == []
    assert wire.UnsendableValue.__name__ in OUTCOMES

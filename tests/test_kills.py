"""The kill tables are of the mutants that are there, and each of them is found everywhere."""

import pytest

from durasim.sim import Mutant, find_mutant

from . import kills
from .kills import NAMES, RUNS, SEEDS, described, recorded, system_of

each_system = pytest.mark.parametrize("name", NAMES)


@each_system
def test_each_mutant_has_its_row(name: str) -> None:
    """It has its story, a property it expects, and a run from each base seed."""
    rows, mutants = recorded(name), system_of(name).mutants

    assert list(rows) == [each.name for each in mutants]
    for mutant in mutants:
        row = rows[mutant.name]
        assert row.story == described(mutant)
        assert row.reported in mutant.expected
        assert row.calm == ("silent" if mutant.needs_fault else "-")
        assert len(row.runs) == len(SEEDS)
        assert all(1 <= int(run) <= RUNS for run in row.runs)


@each_system
def test_a_table_is_read_as_it_was_written(name: str) -> None:
    """Rows that are read and written again are the text that stands there."""
    rows = recorded(name)
    assert kills.document(name).read_text().endswith("\n\n" + kills.written(list(rows.values())))


def test_stretches_have_no_gap() -> None:
    """Neighbours are one stretch."""
    assert kills.stretches({4, 2, 3, 10_000}) == [(2, 3), (10_000, 1)]


def mutant_of(name: str, *expected: str) -> Mutant:
    """Return a registered mutant, and what it expects replaced."""
    found = find_mutant(name)
    return Mutant(
        found.name, found.target, found.replacement, found.scenario, expected or found.expected,
        parameters=found.parameters, needs_fault=found.needs_fault,
    )  # fmt: skip


def test_a_mutant_is_measured_from_every_base_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row names the property and the runs."""
    monkeypatch.setattr(kills, "CALM_RUNS", 2)
    row = kills.killed(mutant_of("late_end_receipt"))

    assert row.reported in {"INV-32", "INV-36"}
    assert all(1 <= int(run) <= RUNS for run in row.runs)


def test_what_only_another_property_reports_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that breaks something else does not count."""
    monkeypatch.setattr(kills, "RUNS", 3)
    assert kills.first_found(mutant_of("late_end_receipt", "INV-01"), 0)[1] == 0


def test_a_mutant_that_fails_without_its_fault_has_no_row() -> None:
    """What says that it needs a fault, and does not, is no such mutant."""
    found = mutant_of("late_end_receipt")
    loud = Mutant(
        found.name,
        found.target,
        found.replacement,
        found.scenario,
        found.expected,
        needs_fault=True,
    )
    with pytest.raises(AssertionError, match="without its fault"):
        kills.killed(loud)


@pytest.mark.parametrize("words", [(), ("crowd",), ("fleet", "no_such_mutant")], ids=str)
def test_what_is_not_there_is_not_measured(words: tuple[str, ...]) -> None:
    """The status is 2, and nothing is written."""
    assert kills.main(words) == 2

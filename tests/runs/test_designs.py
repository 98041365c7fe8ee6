"""What never began comes back, or not: the property that tells the sealer from the others."""

import ast
import re

import pytest

from durasim.sim import explore
from durasim.sim.runs.designs import COMPARISONS, each_key_comes_back, never_stuck

from ..tidy import ROOT

RECORD = (ROOT / "docs/findings/soak-runs.md").read_text()


@pytest.mark.parametrize("design", ["router", "holder"])
def test_a_lost_message_strands_a_key_of_the_other_designs(design: str) -> None:
    """The property sees it, and nothing else fails."""
    exploration = explore(
        never_stuck, runs=100, strategy="swarm", parameters={"design": design}, shrink=False
    )

    (found,) = exploration.found
    assert found.property == each_key_comes_back.name


def test_the_sealer_strands_none() -> None:
    """In the same runs."""
    exploration = explore(
        never_stuck, runs=40, strategy="swarm", parameters={"design": "sealer"}, shrink=False
    )

    assert exploration.found == ()
    assert sum(exploration.faults.values()) > 0


def test_a_comparison_names_each_design_once() -> None:
    """Each either fails or holds."""
    for each in COMPARISONS:
        designs = [*each.fails, *each.holds]
        assert len(set(designs)) == len(designs)
        assert set(designs) <= {"router", "holder", "sealer"}


def rows(first: str) -> list[list[str]]:
    """Return the rows of the recorded table whose first column is called *first*."""
    (table,) = re.findall(rf"^\| {first} \|.*\n\|[ :|-]+\|\n((?:\|.*\n)+)", RECORD, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def number(cell: str) -> int:
    """Read a count."""
    return int(ast.literal_eval(cell.replace(",", "")))


def test_the_record_is_whole_and_says_that_all_held() -> None:
    """Its sums are those of its rows, no run failed that may not, and no bar was missed."""
    *stories, total = rows("story")
    kinds, compared = rows("fault"), rows("compared")

    for column in range(1, 5):
        assert sum(number(row[column]) for row in stories) == number(total[column])
    assert number(total[4]) == 0
    assert sum(number(row[1]) for row in kinds) == number(total[3])
    for row in compared:
        assert (number(row[3]) > 0) == (row[4] == "fail"), row
    assert re.search(r"^- ✓ [\d,]+ runs of \d+ stories held", RECORD, re.MULTILINE)
    assert "✗" not in RECORD

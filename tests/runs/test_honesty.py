"""Every property of the system `runs` can fail: a mutant or a test makes it report."""

import ast
from typing import Any

import attrs
import pytest

from durasim.sim import Property, explore
from durasim.sim.runs import SYSTEM, scenarios

from ..tidy import ROOT

PROPERTIES: list[Property[Any]] = [
    *{
        each.name: each
        for each in (
            *SYSTEM.properties,
            *(each for scenario in SYSTEM.scenarios for each in scenario.properties),
        )
    }.values()
]
"""What must hold, anywhere in the system."""
MUST_HOLD = [each for each in PROPERTIES if each.when != "sometimes"]
MUST_COME = [each for each in PROPERTIES if each.when == "sometimes"]
REJECTED_BY: dict[str, str] = {
    "a claim that is left is in the log": "test_promises.py::test_a_hushed_up_release_is_found",
    "each claim goes back for its own cause": (
        "test_promises.py::test_a_refusal_long_ago_is_no_cause_to_give_a_claim_back"
    ),
}
"""Properties that no mutant of the system is to break, and the test that shows each failing."""


def named(each: Property[Any]) -> str:
    """Return what a test calls a property."""
    return each.name


def functions_of(file: str) -> set[str]:
    """Return the names of the functions of a file of tests."""
    nodes = ast.walk(ast.parse((ROOT / "tests/runs" / file).read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("each", MUST_HOLD, ids=named)
def test_property_can_fail(each: Property[Any]) -> None:
    """Some mutant must be reported by it, which the kill table shows, or a test rejects it."""
    reported = {name for mutant in SYSTEM.mutants for name in mutant.expected}
    if each.name in reported:
        return
    file, _, test = REJECTED_BY[each.name].partition("::")
    assert test in functions_of(file)


def test_what_is_rejected_by_a_test_needs_it() -> None:
    """No property is in the list that a mutant breaks, or that is none."""
    reported = {name for mutant in SYSTEM.mutants for name in mutant.expected}

    assert set(REJECTED_BY) <= {each.name for each in MUST_HOLD} - reported


@pytest.mark.parametrize("each", MUST_COME, ids=named)
def test_what_must_come_can_stay_away(each: Property[Any]) -> None:
    """What some run must reach is told as missing where no run does."""
    story = attrs.evolve(scenarios.unkeyed, properties=(each,))

    exploration = explore(
        story, runs=1, strategy="ordinary",
        parameters={"topology": "objects", "design": "router"},
    )  # fmt: skip

    assert [failure.property for failure in exploration.unreached] == [each.name]

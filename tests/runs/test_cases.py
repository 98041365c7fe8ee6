"""Every numbered case, each loss and each answer is shown on the topologies and designs it is of.

A story is told without faults, and then once for every single place in which a fault of its plan
may strike: so the one loss that a case is about is among them, whichever it is.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from durasim.sim import Job, Ordinary, Recorded, RunResult, Scenario, run_once
from durasim.sim.ordinary import OrdinaryLog
from durasim.sim.runs import SYSTEM, closing, lost, proving, raced, scenarios

from ..tidy import ROOT
from .cases import DESIGNS, TOPOLOGIES, Case
from .cases_of_answers import ANSWERS
from .cases_of_fences import FENCE, PROOFS
from .cases_of_keys import KEYS
from .cases_of_losses import AGE, LOSSES, THIN

CASES = {**KEYS, **FENCE, **PROOFS, **THIN, **AGE, **LOSSES, **ANSWERS}
NUMBERS = (*map(str, range(1, 55)), *(f"L{number}" for number in range(1, 12)), *ANSWERS)
"""Every case of section 5, every row of 2.9, and every row of 2.6."""
STRUCK = (
    scenarios.fence_unreadable,
    *closing.STORIES,
    *lost.STORIES,
    *proving.STORIES,
    *raced.STORIES,
)
"""Stories that are about single losses: each of these is tried."""

Telling = tuple[Scenario, tuple[tuple[str, Any], ...], str, str]

each_case = pytest.mark.parametrize("number", NUMBERS)


def places(story: Scenario) -> set[tuple[str, str]]:
    """Return the topologies and designs that a story is told on."""
    defaults = inspect.signature(story.story).parameters
    values = [
        story.parameters.get(name, [defaults[name].default]) if name in defaults else ["objects"]
        for name in ("topology", "design")
    ]
    return set(product(*values))


def tellings() -> list[Telling]:
    """Return each story of a case with what it is told with, once."""
    found: dict[Any, Telling] = {}
    for case in CASES.values():
        for story, fixed in case.told:
            for topology, design in product(case.topologies, case.designs):
                if (topology, design) in places(story):
                    telling = (story, tuple(sorted(fixed.items())), topology, design)
                    found[story.name, *telling[1:]] = telling
    return list(found.values())


def name_of(telling: Telling) -> str:
    """Return what a test calls a telling."""
    story, fixed, topology, design = telling
    return "-".join([story.name, *(str(value) for _, value in fixed), topology, design])


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """Return every test of this folder, as "file::test"."""
    return {
        f"{path.name}::{node.name}"
        for path in (ROOT / "tests/runs").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_number_has_a_case() -> None:
    """In order, none twice and none of its own making."""
    assert tuple(CASES) == NUMBERS


def complaints(case: Case, tests: set[str]) -> list[str]:
    """Return what a case lacks."""
    shown = {place for story, _ in case.told for place in places(story)}
    missing = sorted({*product(case.topologies, case.designs)} - shown)
    lacks = [f"no story on {topology} with {design}" for topology, design in missing]
    lacks += [f"no test {name}" for name in case.tests if name not in tests]
    lacks += [f"{s.name} is no story of the system" for s, _ in case.told if s not in KNOWN]
    for story, fixed in case.told:
        for name, value in fixed.items():
            if value not in story.parameters.get(name, ()):
                lacks.append(f"{story.name} is never told with {name}={value!r}")
    is_narrow = (case.topologies, case.designs) != (TOPOLOGIES, DESIGNS)
    if is_narrow != bool(case.why):
        lacks.append("it says why where it need not, or does not where it must")
    return lacks


KNOWN = SYSTEM.scenarios


@each_case
def test_case_is_shown(number: str, tests: set[str]) -> None:
    """It has a story wherever it applies, its tests are there, and it says why it is narrow."""
    assert complaints(CASES[number], tests) == []


def test_a_case_that_is_not_shown_is_found() -> None:
    """Without a story, with a test that is gone, with a parameter that is never drawn."""
    empty = Case(right="anything", topologies=("objects",), designs=("router",), why="a trial")
    gone = Case(right="anything", stories=(lost.claim_unheard,), tests=("test_x.py::test_gone",))
    odd = Case(right="anything", stories=((lost.claim_unheard, {"workflow": "order"}),))

    assert complaints(empty, set()) == ["no story on objects with router"]
    assert complaints(gone, set()) == ["no test test_x.py::test_gone"]
    assert complaints(odd, set()) == ["claim_unheard is never told with workflow='order'"]


def runs(story: Scenario, parameters: Mapping[str, Any]) -> Iterator[RunResult]:
    """Tell a story without faults, then once for each place where one may strike."""
    calm = run_once(Job(scenario=story, seed=0, source=Ordinary(), parameters=parameters, log=True))
    yield calm
    if story in STRUCK:
        log = OrdinaryLog.of(calm.log)
        for place in (*log.losses, *log.others):
            yield run_once(
                Job(scenario=story, seed=0, source=Recorded([place]), parameters=parameters)
            )


@pytest.mark.parametrize("telling", tellings(), ids=name_of)
def test_story_is_right(telling: Telling) -> None:
    """It holds, and some run reaches what the story is about, if it is about a loss."""
    story, fixed, topology, design = telling
    told = {
        name: (values[0] if name not in dict(fixed) else dict(fixed)[name])
        for name, values in story.parameters.items()
    }
    told |= {k: v for k, v in (("topology", topology), ("design", design)) if k in told}
    reached: set[str] = set()
    wrong: list[Any] = []

    for result in runs(story, told):
        wrong += [(result.deviations, failure) for failure in result.failures]
        reached |= {name for name, is_there in result.sometimes.items() if is_there}

    assert wrong == []
    if story in STRUCK:
        assert reached == {each.name for each in story.properties if each.when == "sometimes"}

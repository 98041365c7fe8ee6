"""What `docs/runs.md` says of gates, states, answers, passes and the log is what the code has."""

import ast
import re
from inspect import iscoroutinefunction
from pathlib import Path

from durasim.actors.runs import Operations, errors
from durasim.actors.runs.fence import FenceReading, FenceState
from durasim.actors.runs.gates import GATES, Gate, admits
from durasim.actors.runs.http import ON_THE_WAY
from durasim.actors.runs.inventory import CATEGORIES
from durasim.actors.runs.run_errors import RunAdmissionConflictError
from durasim.actors.runs.tick import SAID
from durasim.wire import CODES, DoStatusError

from ..tidy import ROOT

TEXT = (ROOT / "docs" / "runs.md").read_text()
LOGS = ("log", "_log", "_log_failure", "_audit")
"""What the code calls to log."""
SOURCES = "\n".join(
    path.read_text() for path in sorted(Path(ROOT / "actors" / "runs").glob("*.py"))
)


def table(first: str) -> list[list[str]]:
    """Return the rows of the table whose head begins with the cell *first*."""
    lines = TEXT.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows: list[list[str]] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_table_of_gates_is_printed() -> None:
    """Entry, predicate, label and refusal, row by row."""
    printed = [[entry.strip("`"), *rest] for entry, *rest in table("entry")]

    assert printed == [
        [gate.entry, gate.predicate, gate.label, gate.refuses] for gate in GATES.values()
    ]


def test_the_matrix_of_questions_is_printed() -> None:
    """Each question in each state, without a nomination."""
    by_predicate: dict[str, Gate] = {gate.predicate: gate for gate in GATES.values()}
    rows = table("question")
    assert [question for question, *_ in rows] == list(by_predicate)
    for question, *answers in rows:
        for state, answer in zip(FenceState, answers, strict=True):
            assert admits(by_predicate[question], FenceReading(state), "k", "r") == (
                answer == "yes"
            )


def test_every_state_is_explained() -> None:
    """In order, from everything to almost nothing."""
    assert [row[0].strip("`") for row in table("state")] == [str(state) for state in FenceState]


def test_every_refusal_of_a_start_is_explained() -> None:
    """With its status: whoever gets one finds what is true and what to do."""
    explained = {
        code: int(status)
        for status, code in re.findall(r"^\| (\d+) `([A-Z_]+)` \|", TEXT, re.MULTILINE)
    }
    of_fence = {"FENCE_CAS_CONFLICT", "INVALID_EXECUTION_FENCE_REQUEST"}
    classes = [*vars(errors).values(), RunAdmissionConflictError]
    known = {
        each.code
        for each in classes
        if isinstance(each, type) and issubclass(each, DoStatusError) and each is not DoStatusError
    }

    on_the_way = {code.name: CODES[code].status for code in ON_THE_WAY.values()}

    assert set(explained) == (known - of_fence) | set(on_the_way)
    for code, status in explained.items():
        assert on_the_way.get(code) == status or f'"{code}", {status}' in SOURCES


def logged() -> set[str]:
    """Return the types of all lines that the code can log."""
    found = {
        f"{entry}-fence-error" for entry, gate in GATES.items() if "does nothing" in gate.refuses
    }
    found |= set(SAID.values())
    for node in ast.walk(ast.parse(SOURCES)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in LOGS:
            found |= {str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant)}
    return found


def test_every_line_of_the_log_is_explained() -> None:
    """Each type that the code logs stands in the table, and no other."""
    shown = {name for row in table("type") for name in re.findall(r"`([a-z-]+)`", row[0])}

    assert shown == logged()


def test_every_category_of_work_is_one() -> None:
    """What an operator is told about the inventory is in it."""
    shown = {re.findall(r"`([a-z-]+)`", row[0])[0] for row in table("in `GET /admin/inventory`")}
    work = {category.name for category in CATEGORIES if category.kind == "work"}

    assert shown <= work
    assert work - shown == {"background-tasks", "notifications"}, "those empty themselves"


def test_every_pass_is_one() -> None:
    """The calls of the table are the methods of the object, but for provisioning."""
    shown = {row[0].strip("`()") for row in table("call of `host.get(Operations, OPERATIONS)`")}
    methods = {name for name, each in vars(Operations).items() if iscoroutinefunction(each)}

    assert shown == methods - {"provision"}

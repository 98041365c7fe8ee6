"""The one table of gates: what it holds, who uses it, and what each gate lets through."""

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from durasim.actors.runs import gates
from durasim.actors.runs.errors import ExecutionFencedError, ExecutionFenceUnreadableError
from durasim.actors.runs.fence import (
    OPEN_EXECUTION_FENCE,
    ExecutionFence,
    FenceReading,
    FenceState,
)
from durasim.actors.runs.gates import GATES, admits, may_pass, pass_gate

from .local import LOCKED, LocalDatabase, Log, move

OPEN, DRAINING, LOCK, PROOF = FenceState
MATRIX = {
    ("run-start", OPEN): True,
    ("run-start", DRAINING): False,
    ("run-start", LOCK): False,
    ("run-start", PROOF): False,
    ("existing-run", OPEN): True,
    ("existing-run", DRAINING): True,
    ("existing-run", LOCK): False,
    ("existing-run", PROOF): False,
    ("work-authoring", OPEN): True,
    ("work-authoring", DRAINING): False,
    ("work-authoring", LOCK): False,
    ("work-authoring", PROOF): False,
    ("drainable", OPEN): True,
    ("drainable", DRAINING): True,
    ("drainable", LOCK): False,
    ("drainable", PROOF): False,
}
"""The table of spec/run-claims.md 1.9, without any nomination."""

SOURCES = sorted(Path(gates.__file__).parent.glob("*.py"))
PREDICATES = {
    "admits_run_start",
    "admits_existing_run",
    "admits_work_authoring",
    "admits_drainable_execution",
}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls in a file, by the last part of the name that is called."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).rpartition(".")[2], node


@pytest.mark.parametrize("entry", GATES)
@pytest.mark.parametrize("state", list(FenceState))
async def test_each_gate_in_each_state(
    entry: str, state: FenceState, fence: ExecutionFence, log: Log
) -> None:
    """Without a nomination every gate follows the matrix, and says so where it refuses."""
    await move(fence, state, "the-key" if state is PROOF else None)
    gate = GATES[entry]
    if MATRIX[gate.predicate, state]:
        reading = await pass_gate(fence, entry, key="k", run_id="r")
        assert reading.state is state
        assert await may_pass(fence, entry, log, run_id="r")
    else:
        with pytest.raises(ExecutionFencedError, match=gate.label) as raised:
            await pass_gate(fence, entry, key="k", run_id="r")
        assert raised.value.reason == {"code": "EXECUTION_FENCED", "state": str(state)}
        assert not await may_pass(fence, entry, log, run_id="r")
    assert log.kinds == []


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_what_is_nominated_passes_a_locked_deployment(gate: gates.Gate) -> None:
    """Proof-only has one hole: the designated key, and then the run that it started."""
    designated = FenceReading(PROOF, "the-key")
    bound = FenceReading(PROOF, "the-key", "the-run")
    is_start = gate.predicate == "run-start"
    is_run = gate.predicate == "existing-run"

    assert admits(gate, designated, "the-key", "the-run") == is_start
    assert admits(gate, bound, None, "the-run") == is_run
    assert not admits(gate, bound, "another", "another")
    assert not admits(gate, FenceReading(PROOF), "the-key", "the-run")


async def test_a_gate_that_cannot_be_read_is_shut(
    database: LocalDatabase, fence: ExecutionFence, log: Log
) -> None:
    """It raises where that is allowed, and is logged where it is not."""
    database.failing = lambda label: LOCKED if "fence" in label else None

    with pytest.raises(ExecutionFenceUnreadableError):
        await pass_gate(fence, "runtime-start", key="k")
    assert not await may_pass(fence, "schedule-tick", log)
    assert log.kinds == ["schedule-tick-fence-error"]


async def test_no_fence_is_an_open_one() -> None:
    """Whoever has written down that there is none passes everywhere."""
    for entry in GATES:
        assert await pass_gate("none", entry) is OPEN_EXECUTION_FENCE


async def test_each_gate_reads_the_fence_once_and_anew(
    database: LocalDatabase, fence: ExecutionFence
) -> None:
    """Case 30: a fence that moved is seen by the next request, in both directions."""
    for state, passes in ((DRAINING, False), (OPEN, True), (LOCK, False)):
        await move(fence, state)
        database.asked.clear()
        if passes:
            await pass_gate(fence, "runtime-start", key="k")
        else:
            with pytest.raises(ExecutionFencedError):
                await pass_gate(fence, "runtime-start", key="k")
        assert database.asked == ["SELECT flowsafe_execution_fence"]


def test_predicates_are_called_by_the_table_alone() -> None:
    """No file but this one decides what a reading admits."""
    callers = {path.name for path in SOURCES for name, _ in calls(path) if name in PREDICATES}

    assert callers == {"gates.py"}


def test_every_gate_of_the_table_stands_somewhere() -> None:
    """Each entry is asked for by its name at one place at least, and no other name is."""
    used: set[str] = set()
    for name, call in chain.from_iterable(map(calls, SOURCES)):
        if name in ("pass_gate", "may_pass"):
            used |= {
                argument.value
                for argument in call.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            }

    assert used == set(GATES)

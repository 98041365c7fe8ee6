"""Every place where the execution fence is asked, in one table (spec/run-claims.md 1.10).

The gates use it, the tests walk it, the documentation prints it. Nothing else calls a predicate of
the fence: a gate site calls `pass_gate`, or `may_pass` if nothing may be raised there.
"""

from collections.abc import Mapping
from typing import Final, Literal

import attrs

from .errors import ExecutionFencedError, ExecutionFenceUnreadableError
from .fence import (
    FenceReading,
    FenceWiring,
    admits_drainable_execution,
    admits_existing_run,
    admits_run_start,
    admits_work_authoring,
    read_execution_fence,
)
from .reservations import Log

__all__ = ["GATES", "Gate", "Predicate", "admits", "may_pass", "pass_gate", "refusal"]

Predicate = Literal["run-start", "existing-run", "work-authoring", "drainable"]


@attrs.frozen
class Gate:
    """One entry.

    Attributes:
        entry: its name in the table.
        predicate: what the reading is asked.
        label: what a refusal calls it; the thread object puts the path of the route there.
        refuses: what a refusal looks like.
    """

    entry: str
    predicate: Predicate
    label: str
    refuses: str


GATES: Final[Mapping[str, Gate]] = {
    gate.entry: gate
    for gate in (
        Gate("runtime-start", "run-start", "run start", "raises"),
        Gate("runtime-resume", "existing-run", "run resume", "raises"),
        Gate("object-start", "run-start", "run start", "503 before anything of the run is touched"),
        Gate("object-resume", "existing-run", "run resume", "503 inside the operation lock"),
        Gate("approval-decide", "existing-run", "approval decision", "503, and nothing is written"),
        Gate("thread-signal", "existing-run", "thread signal", "503, one reading a request"),
        Gate("thread-wake", "existing-run", "thread wake", "503 after the principal gate"),
        Gate("schedule-authoring", "work-authoring", "schedule authoring", "503"),
        Gate("schedule-tick", "work-authoring", "schedule tick", "does nothing, zero tally"),
        Gate("objective-authoring", "work-authoring", "objective authoring", "503, audited"),
        Gate("task-enqueue", "drainable", "background task", "503"),
        Gate("task-dispatch", "drainable", "background task", "503"),
        Gate("task-body", "drainable", "background task", "parks the task, or raises"),
        Gate("notification-dispatch", "drainable", "notification dispatch", "does nothing"),
        Gate("webhook-ingress", "drainable", "webhook delivery", "503, audited, nothing parsed"),
        Gate("provider-poll", "drainable", "provider poll", "does nothing, zero tally"),
    )
}
"""Entry to gate. What is ungated in every state is not in it."""


def admits(
    gate: Gate, reading: FenceReading, key: str | None = None, run_id: str | None = None
) -> bool:
    """Whether *reading* lets *gate* through, for a start of *key* or for the run *run_id*."""
    if gate.predicate == "run-start":
        return admits_run_start(reading, key)
    if gate.predicate == "existing-run":
        return admits_existing_run(reading, run_id)
    if gate.predicate == "work-authoring":
        return admits_work_authoring(reading)
    return admits_drainable_execution(reading)


def refusal(gate: Gate, reading: FenceReading, label: str | None = None) -> ExecutionFencedError:
    """Return what a gate that stays shut raises."""
    return ExecutionFencedError(str(reading.state), label or gate.label)


async def pass_gate(
    fence: FenceWiring,
    entry: str,
    *,
    key: str | None = None,
    run_id: str | None = None,
    label: str | None = None,
) -> FenceReading:
    """Read the fence once and go through the gate *entry*; returns the reading.

    Raises:
        ExecutionFencedError: the gate is shut. Nothing behind it ran.
        ExecutionFenceUnreadableError: nobody can tell, which counts as shut. Nothing ran.
    """
    gate = GATES[entry]
    reading = await read_execution_fence(fence)
    if not admits(gate, reading, key, run_id):
        raise refusal(gate, reading, label)
    return reading


async def may_pass(fence: FenceWiring, entry: str, log: Log, *, run_id: str | None = None) -> bool:
    """Whether the gate *entry* is open, for passes of an alarm or a tick, which may not raise.

    A fence that cannot be read is shut, and is logged as ``<entry>-fence-error``.
    """
    try:
        await pass_gate(fence, entry, run_id=run_id)
    except ExecutionFencedError:
        return False
    except ExecutionFenceUnreadableError as error:
        log(f"{entry}-fence-error", {"error": str(error)})
        return False
    return True

"""Mutants of the predicate, and of who gives a claim back when."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

import attrs

from ...actors.runs import (
    ExecutionFencedError,
    ExecutionFenceUnreadableError,
    RunnerRuntime,
    StartReservations,
    Step,
    StepContext,
    gates,
    is_execution_fence_refusal,
    read_execution_fence,
    refusal,
    reservations,
)
from ..mutants import Mutant
from .properties import (
    answers_fit,
    given_back_for_cause,
    given_back_unstarted,
    no_key_is_stranded,
    no_start_fails_unheard,
    refused_means_untouched,
    settled_stays_settled,
)
from .scenarios import (
    claim_lost,
    drain_reopen,
    echoed_start,
    start_fails,
)

__all__ = ["GIVING_BACK"]

RUNS = "durasim.actors.runs"
PREDICATE = f"{RUNS}.refusal:is_execution_fence_refusal"
ROLLBACK = f"{RUNS}.reservations:rollback_fenced_start"
CLASSES = (ExecutionFencedError, ExecutionFenceUnreadableError)

is_refusal: Callable[[object], bool] = is_execution_fence_refusal
"""The right predicate, for mutants that replace something else."""


def instanceof_only(error: object) -> bool:
    """Test classes only: what an early version did, before there were objects."""
    return isinstance(error, CLASSES)


def status_only(error: object) -> bool:
    """Take every 503 for a refusal."""
    return isinstance(error, CLASSES) or getattr(error, "status", None) == 503


def code_in_message(error: object) -> bool:
    """Look for the code in what the error says, too."""
    return (
        isinstance(error, CLASSES)
        or any(code in str(error) for code in refusal.FENCE_CODES)
        or (is_refusal(error))
    )


def any_start_failure(error: object) -> bool:
    """Take every failure of a start for a refusal."""
    return isinstance(error, Exception)


async def refusal_swallowed(
    releasing: Any, key: str, run_id: str, error: Exception, log: Any
) -> Any:
    """Give back, and say nothing of the refusal."""
    del log
    if not is_refusal(error):
        raise error
    await releasing.release(key, run_id)
    return None


async def storage_error_replaces_refusal(
    releasing: Any, key: str, run_id: str, error: Exception, log: Any
) -> NoReturn:
    """Let the error of the release go out in place of the refusal."""
    del log
    if is_refusal(error):
        await releasing.release(key, run_id)
    raise error


async def rethrow_wrapped(
    releasing: Any, key: str, run_id: str, error: Exception, log: Any
) -> NoReturn:
    """Give back, and raise another error from the refusal."""
    del log
    if is_refusal(error):
        await releasing.release(key, run_id)
    raise RuntimeError(f"the start of {key} failed") from error


async def group_wrapped_refusal(
    fence: Any,
    entry: str,
    *,
    key: str | None = None,
    run_id: str | None = None,
    label: str | None = None,
) -> Any:
    """Leave the gate inside a group, as out of a nursery."""
    gate = gates.GATES[entry]
    reading = await read_execution_fence(fence)
    if not gates.admits(gate, reading, key, run_id):
        raise ExceptionGroup("the gate", [gates.refusal(gate, reading, label)])
    return reading


async def never_released(self: StartReservations, key: str, run_id: str) -> bool:
    """Give nothing back."""
    del self, key, run_id
    return False


async def release_without_cas(self: StartReservations, key: str, run_id: str) -> bool:
    """Give back whatever the row says."""
    anything = reservations.RELEASE.removesuffix(" AND state = 'started'")
    return await self._changed(anything, self._now_ms(), key, run_id)


def published_by_shape(error: Exception) -> Mapping[str, Any] | None:
    """Publish the reason of whatever has one."""
    return cast("Mapping[str, Any] | None", getattr(error, "reason", None))


def reason_dropped(body: Any) -> Any:
    """Carry status and message only, as versions before the fence did."""
    del body


class Escaped(BaseException):
    """An error of a step that gets past the engine."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


right_start = RunnerRuntime._start_locked


async def step_refusal_escapes(self: RunnerRuntime, workflow: Any, order: Any, token: str) -> Any:
    """Let a step's own error leave the start."""

    def escaping(step: Step) -> Step:
        async def run(context: StepContext) -> Any:
            try:
                return await step(context)
            except Exception as error:
                raise Escaped(error) from error

        return run

    try:
        steps = tuple(map(escaping, workflow.steps))
        return await right_start(self, attrs.evolve(workflow, steps=steps), order, token)
    except Escaped as escaped:
        raise escaped.error from None


STRANDED = (no_key_is_stranded,)
OBJECTS = {"topology": "objects", "design": "router"}
PROCESS = {"topology": "process", "design": "router"}
AGENTS = {"topology": "agents", "design": "router"}
ROUTER = {"design": "router"}
"""For stories that are told of objects alone."""

GIVING_BACK = (
    Mutant(
        "instanceof_only", PREDICATE, instanceof_only, drain_reopen, STRANDED,
        parameters={**OBJECTS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "status_only", PREDICATE, status_only, start_fails,
        (given_back_for_cause, given_back_unstarted),
        parameters={**OBJECTS, "failure": "unwritable"}, needs_fault=True,
    ),
    Mutant(
        "code_in_message", PREDICATE, code_in_message, start_fails, (given_back_for_cause,),
        parameters={**OBJECTS, "failure": "policy"}, needs_fault=False,
    ),
    Mutant(
        "any_start_failure", PREDICATE, any_start_failure, start_fails, (given_back_for_cause,),
        parameters={**OBJECTS, "failure": "policy"}, needs_fault=False,
    ),
    Mutant(
        "refusal_swallowed", ROLLBACK, refusal_swallowed, drain_reopen,
        (no_start_fails_unheard, answers_fit),
        parameters={**OBJECTS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "storage_error_replaces_refusal", ROLLBACK, storage_error_replaces_refusal, claim_lost,
        (answers_fit,), parameters=OBJECTS,
    ),
    Mutant(
        "rethrow_wrapped", ROLLBACK, rethrow_wrapped, drain_reopen, (no_start_fails_unheard,),
        parameters={**OBJECTS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "group_wrapped_refusal", f"{RUNS}.gates:pass_gate", group_wrapped_refusal, drain_reopen,
        (no_start_fails_unheard, no_key_is_stranded), parameters={**PROCESS, "keys": 3},
        needs_fault=False,
    ),
    Mutant(
        "never_released", f"{RUNS}.reservations:StartReservations.release", never_released,
        drain_reopen, STRANDED, parameters={**OBJECTS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "release_without_cas", f"{RUNS}.reservations:StartReservations.release",
        release_without_cas, echoed_start, (settled_stays_settled, given_back_unstarted),
        parameters=ROUTER, needs_fault=False,
    ),
    Mutant(
        "published_by_shape", f"{RUNS}.http:published_reason", published_by_shape, start_fails,
        (given_back_for_cause,), parameters={**OBJECTS, "failure": "forged"}, needs_fault=False,
    ),
    Mutant(
        "reason_dropped", f"{RUNS}.http:reason_of", reason_dropped, drain_reopen, STRANDED,
        parameters={**OBJECTS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "step_refusal_escapes", f"{RUNS}.runtime:RunnerRuntime._start_locked",
        step_refusal_escapes, start_fails, (refused_means_untouched, given_back_for_cause),
        parameters={**OBJECTS, "failure": "step"}, needs_fault=False,
    ),
)  # fmt: skip

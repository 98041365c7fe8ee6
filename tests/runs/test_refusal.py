"""The one predicate: a refusal of the fence, as its class and as it comes over the wire."""

from typing import Any

import pytest

from durasim.actors import RunRouteError
from durasim.actors.runs import is_execution_fence_refusal, isExecutionFenceRefusal
from durasim.actors.runs.errors import (
    ExecutionFencedError,
    ExecutionFenceUnreadableError,
    FenceTransitionConflictError,
    IdempotentStartPendingError,
)
from durasim.wire import DoStatusError, error_from, record_of


class Shaped(Exception):
    """Has whatever fields it is given."""

    def __init__(self, **fields: Any) -> None:
        super().__init__("shaped")
        self.__dict__.update(fields)


FENCED = {"code": "EXECUTION_FENCED", "state": "draining"}
UNREADABLE = {"code": "EXECUTION_FENCE_UNREADABLE"}


@pytest.mark.parametrize(
    "error",
    [
        ExecutionFencedError("draining"),
        ExecutionFenceUnreadableError("nobody can tell"),
        RunRouteError(503, "fenced", FENCED),
        RunRouteError(503, "unreadable", UNREADABLE),
        RunRouteError(418, "the status is not looked at", FENCED),
        Shaped(status=503, message="fenced", reason=FENCED),
    ],
)
def test_both_codes_are_recognised_in_both_forms(error: Exception) -> None:
    """The class itself, or status, message and reason with the code."""
    assert is_execution_fence_refusal(error)


@pytest.mark.parametrize(
    "error",
    [
        None,
        "EXECUTION_FENCED",
        ValueError("EXECUTION_FENCED"),
        FenceTransitionConflictError("open", "draining"),
        IdempotentStartPendingError("r", 1),
        RunRouteError(503, "EXECUTION_FENCED"),
        RunRouteError(503, "fenced", {"state": "draining"}),
        RunRouteError(503, "fenced", {"code": "IDEMPOTENT_START_PENDING"}),
        RunRouteError(503, "fenced", {"reason": FENCED}),
        Shaped(status=503, message="top level", code="EXECUTION_FENCED"),
        Shaped(status="503", message="fenced", reason=FENCED),
        Shaped(status=True, message="fenced", reason=FENCED),
        Shaped(message="fenced", reason=FENCED),
        Shaped(status=503, reason=FENCED),
        Shaped(status=503, message=7, reason=FENCED),
        Shaped(status=503, message="fenced", reason=["EXECUTION_FENCED"]),
        Shaped(status=503, message="fenced", reason={"code": ["EXECUTION_FENCED"]}),
        ExceptionGroup("in a nursery", [ExecutionFencedError("draining")]),
    ],
)
def test_nothing_else_is_a_refusal(error: object) -> None:
    """Not by its words, not by its status, not by what is inside of it."""
    assert not is_execution_fence_refusal(error)


def test_a_cause_is_not_looked_at() -> None:
    """An error that was raised because of a refusal is another error."""
    error = ValueError("something else")
    error.__cause__ = ExecutionFencedError("draining")

    assert not is_execution_fence_refusal(error)


@pytest.mark.parametrize(
    "error", [ExecutionFencedError("draining", "run start"), ExecutionFenceUnreadableError("no")]
)
def test_a_refusal_is_one_on_the_far_side_of_the_wire(error: DoStatusError) -> None:
    """The class is lost on the way; status, message and reason are not."""
    again = error_from(record_of(error))

    assert isinstance(again, RunRouteError)
    assert is_execution_fence_refusal(again)
    assert (again.status, again.message, again.reason) == (503, str(error), error.reason)


def test_it_has_the_platforms_name_too() -> None:
    """Both names are one function."""
    assert isExecutionFenceRefusal is is_execution_fence_refusal

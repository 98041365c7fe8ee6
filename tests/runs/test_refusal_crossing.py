"""The predicate says the same of an error and of what arrives of it, whatever the error is."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

from durasim.actors import RunRouteError
from durasim.actors.runs import errors, refusal, run_errors
from durasim.actors.runs.http import (
    do_error_response,
    do_summary,
    error_from as error_from_response,
    router_error_response,
)
from durasim.sim.runs import SYSTEM
from durasim.wire import DoStatusError, error_from, record_of

from ..wire.crossing import crossed
from .test_refusal import Shaped

FENCED = ("EXECUTION_FENCED", "EXECUTION_FENCE_UNREADABLE")
CODES = (
    *FENCED,
    "FENCE_CAS_CONFLICT",
    "IDEMPOTENT_START_PENDING",
    "IDEMPOTENT_START_UNREADABLE",
    "RUN_ADMISSION_CONFLICT",
    "execution_fenced",
    "EXECUTION_FENCED ",
    "",
)

code_texts = st.sampled_from(CODES)
texts = code_texts | st.text(max_size=20)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
reasons = st.none() | st.fixed_dictionaries(
    {}, optional={"code": code_texts | json_values, "state": json_values, "reason": json_values}
)
statuses = st.sampled_from((400, 409, 500, 503, 599)) | st.integers(-1, 1000)


class Somebody(DoStatusError):
    """A class of the family that knows nothing of a fence."""

    code = "SOMEBODY"


def shaped(status: int, reason: Any, code: str = "") -> Exception:
    """Return an error of another class that has the fields of a refusal."""
    return Shaped(status=status, message="m", reason=reason, code=code)


own = st.one_of(
    st.builds(errors.ExecutionFencedError, texts, st.none() | texts),
    st.builds(errors.ExecutionFenceUnreadableError, texts),
    st.builds(errors.FenceTransitionConflictError, texts, texts),
    st.builds(errors.InvalidExecutionFenceRequestError, texts),
    st.builds(errors.StartReservationOwnerMismatchError),
    st.builds(errors.StartReservationTargetMismatchError, texts, texts),
    st.builds(errors.IdempotentStartPendingError, texts, st.integers(0, 2**53)),
    st.builds(errors.IdempotentStartUnresolvableError, texts),
    st.builds(errors.IdempotentStartAlreadySettledError, texts),
    st.builds(errors.StartIdempotencyUnsupportedError),
    st.builds(errors.InvalidStartIdempotencyRequestError, texts),
    st.builds(errors.StartReservationUnreadableError, texts),
    st.builds(run_errors.RunAdmissionConflictError, texts, texts),
    st.builds(DoStatusError, statuses, texts, reasons),
    st.builds(Somebody, statuses, texts, reasons),
)
"""What may leave an object with its reason: the family, by every code, status and reason."""

others = st.one_of(
    st.builds(ValueError, texts),
    st.builds(run_errors.UnknownRunError, texts),
    st.builds(run_errors.RunStateUnreadableError, texts),
    st.builds(shaped, statuses, reasons),
    st.builds(shaped, statuses, st.none(), texts),
    st.builds(RunRouteError, statuses, texts, reasons),
)
"""What leaves an object as its failure, whatever fields it has."""


def group_of(members: list[Exception]) -> Exception:
    """Return what a nursery makes of errors."""
    return ExceptionGroup("in a nursery", members)


groups = st.lists(own | others, min_size=1, max_size=3).map(group_of)
groups = groups | st.lists(groups, min_size=1, max_size=2).map(group_of)


def caused(error: Exception, cause: Exception | None) -> Exception:
    """Return *error*, raised because of *cause*."""
    error.__cause__ = cause
    return error


def is_refusal(error: object) -> bool:
    """Ask the predicate, as it is now."""
    return refusal.is_execution_fence_refusal(error)


def answered(error: Exception) -> Exception:
    """Return what an object's answer in place of *error* is at whoever asked."""
    rebuilt = error_from_response(do_error_response(error))
    with pytest.raises(RunRouteError) as raised:
        do_summary(do_error_response(error))
    assert vars(raised.value) == vars(rebuilt)
    return rebuilt


def shown_again(error: Exception) -> Exception:
    """Return it from behind one more router, which renders for a tenant."""
    return error_from_response(router_error_response(answered(error)))


WAYS: dict[str, Callable[[Exception], Exception]] = {
    "a record": lambda error: error_from(record_of(error)),
    "bytes": crossed,
    "an answer": answered,
    "two answers": shown_again,
}
"""How an error gets to somebody else."""

each_way = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


def alike(way: Callable[[Exception], Exception], **how: Any) -> Callable[[], None]:
    """Return a property: an error of the family is a refusal here if it is one there."""

    @settings(**how)
    @given(error=own, cause=st.none() | own | others)
    def property_(error: DoStatusError, cause: Exception | None) -> None:
        reason = error.reason or {}
        expected = isinstance(reason.get("code"), str) and reason["code"] in FENCED
        assert is_refusal(caused(error, cause)) is expected
        arrived = way(error)
        assert is_refusal(arrived) is expected
        assert (type(arrived), arrived.reason) == (RunRouteError, error.reason)  # type: ignore[attr-defined]

    return property_


def other(way: Callable[[Exception], Exception], **how: Any) -> Callable[[], None]:
    """Return a property: whatever else was raised does not arrive as a refusal."""

    @settings(**how)
    @given(error=groups | others, cause=st.none() | own | others)
    def property_(error: Exception, cause: Exception | None) -> None:
        assert not is_refusal(way(caused(error, cause)))

    return property_


@each_way
def test_a_refusal_is_one_here_and_there(way: Callable[[Exception], Exception]) -> None:
    """Every code, status, message and reason; a cause makes no difference."""
    assert alike(way)() is None


@each_way
def test_nothing_else_arrives_as_one(way: Callable[[Exception], Exception]) -> None:
    """Errors of other classes, whatever they look like, and groups with a refusal in them."""
    assert other(way)() is None


@given(error=groups, cause=own)
def test_a_group_is_never_one(error: Exception, cause: Exception) -> None:
    """Nor is what was raised because of one."""
    assert not is_refusal(caused(error, cause))


@pytest.mark.parametrize(
    ("name", "made", "way"),
    [
        ("instanceof_only", alike, "a record"),
        ("status_only", alike, "a record"),
        ("code_in_message", alike, "an answer"),
        ("any_start_failure", alike, "bytes"),
        ("reason_dropped", alike, "an answer"),
        ("published_by_shape", other, "an answer"),
    ],
)
def test_wrong_code_is_rejected(
    name: str, made: Callable[..., Callable[[], None]], way: str
) -> None:
    """Each wrong predicate, and each wrong way over the wire."""
    (mutant,) = (each for each in SYSTEM.mutants if each.name == name)
    check = made(
        WAYS[way], max_examples=500, derandomize=True, database=None, phases=[Phase.generate],
        report_multiple_bugs=False,
    )  # fmt: skip
    with mutant.applied(), pytest.raises(AssertionError):
        check()

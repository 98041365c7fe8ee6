"""Root causes: only the innermost error says what happened, and only if there is one."""

from itertools import pairwise

import pytest

from durasim.actors.runs.causes import DEPTH_MAX, is_missing_table, root_cause

TABLE = "flowsafe_execution_fence"
MISSING = f"no such table: {TABLE}"


def chain(*texts: str) -> Exception:
    """Return an error with causes, the first one outermost."""
    errors = [RuntimeError(text) for text in texts]
    for outer, inner in pairwise(errors):
        outer.__cause__ = inner
    return errors[0]


@pytest.mark.parametrize(
    ("error", "is_missing"),
    [
        (chain(MISSING), True),
        (chain("outer", "middle", MISSING.upper().replace(TABLE.upper(), TABLE)), True),
        (chain("outer", "no such table: another"), False),
        (chain("outer", MISSING, "database is locked"), False),
        (chain(*["again"] * (DEPTH_MAX - 1), MISSING), True),
        (chain(*["again"] * DEPTH_MAX, MISSING), False),
    ],
)
def test_the_root_alone_says_that_a_table_is_missing(error: Exception, is_missing: bool) -> None:
    """A mention on the way, another table, or a chain that is too deep say nothing of the kind."""
    assert is_missing_table(error, TABLE) == is_missing


def test_a_chain_that_goes_round_has_no_root() -> None:
    """It ends, and nobody knows."""
    error = chain("outer", MISSING)
    assert error.__cause__ is not None
    error.__cause__.__cause__ = error

    assert root_cause(error) is None
    assert not is_missing_table(error, TABLE)

"""Callers: what is open to whom."""

import pytest

from durasim.actors.runs.callers import Caller
from durasim.actors.runs.reservations import Owner

ANN, BOB = Owner("human", "ann"), Owner("human", "bob")


@pytest.mark.parametrize(
    ("roles", "owner", "may"),
    [((), ANN, True), ((), BOB, False), (("operator",), BOB, False), (("admin",), BOB, True)],
)
def test_what_is_owned_is_open_to_its_owner_and_to_admins(
    roles: tuple[str, ...], owner: Owner, may: bool
) -> None:
    """And to nobody else."""
    assert Caller(ANN, frozenset(roles)).may_touch(owner) == may

"""Tables that decide: the first row whose guard holds, in the order in which they are written."""

import pytest

from durasim.actors.fleet import FleetRefused
from durasim.actors.fleet.machines import Edge, Guard, Machine

HEAVY = Guard[int]("over 9", lambda weight: weight > 9)
DOOR = Machine[int](
    "door",
    ("open", "shut"),
    (
        Edge("open shut", "push", None, HEAVY, code="BAD_REQUEST"),
        Edge("open", "push", "shut", effect="a bang"),
        Edge("shut", "push", None),
    ),
)


def test_the_first_row_whose_guard_holds_is_taken() -> None:
    """A row without a guard always applies."""
    assert DOOR.edge("open", "push", 1).next == "shut"
    assert DOOR.edge("open", "push", 10).code == "BAD_REQUEST"
    assert DOOR.step("shut", "push", 1).next is None


def test_a_row_with_a_code_refuses() -> None:
    """By that code, and with whatever else is to be said."""
    with pytest.raises(FleetRefused, match="BAD_REQUEST") as raised:
        DOOR.step("shut", "push", 10, weight=10)
    assert raised.value.reason is not None
    assert raised.value.reason["weight"] == 10


def test_what_cannot_happen_has_no_row() -> None:
    """The machine names itself, the event and the state."""
    with pytest.raises(LookupError, match="door: no row for 'pull' in shut"):
        DOOR.edge("shut", "pull", 1)

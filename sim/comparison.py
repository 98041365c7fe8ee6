"""Comparisons: one story under one plan, which some designs stand and others do not."""

from collections.abc import Iterable
from typing import Any

import attrs

from .properties import Property
from .scenario import Scenario

__all__ = ["Comparison"]


def _values(given: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(given)


def _names(expected: Iterable[str | Property[Any]]) -> tuple[str, ...]:
    return tuple(each if isinstance(each, str) else each.name for each in expected)


@attrs.frozen
class Comparison:
    """What one parameter of a story makes of the same runs.

    Attributes:
        scenario: the story; of its own accord it draws values that hold, and nothing else.
        parameter: which is compared, such as the design.
        fails: its values with which the story is known to fail: the plan drops what they assume.
        holds: its values with which nothing may fail.
        expected: the properties, or their names, by which the first may fail, and by no other.
    """

    scenario: Scenario
    parameter: str
    fails: tuple[Any, ...] = attrs.field(converter=_values)
    holds: tuple[Any, ...] = attrs.field(converter=_values)
    expected: tuple[str, ...] = attrs.field(converter=_names)

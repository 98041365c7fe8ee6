"""Hypothesis strategies of durasim: everything that the wire carries."""

from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import attrs
from hypothesis import strategies as st

from durasim.wire import ABSENT, Envelope, Reply, register


@register(name="tests.Colour")
class Colour(Enum):
    """An enum whose values the wire never looks at."""

    RED = "r"
    GREEN = ("g", 2)
    ROUGE = RED


@register(name="tests.Point")
@attrs.frozen
class Point:
    """A value that can be a key."""

    x: Any
    _hidden: Any = 0


@register(name="tests.Box")
@attrs.define(eq=True)
class Box:
    """A value that changes, with a field outside of its constructor."""

    content: Any = None
    label: str = "box"
    opened: Any = attrs.field(init=False, default=0)


@register(name="tests.Empty")
@attrs.frozen
class Empty:
    """A value without fields."""


def same(left: Any, right: Any) -> bool:
    """True if both have the same types and contents throughout, NaN, -0.0 and order included."""
    kind: Any = left.__class__
    if kind is not right.__class__:
        return False
    if kind is float:
        return str(left) == str(right)
    if kind is datetime:
        return fields_of(left) == fields_of(right)
    if kind is set or kind is frozenset:
        rest: list[Any] = list(right)
        return len(left) == len(rest) and all(
            any(same(one, other) for other in rest) for one in left
        )
    if kind is dict:
        return same(list(left.items()), list(right.items()))
    if kind is list or kind is tuple:
        return len(left) == len(right) and all(map(same, left, right))
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    return bool(left == right)


def fields_of(instant: datetime) -> tuple[datetime, timedelta | None, int]:
    """What of an instant survives: local time, offset and fold."""
    return instant.replace(tzinfo=None), instant.utcoffset(), instant.fold


def folded(instant: datetime) -> datetime:
    """The second of two equal local times."""
    return instant.replace(fold=1)


texts: st.SearchStrategy[str] = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

zones: st.SearchStrategy[timezone] = st.timedeltas(
    timedelta(hours=-23, minutes=-59, seconds=-59), timedelta(hours=23, minutes=59, seconds=59)
).map(timezone)

instants: st.SearchStrategy[datetime] = st.datetimes(timezones=zones | st.just(UTC)) | st.datetimes(
    timezones=st.just(UTC)
).map(folded)

integers: st.SearchStrategy[int] = (
    st.integers(-300, 300)
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**4096, -(2**127), 2**127])
)

leaves: st.SearchStrategy[Any] = (
    st.none()
    | st.just(ABSENT)
    | st.booleans()
    | integers
    | st.floats()
    | texts
    | st.binary(max_size=20)
    | st.uuids()
    | instants
    | st.sampled_from(list(Colour))
    | st.just(Empty())
)

keys: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Point, inner, hidden=inner)
    ),
    max_leaves=4,
)


def _boxes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Box]:
    def box(content: Any, label: str, opened: Any) -> Box:
        made = Box(content, label)
        made.opened = opened
        return made

    return st.builds(box, inner, texts, inner)


values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
        | st.frozensets(keys, max_size=4)
        | st.builds(Point, inner, hidden=inner)
        | _boxes(inner)
    ),
    max_leaves=12,
)
"""Whatever can be sent."""

_numbers: st.SearchStrategy[int] = st.integers(0, 2**63 - 1)

envelopes: st.SearchStrategy[Envelope] = st.builds(
    Envelope,
    id=st.integers(1, 2**63 - 1),
    caller=texts,
    stub=_numbers,
    order=_numbers,
    incarnation=_numbers,
    kind=texts,
    name=texts,
    method=texts,
    args=st.lists(values, max_size=3).map(tuple),
    kwargs=st.dictionaries(texts, values, max_size=3),
    deadline=_numbers,
    version=texts,
)

replies: st.SearchStrategy[Reply] = st.builds(
    Reply, id=_numbers, incarnation=_numbers, value=values, error=st.none()
)

"""The fast look decides, the slow one explains, and they agree."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from durasim.wire import sendable
from durasim.wire.extensions import Unfit

from ..strategies import Point, leaves, values


@given(values)
def test_what_can_be_sent_is_let_through(value: Any) -> None:
    """True means that msgpack needs nothing of ours."""
    plain = sendable.check(value)

    assert isinstance(plain, bool)


bad: st.SearchStrategy[Any] = st.sampled_from([bytearray(), len, object(), 1j])
spoiled: st.SearchStrategy[Any] = st.recursive(
    bad,
    lambda inner: (
        st.lists(leaves, max_size=2).flatmap(lambda rest: inner.map(lambda value: [*rest, value]))
        | inner.map(lambda value: (value,))
        | inner.map(lambda value: {"k": value})
        | inner.map(lambda value: Point(value))
    ),
    max_leaves=5,
)


@given(spoiled)
def test_what_the_fast_look_refuses_the_slow_one_names(value: Any) -> None:
    """The path leads to a value of a type that cannot be sent."""
    with pytest.raises(Unfit) as caught:
        sendable.check(value)
    refusal = sendable.refusal(caught.value, ("$", value))

    assert refusal.path.startswith("$")
    assert refusal.reason.endswith("cannot be sent")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (1, True),
        ([1, {"a": [None]}], True),
        ((1,), False),
        ([(1,)], False),
        ({"a": {1}}, False),
        ([[1], [Point(1)]], False),
        ({1: {2: [3]}}, True),
    ],
)
def test_only_lists_and_dicts_of_scalars_are_plain(value: Any, plain: bool) -> None:
    """At any depth."""
    assert sendable.check(value) is plain


def test_the_refusal_is_about_the_first_of_several_values() -> None:
    """Values that are fine are passed over."""
    refusal = sendable.refusal(Unfit(), ("$.a", [1]), ("$.b", [len]), ("$.c", len))

    assert refusal.path == "$.b[0]"


@pytest.mark.parametrize("container", [{1}, frozenset({1}), {1: 2}, (1,), Point(1), [1]])
def test_what_stands_before_a_bad_value_is_passed_over(container: Any) -> None:
    """The slow look goes through whatever is fine, to its end."""
    refusal = sendable.refusal(Unfit(), ("$", [container, len]))

    assert refusal.path == "$[1]"

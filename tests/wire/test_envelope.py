"""Calls and replies: positional arrays, judged on both sides."""

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from durasim.wire import (
    MESSAGE_BYTES_MAX,
    Address,
    Envelope,
    ErrorRecord,
    MalformedBytes,
    MalformedRecord,
    Reply,
    UnsendableValue,
    decode_envelope,
    decode_reply,
    encode,
    encode_envelope,
    encode_reply,
)

from ..strategies import Point, envelopes, replies, same
from .sample import CALL


@given(envelopes)
def test_a_call_arrives_as_it_was_sent(envelope: Envelope) -> None:
    """Every field, with its type."""
    arrived = decode_envelope(encode_envelope(envelope))

    assert type(arrived) is Envelope
    assert same(tuple(arrived), tuple(envelope))


@given(replies)
def test_a_reply_arrives_as_it_was_sent(reply: Reply) -> None:
    """Every field, with its type."""
    arrived = decode_reply(encode_reply(reply))

    assert type(arrived) is Reply
    assert same(tuple(arrived), tuple(reply))


def test_an_error_arrives_in_place_of_a_value() -> None:
    """An error record keeps its four fields."""
    reply = Reply(1, 2, None, ErrorRecord("CODE", 409, "m", {"code": "CODE", "state": (1, 2)}))

    assert decode_reply(encode_reply(reply)) == reply


def test_arguments_may_be_any_sequence_and_mapping() -> None:
    """What a caller has at hand is taken; what arrives is a tuple and a dict."""
    arrived = decode_envelope(
        encode_envelope(CALL._replace(args=[1, [2]], kwargs=MappingProxyType({"a": (3,)})))
    )

    assert arrived.args == (1, [2])
    assert arrived.kwargs == {"a": (3,)}


def test_addresses_are_written_as_class_and_name() -> None:
    """The text is what reports show."""
    assert str(Address("Counter", "cart/7")) == "Counter/cart/7"
    assert CALL.address == Address("Counter", "cart-7")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"args": ({"key": [Point(len)]},)}, '$.args[0]["key"][0].x'),
        ({"args": (1, "\ud800")}, "$.args[1]"),
        ({"args": (bytearray(),), "kwargs": {"a": 1}}, "$.args[0]"),
        ({"args": (1, 2), "kwargs": {"by": len}}, '$.kwargs["by"]'),
        ({"kwargs": {"by": "\ud800"}}, '$.kwargs["by"]'),
        ({"kwargs": {"\ud800": 1}}, "$.kwargs.keys[0]"),
        ({"args": ((1,),), "kwargs": {"by": [len]}}, '$.kwargs["by"][0]'),
        ({"name": "\ud800"}, "$.name"),
    ],
)
def test_a_bad_argument_is_named(change: dict[str, Any], path: str) -> None:
    """Nothing leaves, and the error says which argument it was."""
    with pytest.raises(UnsendableValue) as caught:
        encode_envelope(CALL._replace(**change))

    assert caught.value.path == path


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        (Reply(1, 1, [len], None), "$.value[0]"),
        (Reply(1, 1, "\ud800", None), "$.value"),
        (Reply(1, 1, None, ErrorRecord(1, 500, "m", {"a": len})), '$.error[3]["a"]'),
        (Reply(1, 1, None, ErrorRecord(1, 500, "m", {"a": (len,)})), '$.error[3]["a"][0]'),
        (Reply(1, 1, (1,), ErrorRecord(1, 500, "m", {"a": len})), '$.error[3]["a"]'),
    ],
)
def test_a_bad_result_is_named(reply: Reply, path: str) -> None:
    """The host learns what its handler returned."""
    with pytest.raises(UnsendableValue) as caught:
        encode_reply(reply)

    assert caught.value.path == path


def test_size_is_bounded_at_the_sender() -> None:
    """A message over the bound never leaves."""
    with pytest.raises(UnsendableValue, match=r"^\$: takes"):
        encode_envelope(CALL._replace(args=(bytes(MESSAGE_BYTES_MAX),)))
    with pytest.raises(UnsendableValue, match=r"^\$\.value: takes"):
        encode_reply(Reply(1, 1, bytes(MESSAGE_BYTES_MAX), None))


def test_a_call_with_too_many_parts_is_refused() -> None:
    """Lists that share lists are counted, not followed for ever."""
    shared: list[Any] = [0] * 1000
    for _ in range(30):
        shared = [shared, shared]

    with pytest.raises(UnsendableValue, match=r"^\$: takes more than"):
        encode_envelope(CALL._replace(args=(shared,)))


GOOD: list[Any] = [*CALL]
GOOD[8] = []
GOOD[9] = None


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 0),
        (0, -1),
        (0, 2**63),
        (0, True),
        (0, "1"),
        (0, 1.0),
        (1, b"alice"),
        (2, -1),
        (3, 2**70),
        (4, -1),
        (4, None),
        (5, 1),
        (7, None),
        (8, None),
        (8, (1,)),
        (8, {}),
        (9, []),
        (9, {1: 2}),
        (9, {b"a": 2}),
        (10, 2**64),
        (10, -(2**64)),
        (10, 1.5),
        (11, 1),
    ],
)
def test_a_call_with_a_wrong_field_is_refused(place: int, value: Any) -> None:
    """Types are exact and numbers in range, whatever a peer writes."""
    fields = [*GOOD]
    fields[place] = value

    with pytest.raises(MalformedRecord):
        decode_envelope(encode(fields))


@pytest.mark.parametrize("value", [None, 1, {}, [], GOOD[:11], [*GOOD, 1], tuple(GOOD), "x" * 12])
def test_what_is_no_call_is_refused(value: Any) -> None:
    """Another value, or another length."""
    with pytest.raises(MalformedRecord):
        decode_envelope(encode(value))


def test_the_good_fields_are_good() -> None:
    """The tests above change one thing in something that would pass."""
    assert decode_envelope(encode(GOOD)) == CALL._replace(kwargs={})


NO_REPLIES: list[Any] = [
    None,
    [1, 2, 3],
    [1, 2, 3, None, 5],
    (1, 2, 3, None),
    {},
    [-1, 2, 3, None],
    [2**63, 2, 3, None],
    [1, -1, 3, None],
    [1, 2**63, 3, None],
    ["1", 2, 3, None],
    [1, None, 3, None],
    [True, 1, 3, None],
    [1, 2, 3, [1, 500, "", None]],
    [1, 2, None, 5],
    [1, 2, None, []],
    [1, 2, None, [1, 500, ""]],
    [1, 2, None, [1, 500, "", None, None]],
    [1, 2, None, [None, 500, "", None]],
    [1, 2, None, [1.0, 500, "", None]],
    [1, 2, None, [True, 500, "", None]],
    [1, 2, None, [1, "500", "", None]],
    [1, 2, None, [1, 500, b"", None]],
    [1, 2, None, [1, 500, "", []]],
    [1, 2, None, [1, 399, "", None]],
    [1, 2, None, [1, 10**6000, "", None]],
    [1, 2, None, [-1, 500, "", None]],
    [1, 2, None, [10**6000, 500, "", None]],
]


@pytest.mark.parametrize("value", NO_REPLIES)
def test_what_is_no_reply_is_refused(value: Any) -> None:
    """Another value, another length, a wrong field, or a value and an error at once."""
    with pytest.raises(MalformedBytes) as caught:
        decode_reply(encode(value))

    assert type(caught.value) is MalformedRecord


def test_call_zero_is_a_call_that_could_not_be_read() -> None:
    """A host can answer a request whose number it never learned."""
    reply = Reply(0, 0, None, ErrorRecord(103, 400, "not a call", None))

    assert decode_reply(encode_reply(reply)) == reply

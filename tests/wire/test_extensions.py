"""Extension types have their numbers for ever, and leaves their payloads."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from durasim.wire import ABSENT, MalformedValue, UnknownExtension, UnknownName, extensions

from ..strategies import Colour, instants, same


def test_numbers_are_forever() -> None:
    """Stored values hold these numbers."""
    assert {
        name: value
        for name, value in vars(extensions).items()
        if name.isupper() and isinstance(value, int) and not name.startswith("_")
    } == {
        "TUPLE": 1,
        "SET": 2,
        "FROZENSET": 3,
        "OBJECT": 4,
        "ABSENCE": 16,
        "INTEGER": 17,
        "INSTANT": 18,
        "IDENTIFIER": 19,
        "MEMBER": 20,
    }


@pytest.mark.parametrize(
    ("value", "code", "payload"),
    [
        (ABSENT, 16, "00"),
        (2**64, 17, "010000000000000000"),
        (-(2**63) - 1, 17, "ff7fffffffffffffff"),
        (2**127, 17, "00" + "80" + "00" * 15),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 18, "00000000000f4240" + "00" * 9),
        (UUID(int=1), 19, "00" * 15 + "01"),
        (Colour.RED, 20, b"tests.Colour\0RED".hex()),
    ],
)
def test_golden_payloads(value: object, code: int, payload: str) -> None:
    """Each leaf, byte by byte, both ways."""
    written = extensions.WRITERS[type(value)](value)

    assert (written.code, written.data.hex()) == (code, payload)
    assert same(extensions.read_leaf(code, written.data), value)


def test_an_alias_of_a_member_is_read_as_the_member() -> None:
    """A peer that has the alias as a member of its own is understood."""
    assert extensions.read_leaf(extensions.MEMBER, b"tests.Colour\0ROUGE") is Colour.RED


@given(instants)
def test_instants_survive(value: datetime) -> None:
    """Every aware datetime, with its offset and fold."""
    written = extensions.write_instant(value)

    assert same(extensions.read_leaf(written.code, written.data), value)


@given(st.sampled_from(sorted(extensions.LEAVES)), st.binary(max_size=24))
def test_any_payload_is_a_value_or_malformed(code: int, payload: bytes) -> None:
    """A payload has one value or none, and that value has this one payload."""
    try:
        value = extensions.read_leaf(code, payload)
    except (MalformedValue, UnknownName):
        return
    assert extensions.WRITERS[type(value)](value).data == payload


@pytest.mark.parametrize("code", [0, 1, 4, 5, 15, 21, 127, -1, -128])
def test_other_types_are_unknown(code: int) -> None:
    """A mark is no leaf, and a number without meaning is refused."""
    with pytest.raises(UnknownExtension):
        extensions.read_leaf(code, b"\x00")

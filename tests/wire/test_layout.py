"""The look at headers agrees with msgpack, and finds what msgpack would allocate for nothing."""

import msgpack
import pytest
from hypothesis import given, strategies as st

from durasim.wire import MalformedBytes, TooDeep, Truncated, UnknownExtension, encode, layout
from durasim.wire.limits import WIRE_DEPTH_MAX

from ..strategies import values


def msgpack_reads(data: bytes) -> bool:
    """True if msgpack itself finds one whole value."""
    try:
        msgpack.unpackb(
            data,
            strict_map_key=False,
            object_pairs_hook=len,
            ext_hook=lambda code, _: code,
            unicode_errors="replace",
        )
    except (ValueError, msgpack.FormatError, msgpack.StackError):
        return False
    return True


@given(values)
def test_our_own_bytes_pass(value: object) -> None:
    """Whatever the codec writes is one value."""
    assert layout.look(encode(value)) is None  # type: ignore[func-returns-value]


@given(
    st.lists(
        st.lists(
            st.integers(-(2**63), 2**64 - 1) | st.floats(width=32) | st.booleans(),
            min_size=10,
            max_size=40,
        ),
        max_size=4,
    ),
    st.data(),
)
def test_runs_of_numbers_are_counted(rows: list[list[float]], data: st.DataObject) -> None:
    """A run may not swallow what stands after its array, nor half of a number."""
    packed = msgpack.packb(rows, use_single_float=data.draw(st.booleans()))

    assert layout.look(packed) is None  # type: ignore[func-returns-value]
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(Truncated):
        layout.look(packed[:cut])


@given(st.binary(max_size=30))
def test_it_agrees_with_msgpack_on_any_bytes(data: bytes) -> None:
    """One value for one is one value for the other; only unknown extensions are left out."""
    try:
        layout.look(data)
    except UnknownExtension:
        return
    except MalformedBytes:
        assert not msgpack_reads(data)
    else:
        assert msgpack_reads(data)


@pytest.mark.parametrize("first", range(256))
def test_each_first_byte_is_known(first: int) -> None:
    """Every header of msgpack, with zeros behind it, is read or refused as msgpack does."""
    for length in range(20):
        data = bytes((first, *[0] * length))
        try:
            layout.look(data)
        except UnknownExtension:
            assert 0xC7 <= first <= 0xC9 or 0xD4 <= first <= 0xD8
        except MalformedBytes:
            assert not msgpack_reads(data)
        else:
            assert msgpack_reads(data)


def test_depth_counts_containers_in_each_other() -> None:
    """The bound is exact, and siblings do not count."""
    assert layout.look(b"\x91" * WIRE_DEPTH_MAX + b"\x90") is None  # type: ignore[func-returns-value]
    with pytest.raises(TooDeep):
        layout.look(b"\x91" * (WIRE_DEPTH_MAX + 1) + b"\x01")
    with pytest.raises(TooDeep):
        layout.look(b"\x92\x01" * (WIRE_DEPTH_MAX + 1) + b"\x01")
    assert layout.look(b"\xdc\x03\xe8" + b"\x91\x01" * 1000) is None  # type: ignore[func-returns-value]


def test_lengths_are_added_up() -> None:
    """Arrays in arrays that each claim the whole message cannot all be right."""
    claim = b"\xdd\x00\x0f\x42\x40"
    with pytest.raises(Truncated):
        layout.look(claim * 100 + bytes(1_000_000))


@pytest.mark.parametrize(
    ("data", "needed"),
    [
        (b"", False),
        (b"\x91" * WIRE_DEPTH_MAX, False),
        (b"\x91" * (WIRE_DEPTH_MAX + 1), True),
        (b"a" * 10_000, False),
        (b"\xd6\xff\x00\x00\x00\x00", True),
        (b"\xd7\xff" + bytes(8), True),
        (b"\xc7\x0c\xff" + bytes(12), True),
        (b"\xc8\x00\x04\xff" + bytes(4), True),
        (b"\x92\x01\xff", False),
        (b"\x92\x04\xff", True),
    ],
)
def test_few_messages_need_a_look(data: bytes, needed: bool) -> None:
    """False is only said where nothing can be wrong; a look for nothing costs time only."""
    assert layout.needs_look(data) is needed

"""Hostile bytes: one kind of exception, bounded memory, bounded time."""

import time
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from durasim.wire import (
    MalformedBytes,
    Reply,
    decode,
    decode_envelope,
    decode_reply,
    encode,
    encode_envelope,
    encode_reply,
    error_from,
)

from ..strategies import envelopes, replies, same, values
from .sample import CALLS, REPLIES

SEEDS: list[tuple[Callable[[bytes], Any], Callable[[Any], bytes], bytes]] = [
    *((decode_envelope, encode_envelope, encode_envelope(call)) for call in CALLS.values()),
    *((decode_reply, encode_reply, encode_reply(reply)) for reply in REPLIES.values()),
]


def read(decoder: Callable[[bytes], Any], data: bytes) -> Any:
    """The value of *data*, or None if it is refused as it should be."""
    try:
        value = decoder(data)
        if isinstance(value, Reply) and value.error is not None:
            error_from(value.error)
    except MalformedBytes:
        return None
    return value


def mutated(data: bytes, random: Random) -> bytes:
    """*data* with a few bytes changed, dropped, doubled or put in."""
    bytes_ = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(bytes_) + 1)
        match random.randrange(5):
            case 0:
                bytes_[place : place + 1] = random.randbytes(1)
            case 1:
                del bytes_[place : place + random.randint(1, 4)]
            case 2:
                bytes_[place:place] = random.choice(HEADERS)
            case 3:
                bytes_[place:place] = bytes_[place : place + random.randint(1, 12)]
            case _:
                bytes_[place : place + 1] = random.choice(HEADERS)
    return bytes(bytes_)


HEADERS = [
    *(bytes((first,)) for first in (0x80, 0x81, 0x90, 0x91, 0xA1, *range(0xC0, 0xE0), 0xFF)),
    *(b"\xc7\x00" + bytes((code,)) for code in range(1, 5)),
    b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xd6\xff",
    b"\xc7\x11\x12", b"\xd8\x13", b"\xc7\x09\x11", b"\xabtests.Point",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_changed_bytes_are_a_value_or_malformed(seed: int) -> None:
    """2,000 changes a seed; what is still read can be written, and read again."""
    random = Random(seed)
    refused = 0
    for _ in range(2_000):
        decoder, encoder, data = random.choice(SEEDS)
        value = read(decoder, mutated(data, random))
        if value is None:
            refused += 1
        else:
            assert same(tuple(decoder(encoder(value))), tuple(value))

    assert 500 < refused < 2_000


@pytest.mark.parametrize("decoder", [decode, decode_envelope, decode_reply])
@given(data=st.binary(max_size=40))
def test_any_bytes_are_a_value_or_malformed(decoder: Callable[[bytes], Any], data: bytes) -> None:
    """Bytes without any plan behind them."""
    value = read(decoder, data)

    assert value is None or decoder(data) is not None


@given(st.one_of(values.map(encode), envelopes.map(encode_envelope), replies.map(encode_reply)))
def test_every_prefix_is_malformed(data: bytes) -> None:
    """A message that was cut is never taken for another one."""
    for end in range(min(len(data), 200)):
        with pytest.raises(MalformedBytes):
            decode(data[:end])


MEGABYTE = 1 << 20
CLAIM = (MEGABYTE - 1000).to_bytes(4, "big")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param((b"\xdd" + CLAIM) * 1000 + bytes(MEGABYTE), id="arrays that claim it all"),
        pytest.param((b"\xdf" + CLAIM) * 1000 + bytes(MEGABYTE), id="maps that claim it all"),
        pytest.param(b"\xdd\x7f\xff\xff\xff" * 100, id="arrays that claim the world"),
        pytest.param((b"\xdc\x10\x00" * 2000) + bytes(MEGABYTE), id="arrays that are trusted"),
        pytest.param((b"\xdc\x10\x00" * 230) + bytes(MEGABYTE), id="as deep as may be"),
        pytest.param(b"\x91" * MEGABYTE, id="nothing but depth"),
        pytest.param((b"\x92\xc7\x00\x01" * 200_000), id="tuples in tuples"),
        pytest.param(b"\x81\xc0" * 500_000, id="maps in maps"),
        pytest.param(b"\xdb\xff\xff\xff\xff" + bytes(MEGABYTE), id="a text that claims"),
        pytest.param(b"\xc9\x00\x0f\xff\xff\x11" + b"\x7f" * 0xFFFFF, id="an int of a megabyte"),
        pytest.param(b"\xdd" + CLAIM + b"\xc7\x00\x01" * 349_000, id="marks everywhere"),
    ],
)
def test_hostile_bytes_take_little_memory_and_time(data: bytes) -> None:
    """A megabyte of the worst takes a few times its size and a moment, whatever it declares."""
    tracemalloc.start()
    started = time.process_time()
    try:
        value = read(decode, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert value is None or type(value) is int
    assert peak < 24 * len(data) + 16 * MEGABYTE
    assert time.process_time() - started < 5

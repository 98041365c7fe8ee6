"""The decoder finds the same frames however the bytes are cut, and keeps little."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from durasim.wire import (
    BadFrame,
    Frame,
    FrameDecoder,
    FrameKind,
    MalformedBytes,
    TooLarge,
    Truncated,
    encode_frame,
)

frames: st.SearchStrategy[list[Frame]] = st.lists(
    st.builds(Frame, st.sampled_from(FrameKind), st.binary(max_size=40)), min_size=1, max_size=5
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The pieces of *data* between some places."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


@given(frames, st.lists(st.integers(0, 1000), max_size=12))
def test_frames_do_not_depend_on_the_cuts(sent: list[Frame], places: list[int]) -> None:
    """Any pieces give all frames, in order, and leave nothing behind."""
    decoder = FrameDecoder()
    pieces = cut(b"".join(map(encode_frame, sent)), places)

    assert [frame for piece in pieces for frame in decoder.feed(piece)] == sent
    assert decoder.buffered_bytes == 0
    assert decoder.error is None
    decoder.end()


def test_single_bytes_are_enough() -> None:
    """A stream that comes byte by byte is a stream."""
    decoder = FrameDecoder()
    sent = [Frame(FrameKind.CALL, b"one"), Frame(FrameKind.REPLY, b"")]
    data = b"".join(map(encode_frame, sent))

    assert [frame for byte in data for frame in decoder.feed(bytes((byte,)))] == sent


@given(frames, st.lists(st.integers(0, 1000), max_size=12), st.binary(min_size=8, max_size=20))
def test_frames_before_rubbish_arrive_before_the_error(
    sent: list[Frame], places: list[int], rubbish: bytes
) -> None:
    """An error after good frames does not swallow them, wherever the cuts are."""
    decoder = FrameDecoder()
    data = b"".join(map(encode_frame, sent)) + b"\x00" + rubbish
    received: list[Frame] = []
    for piece in cut(data, places):
        try:
            received += decoder.feed(piece)
        except BadFrame:
            break

    assert received == sent
    with pytest.raises(BadFrame):
        decoder.feed(b"")


def test_after_an_error_it_stays_broken() -> None:
    """There is no next frame to find in a stream that lost its frames."""
    decoder = FrameDecoder()
    with pytest.raises(BadFrame):
        decoder.feed(b"GET / HTTP/1.1\r\n")

    for _ in range(2):
        with pytest.raises(BadFrame):
            decoder.feed(encode_frame(Frame(FrameKind.CALL, b"fine")))
        with pytest.raises(BadFrame):
            decoder.end()
    assert decoder.buffered_bytes == 0


@pytest.mark.parametrize("length", [1, 7, 8, 9, 12])
def test_an_end_inside_of_a_frame_is_told(length: int) -> None:
    """A stream that ends in a header or a payload was cut."""
    decoder = FrameDecoder()
    assert decoder.feed(encode_frame(Frame(FrameKind.CALL, b"hello"))[:length]) == []

    with pytest.raises(Truncated, match=f"after {length} bytes"):
        decoder.end()
    with pytest.raises(Truncated):
        decoder.feed(b"")


def test_a_declared_length_is_refused_before_it_is_kept() -> None:
    """A peer that announces more than the bound gets nothing stored for it."""
    decoder = FrameDecoder(payload_bytes_max=10)
    assert decoder.feed(encode_frame(Frame(FrameKind.CALL, bytes(10)))) == [
        Frame(FrameKind.CALL, bytes(10))
    ]
    with pytest.raises(TooLarge):
        decoder.feed(encode_frame(Frame(FrameKind.CALL, bytes(11)))[:8])
    assert decoder.buffered_bytes == 0


def test_memory_stays_below_two_frames() -> None:
    """A slow stream of many frames is not kept."""
    decoder = FrameDecoder()
    data = encode_frame(Frame(FrameKind.CALL, bytes(1000)))
    tracemalloc.start()
    try:
        for _ in range(200):
            for start in range(0, len(data), 100):
                decoder.feed(data[start : start + 100])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 20_000


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_any_bytes_give_frames_or_one_error(data: bytes, places: list[int]) -> None:
    """No other exception, and the same answer for every cut."""

    def outcome(pieces: list[bytes]) -> tuple[list[Frame], type[MalformedBytes] | None]:
        decoder = FrameDecoder()
        received: list[Frame] = []
        try:
            for piece in pieces:
                received += decoder.feed(piece)
            decoder.end()
        except MalformedBytes as error:
            return received, type(error)
        return received, None

    assert outcome([data]) == outcome(cut(data, places))

"""Frames have the bytes that they were published with."""

import json
from pathlib import Path

import pytest

from durasim.wire import (
    FRAME_BYTES_MAX,
    BadFrame,
    ErrorRecord,
    Frame,
    FrameDecoder,
    FrameKind,
    Reply,
    TooLarge,
    UnsendableValue,
    decode_envelope,
    decode_reply,
    encode_envelope,
    encode_frame,
    encode_reply,
)

from .sample import CALL, CALLS, REPLIES

GOLDEN = json.loads((Path(__file__).parent / "golden" / "frames.json").read_text())
"""Name to frame in hex. Added to, never edited: peers and files hold these bytes."""


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_their_golden_frames(name: str) -> None:
    """Today's code writes and reads yesterday's bytes."""
    data = bytes.fromhex(GOLDEN[name])

    assert encode_frame(Frame(FrameKind.CALL, encode_envelope(CALLS[name]))) == data
    (frame,) = FrameDecoder().feed(data)
    assert frame.kind is FrameKind.CALL
    assert decode_envelope(frame.payload) == CALLS[name]


@pytest.mark.parametrize("name", REPLIES)
def test_replies_have_their_golden_frames(name: str) -> None:
    """Today's code writes and reads yesterday's bytes."""
    data = bytes.fromhex(GOLDEN[name])

    assert encode_frame(Frame(FrameKind.REPLY, encode_reply(REPLIES[name]))) == data
    (frame,) = FrameDecoder().feed(data)
    assert frame.kind is FrameKind.REPLY
    assert decode_reply(frame.payload) == REPLIES[name]


def test_every_golden_frame_is_compared() -> None:
    """A frame without its value would be a frame that nobody reads."""
    assert sorted(GOLDEN) == sorted([*CALLS, *REPLIES])


def test_kinds_are_forever() -> None:
    """Numbers of kinds are only added."""
    assert {kind.name: int(kind) for kind in FrameKind} == {
        "HELLO": 1,
        "CALL": 2,
        "REPLY": 3,
        "GOODBYE": 4,
    }


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("d4 01 02 00 00000000", BadFrame),
        ("d5 02 02 00 00000000", BadFrame),
        ("d5 01 00 00 00000000", BadFrame),
        ("d5 01 05 00 00000000", BadFrame),
        ("d5 01 02 01 00000000", BadFrame),
        ("d5 01 02 00 02000001", TooLarge),
        ("d5 01 02 00 ffffffff", TooLarge),
    ],
)
def test_a_header_that_is_not_ours_is_refused(
    header: str, expected: type[BadFrame | TooLarge]
) -> None:
    """Another magic, version, kind, flag or length: refused when the header is there."""
    with pytest.raises(expected) as caught:
        FrameDecoder().feed(bytes.fromhex(header))

    assert type(caught.value) is expected


def test_a_payload_over_the_bound_is_not_framed() -> None:
    """The sender notices first."""
    with pytest.raises(UnsendableValue, match=r"^\$\.payload"):
        encode_frame(Frame(FrameKind.CALL, bytes(FRAME_BYTES_MAX + 1)))


def test_the_largest_payload_passes() -> None:
    """The bound itself is allowed on both sides."""
    frame = Frame(FrameKind.CALL, bytes(FRAME_BYTES_MAX))

    assert FrameDecoder().feed(encode_frame(frame)) == [frame]


def test_the_golden_record_is_read_as_a_record() -> None:
    """The reply with an error has the record as a value of its own class."""
    reply = REPLIES["reply with an error of a system"]

    assert isinstance(reply, Reply)
    assert isinstance(reply.error, ErrorRecord)
    assert CALL.address == ("Counter", "cart-7")

"""Bounds fit each other."""

from pathlib import Path

from durasim.wire import limits


def test_a_frame_carries_the_largest_message() -> None:
    """What the codec lets through, the frame does."""
    assert limits.FRAME_BYTES_MAX >= limits.MESSAGE_BYTES_MAX == 33_554_432


def test_the_deepest_value_fits_the_deepest_message() -> None:
    """Two levels of bytes for one of an object, and a few around it."""
    assert limits.WIRE_DEPTH_MAX > 2 * limits.DEPTH_MAX + 4
    assert limits.DEPTH_MAX == 100


def test_every_bound_has_its_reason() -> None:
    """A comment stands before each constant."""
    lines = Path(limits.__file__).read_text().splitlines()
    constants = [number for number, line in enumerate(lines) if ": Final = " in line]

    assert len(constants) == len([name for name in vars(limits) if name.isupper()])
    assert all(lines[number - 1].startswith("# ") for number in constants)


def test_an_error_fits_a_reply() -> None:
    """What one error may carry, with all its causes, is far below a message."""
    largest = limits.ERROR_DETAIL_BYTES_MAX * 2 + limits.ERROR_TEXT_MAX * 4

    assert largest * (limits.RECORDS_NESTED_MAX + 1) < limits.MESSAGE_BYTES_MAX

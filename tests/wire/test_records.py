"""Records: their shape, and how deep they stand in each other."""

import pytest

from durasim.wire import ErrorRecord, MalformedRecord
from durasim.wire.records import height, record_from


def test_a_record_is_an_array_of_four() -> None:
    """Code, status, message, reason."""
    assert record_from(["CODE", 400, "m", {"a": 1}]) == ErrorRecord("CODE", 400, "m", {"a": 1})
    assert record_from([0, 599, "", None]) == ErrorRecord(0, 599, "", None)


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, 500, "m", None),
        [1, 500, "m"],
        [None, 500, "m", None],
        [1, None, "m", None],
        [1, 500, None, None],
        [1, 500, "m", ()],
        [1, 600, "m", None],
        [2**31, 500, "m", None],
    ],
)
def test_anything_else_is_malformed(value: object) -> None:
    """Length, types and ranges are exact."""
    with pytest.raises(MalformedRecord):
        record_from(value)


def test_height_counts_causes_and_reasons_of_resets() -> None:
    """The longest path counts; the reason of a status error is its own affair."""
    alone = ErrorRecord(200, 500, "m", None)
    caused = ErrorRecord(200, 500, "m", {"cause": list(alone)})
    both = ErrorRecord(202, 500, "m", {"error": list(caused), "cause": list(alone)})
    system = ErrorRecord("CODE", 500, "m", {"cause": "of its own"})

    assert [height(record) for record in (alone, caused, both, system)] == [0, 1, 2, 0]

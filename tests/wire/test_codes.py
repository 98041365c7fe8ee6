"""The table of codes is append-only, and each row is what callers rely on."""

import pytest

from durasim.wire import CODES, CodeRow, ErrorCode, nothing_ran, register_code

GOLDEN = {
    "OVERLOADED": (100, 503, True),
    "METHOD_NOT_FOUND": (101, 404, True),
    "HOST_CLOSED": (102, 503, True),
    "MALFORMED_REQUEST": (103, 400, True),
    "UNKNOWN_CLASS": (104, 404, True),
    "EXCEPTION": (200, 500, False),
    "FOREIGN_EXCEPTION": (201, 500, False),
    "OBJECT_RESET": (202, 500, False),
    "DEADLOCK": (203, 508, False),
    "UNSENDABLE_RESULT": (204, 500, False),
    "OUTCOME_UNKNOWN": (300, 504, False),
}
"""Add to it; what stands here may never change."""


def test_numbers_are_forever() -> None:
    """Each code has the number, status and promise that it was published with."""
    assert {
        code.name: (int(code), CODES[code].status, CODES[code].nothing_ran) for code in ErrorCode
    } == GOLDEN


def test_only_the_first_hundred_promise_that_nothing_ran() -> None:
    """The number alone tells a person which kind of end it was."""
    assert all(nothing_ran(code) == (code < 200) for code in ErrorCode)


def test_an_unknown_code_promises_nothing() -> None:
    """What a newer peer calls a refusal is not taken for one here."""
    assert not nothing_ran("tests.UNHEARD_OF")
    assert not nothing_ran(199)
    assert "tests.UNHEARD_OF" not in CODES


def test_a_system_registers_its_codes() -> None:
    """A row can be added, and added again, and then stays."""
    row = register_code("tests.REFUSED", 503, nothing_ran=True)

    assert row == CodeRow("tests.REFUSED", 503, nothing_ran=True)
    assert CODES["tests.REFUSED"] == row
    assert nothing_ran("tests.REFUSED")
    assert register_code("tests.REFUSED", 503, nothing_ran=True) == row
    with pytest.raises(ValueError, match="has the row"):
        register_code("tests.REFUSED", 503, nothing_ran=False)
    assert CODES["tests.REFUSED"] == row


@pytest.mark.parametrize("status", [0, 200, 399, 600])
def test_a_status_of_success_is_no_row(status: int) -> None:
    """A code of an error has the status of one."""
    with pytest.raises(ValueError, match="not the status of an error"):
        register_code("tests.SUCCESS", status, nothing_ran=True)
    assert "tests.SUCCESS" not in CODES

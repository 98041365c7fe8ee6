"""`ABSENT`: "there is nothing", as a value that is not None."""

from enum import Enum, unique
from typing import Final


@unique
class Absent(Enum):
    """The type of `ABSENT`, so that ``int | None | Absent`` can be written and checked.

    A key that holds None and a key that is not there differ on the platform; this is the second.
    """

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent.ABSENT
"""There is nothing: neither a value nor None."""

"""Faults that could never strike are refused where they are made."""

import re
from collections.abc import Callable

import pytest

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import AlarmTwice, Crash, Evict, FailQuery, Fault, LoseReply


class Shop(DurableObject):
    """Has one method to call, one that is its own, and an alarm."""

    async def sell(self) -> None:
        """Do nothing."""

    def price(self) -> int:
        """Cannot be called from outside."""
        return 1

    async def alarm(self, info: AlarmInfo) -> None:
        """Do nothing."""


def alone() -> None:
    """No method of anything."""


MADE: dict[str, tuple[Callable[[], Fault], str]] = {
    "moment": (
        lambda: Crash(at=("befor commit",)),
        "Crash(at=...) has 'befor commit'; there are 'before commit', 'after commit', 'await'",
    ),
    "a text as moments": (
        lambda: Crash(at="await"),  # type: ignore[arg-type]
        "Crash(at=...) is 'await', not a tuple of some of 'before commit', 'after commit', 'await'",
    ),
    "no moment": (
        lambda: Crash(at=()),
        "Crash(at=...) is (), not a tuple of some of 'before commit', 'after commit', 'await'",
    ),
    "cause": (
        lambda: FailQuery(causes=("lock",)),
        "FailQuery(causes=...) has 'lock'; there are 'locked', 'masked', 'cyclic', 'deep'",
    ),
    "no such method": (
        lambda: LoseReply(Shop.price),
        "LoseReply strikes nowhere: Shop has no public coroutine method 'price'; it has sell",
    ),
    "a function": (
        lambda: LoseReply(alone),
        "LoseReply strikes nowhere: alone is a function, no method of a class",
    ),
    "a value": (
        lambda: LoseReply(3),  # type: ignore[arg-type]
        "LoseReply strikes nowhere: 3 is no class, method or text",
    ),
    "a method of what has none": (
        lambda: AlarmTwice(Shop.alarm),
        (
            "AlarmTwice strikes nowhere: it strikes whole objects, not one method; "
            "say Shop instead of Shop.alarm"
        ),
    ),
    "bound": (
        lambda: LoseReply(at_most=-1),
        "reply lost: at_most is -1, not a number from 0 on",
    ),
    "weight": (lambda: LoseReply(weight=0), "reply lost: weight is 0, not above 0"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_cannot_strike_is_refused(name: str) -> None:
    """One sentence that names what is known."""
    make, said = MADE[name]

    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        make()


def test_what_may_strike_is_taken() -> None:
    """A class, a method, an alarm handler, a text that nobody can check yet."""
    made: list[Fault] = [
        Crash(Shop.alarm, at=("await",)),
        LoseReply(Shop.sell),
        Evict(Shop),
        LoseReply("Elsewhere.sell"),
    ]

    assert [str(each) for each in made] == [
        "crash of Shop.alarm",
        "reply lost of Shop.sell",
        "eviction of Shop",
        "reply lost of Elsewhere.sell",
    ]

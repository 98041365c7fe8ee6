"""The ordinary run as a list of choices: what could have deviated in it, and where.

Strategies that aim (`pct`, `singles`) need it, and the others take their rates from its length: a
rate that finds bugs in ten choices drowns a run of ten thousand.
"""

from collections.abc import Iterable, Sequence
from math import gcd, prod

import attrs

from .choices import split_name
from .network import DELAYS_US

__all__ = ["BEHIND", "OrdinaryLog", "is_move"]

BEHIND = "behind"

Place = tuple[str, str]
"""Name of a choice, and the option to take there."""


def is_move(option: str) -> bool:
    """Whether *option* changes order or time only, and needs no fault plan."""
    return option == BEHIND or option in DELAYS_US


@attrs.frozen
class OrdinaryLog:
    """Every choice of the ordinary run of a scenario with one set of parameters.

    Attributes:
        orders: names of the choices whose event could have gone behind, in order.
        losses: lost replies and crashes that could have struck, in order.
        others: every other fault that could have struck, in order.
        steps: for each actor that sent messages, in order of the first, the choices between two of
            its steps.
    """

    orders: tuple[str, ...]
    losses: tuple[Place, ...]
    others: tuple[Place, ...]
    steps: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, log: Iterable[tuple[str, tuple[str, ...]]]) -> "OrdinaryLog":
        """Make it of the log of a run."""
        orders: list[str] = []
        losses: list[Place] = []
        others: list[Place] = []
        for name, options in log:
            kind = split_name(name)[0]
            for option in options:
                if option == BEHIND:
                    orders.append(name)
                elif is_move(option):
                    continue
                elif is_loss(kind, option):
                    losses.append((name, option))
                else:
                    others.append((name, option))
        return cls(tuple(orders), tuple(losses), tuple(others), steps(orders))

    @property
    def faults(self) -> tuple[Place, ...]:
        """Every fault that could have struck: losses first, then the others."""
        return (*self.losses, *self.others)

    def chain(self, length: int, number: int) -> list[str]:
        """Return the *number*-th chain: one choice of each of *length* actors, in their order.

        Chains come in an order that jumps about, and each comes once before one comes again.
        """
        windows = [self.steps[n : n + length] for n in range(len(self.steps) - length + 1)]
        sizes = [prod(len(actor) for actor in window) for window in windows]
        index = scattered(number, sum(sizes))
        for window, size in zip(windows, sizes, strict=True):
            if index < size:
                return chosen(window, index)
            index -= size
        return []


def is_loss(kind: str, option: str) -> bool:
    """Whether that is a lost reply or a crash: something ran, and its caller cannot know."""
    lost = ("reply", "lost"), ("query", "answer lost")
    return (kind, option) in lost or option.startswith("crash")


def steps(orders: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return for each actor the order choices between its first step and its last.

    A request right after the reply to the same client is left out: whoever waits at one of the two
    waits at the same place. The first and the last choice of an actor are left out: whatever waits
    there has not begun, or is over.
    """
    of: dict[str, list[str]] = {}
    before = ""
    for name in orders:
        kind, _, subject = split_name(name)
        if kind in ("request", "query"):
            actor = subject.rpartition(" by ")[2]
            if actor != before or "/" in actor:
                of.setdefault(actor, []).append(name)
            before = ""
        elif kind == "reply":
            actor = before = subject.rpartition(" to ")[2]
            of.setdefault(actor, []).append(name)
        else:
            before = ""
    return tuple(tuple(names[1:-1] or names) for names in of.values())


def scattered(number: int, count: int) -> int:
    """Return the *number*-th of 0 to *count* - 1, in an order that jumps about."""
    if count < 2:
        return 0
    stride = max(1, int(count * 0.618))
    while gcd(stride, count) != 1:
        stride += 1
    return number * stride % count


def chosen(window: Sequence[Sequence[str]], index: int) -> list[str]:
    """Return one name of each part of *window*, by *index* in mixed radix."""
    names: list[str] = []
    for part in window:
        index, place = divmod(index, len(part))
        names.append(part[place])
    return names

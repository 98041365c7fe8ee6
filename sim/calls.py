"""Calls under way in a diagram: which of them a row of the trace is about.

A row names the caller and the number that it gave to its call. Workers of one class have one name,
and each begins to count anew: of several calls of one number a row is taken to be about the newest
that it fits, since a start waits long while others only ask.
"""

from collections.abc import Callable

import attrs

from .steps import Step

__all__ = ["Call", "Calls"]


@attrs.define(eq=False)
class Call:
    """One call, or query, under way.

    Attributes:
        sent: the step at which it left; None once it has arrived.
        replied: the steps at which its replies left that have not arrived.
        has_replied: whether one has left.
        is_over: whether its caller waits no more.
    """

    target: str
    method: str
    text: str
    route: str
    sent: Step | None = None
    outcome: str = ""
    is_over: bool = False
    has_replied: bool = False
    replied: list[Step] = attrs.field(factory=list[Step])


class Calls:
    """The calls of a diagram, by caller and number."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], list[Call]] = {}

    def add(self, caller: str, number: int, call: Call) -> None:
        """Note that *call* begins."""
        self._calls.setdefault((caller, number), []).append(call)

    def delivered(self, caller: str, number: int, target: str) -> Call | None:
        """Return the call whose request arrives at *target*, perhaps once more."""
        calls = [call for call in self._all(caller, number) if call.target == target]
        return newest(calls, lambda call: call.sent is not None)

    def replied(self, caller: str, number: int) -> Call | None:
        """Return the call whose reply leaves."""
        calls = [call for call in self._all(caller, number) if call.sent is None]
        return newest(calls, lambda call: not call.has_replied)

    def answered(self, caller: str, number: int) -> Call | None:
        """Return the call whose reply arrives."""
        return newest(self._all(caller, number), lambda call: bool(call.replied))

    def lost(self, caller: str, number: int, *, is_request: bool) -> Call | None:
        """Return the call of which a message is lost."""

        def fits(call: Call) -> bool:
            return not call.is_over and (call.sent is not None if is_request else call.has_replied)

        return newest(self._all(caller, number), fits)

    def broken(self, caller: str, number: int) -> Call | None:
        """Return the call that no reply will come for."""
        return newest(self._all(caller, number), lambda call: call.sent is None)

    def _all(self, caller: str, number: int) -> list[Call]:
        return self._calls.get((caller, number), [])


def newest(calls: list[Call], fits: Callable[[Call], bool]) -> Call | None:
    """Return the newest call under way that *fits*; else the newest under way, else the newest."""
    waiting = [call for call in calls if not call.is_over]
    fitting = [call for call in waiting if fits(call)]
    return next(iter([*fitting[-1:], *waiting[-1:], *calls[-1:]]), None)

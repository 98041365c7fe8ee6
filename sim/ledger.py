"""The outside: effects that no crash takes back, kept where no object can change them."""

import attrs

from ..wire import IncarnationGone
from .owner import owner
from .trace import Trace

__all__ = ["Entry", "Ledger"]


@attrs.frozen
class Entry:
    """One effect.

    Attributes:
        kind: what was done, such as "paid".
        value: to what extent.
        actor: who did it.
        time_us: when, virtual microseconds.
    """

    kind: str
    value: object
    actor: str
    time_us: int


class Ledger:
    """What has been done outside, in order. Objects find it as `self.env["ledger"]`."""

    __slots__ = ("_trace", "entries")

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.entries: list[Entry] = []

    def note(self, kind: str, value: object = None) -> None:
        """Do *kind* outside, once for each call; nothing takes it back.

        Raises:
            IncarnationGone: whoever does it is dead, or a task of nobody. Nothing was done.
        """
        incarnation = owner()
        if incarnation is not None:
            incarnation.check()
        if self._trace.is_sealed:
            raise IncarnationGone("the world")
        actor = "scenario" if incarnation is None else incarnation.name
        number = 0 if incarnation is None else incarnation.number
        entry = Entry(kind, value, actor, self._trace.now_us)
        self.entries.append(entry)
        self._trace.add("effect", actor, number, kind, repr(value))

    def count(self, kind: str, value: object = None) -> int:
        """Return how often *kind* was done, with *value* unless that is None."""
        return sum(
            1
            for entry in self.entries
            if entry.kind == kind and (value is None or entry.value == value)
        )

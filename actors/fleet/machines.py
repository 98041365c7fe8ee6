"""A state machine as a value: one ordered table that decides, and from which it is drawn.

Of the rows for a state and an event the first whose guard holds is taken, so that the order of
refusals is the order of rows. Source: spec/deploy-fence.md E.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import attrs

from .codes import refused

__all__ = ["Edge", "Guard", "Machine"]

F = TypeVar("F")


@attrs.frozen
class Guard(Generic[F]):
    """A condition on the facts of one event.

    Attributes:
        text: as a table shows it; empty for what holds always.
        holds: whether *facts* meet it.
    """

    text: str
    holds: Callable[[F], bool] = attrs.field(eq=False)


def always(facts: Any) -> bool:
    """Whether nothing is asked of *facts*: it is so."""
    del facts
    return True


def spread(states: str) -> tuple[str, ...]:
    """Return the names in *states*, which are apart by blanks."""
    return tuple(states.split())


@attrs.frozen
class Edge(Generic[F]):
    """One row of a table.

    Attributes:
        states: where it applies.
        event: what happens there.
        next: the state after it; None for the same one, without a write.
        code: why it is refused, without a write; None if it is not.
        guard: when it applies.
        effect: what is written, in words.
    """

    states: tuple[str, ...] = attrs.field(converter=spread)
    event: str
    next: str | None
    guard: Guard[F] = attrs.field(default=cast("Guard[F]", Guard[Any]("", always)))
    code: str | None = attrs.field(default=None, kw_only=True)
    effect: str = attrs.field(default="", kw_only=True)


@attrs.frozen
class Machine(Generic[F]):
    """The table of one machine.

    Attributes:
        name: for people.
        states: all of them, the first where it begins.
        edges: in the order in which they are tried.
    """

    name: str
    states: tuple[str, ...]
    edges: tuple[Edge[F], ...] = attrs.field(repr=False)

    def edge(self, state: str, event: str, facts: F) -> Edge[F]:
        """Return the row that applies to *event* in *state*.

        Raises:
            LookupError: none does: the event cannot happen there.
        """
        for edge in self.edges:
            if edge.event == event and state in edge.states and edge.guard.holds(facts):
                return edge
        raise LookupError(f"{self.name}: no row for {event!r} in {state}")

    def step(self, state: str, event: str, facts: F, **rest: Any) -> Edge[F]:
        """Return the row that applies, unless it refuses.

        Raises:
            FleetRefused: by the code of the row, with the fields *rest*. Nothing was written.
            LookupError: no row applies.
        """
        edge = self.edge(state, event, facts)
        if edge.code is not None:
            raise refused(edge.code, **rest)
        return edge

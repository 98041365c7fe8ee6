"""The values that a chart is made of: steps, and the participants whose lanes they need."""

from typing import Literal

import attrs

__all__ = ["Arrow", "Diagram", "Step"]

Arrow = Literal["whole", "sent", "arrived", "lost"]


@attrs.frozen(kw_only=True)
class Step:
    """One line of a chart.

    Attributes:
        number: of its row in the trace.
        time_us: virtual microseconds since the world began.
        source: whose lane it starts at; "" for what concerns the whole world.
        target: whose lane it ends at; None if nothing is sent.
        arrow: which part of a message it is, if it is one.
        is_reply: whether the message answers a call.
        text: what is said.
        is_marked: a deviation or a failure: what a reader looks for.
        alive: objects that have an incarnation once the step is done.
        busy: those with a handler in progress.
    """

    number: int
    time_us: int
    source: str
    text: str
    target: str | None = None
    arrow: Arrow | None = None
    is_reply: bool = False
    is_marked: bool = False
    alive: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class Diagram:
    """What a chart draws.

    Attributes:
        participants: those that only call first, then those that are called, each in order of
            appearance.
        objects: those of them that come and go.
        steps: in order.
        is_cut: whether the trace no longer had its beginning.
    """

    participants: tuple[str, ...]
    objects: frozenset[str]
    steps: tuple[Step, ...]
    is_cut: bool

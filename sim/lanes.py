"""Whose lanes a chart needs, and how each participant is at the moment."""

__all__ = ["Lanes"]


class Lanes:
    """The participants of a diagram that grows.

    Attributes:
        comers: those that come and go: objects, workers, programs.
        alive: those of them that are there now.
        busy: those with a handler in progress.
    """

    __slots__ = ("_called", "_running", "alive", "busy", "comers")

    def __init__(self) -> None:
        self.comers: set[str] = set()
        self.alive: frozenset[str] = frozenset()
        self.busy: frozenset[str] = frozenset()
        self._called: dict[str, bool] = {}
        self._running: dict[str, int] = {}

    def acts(self, name: str) -> None:
        """*name* has a lane."""
        self._called.setdefault(name, False)

    def is_called(self, name: str, *, comes: bool) -> None:
        """*name* has a lane among those that are called."""
        self._called[name] = True
        if comes:
            self.comers.add(name)

    def starts(self, name: str) -> None:
        """*name* is there from now on, and idle."""
        self.acts(name)
        self.comers.add(name)
        self.alive |= {name}
        self.begins(name, None)

    def ends(self, name: str) -> None:
        """*name* is no longer there."""
        self.alive -= {name}
        self.begins(name, None)

    def begins(self, name: str, more: int | None = 1) -> None:
        """*name* has *more* handlers in progress than before; None: no handler any more."""
        count = 0 if more is None else max(self._running.get(name, 0) + more, 0)
        self._running[name] = count
        if count and name not in self.busy:
            self.busy |= {name}
        elif not count and name in self.busy:
            self.busy -= {name}

    def in_order(self) -> tuple[str, ...]:
        """Return those that only call, then those that are called, each by first appearance."""
        return tuple(sorted(self._called, key=self._called.__getitem__))

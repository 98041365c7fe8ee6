"""What must hold: always, sometimes, eventually, at rest.

A property is incremental: it keeps a state of its own, sees each event of its kinds once, and is
asked whether it holds. It never reads everything again after each commit.
"""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import trio

from .trace import Row

if TYPE_CHECKING:
    from .world import World

__all__ = ["Property", "always", "at_rest", "eventually", "sometimes"]

S = TypeVar("S")
When = Literal["always", "sometimes", "eventually", "at_rest"]

EFFECTS = ("commit", "effect", "queried")
"""After these kinds of events an `always` of a plain function is asked."""

CALM = "calm"
"""The kind of event after which faults have ended."""


class Property(Generic[S]):
    """One thing that must hold. Subclass it, or use the decorators for a plain function.

    Attributes:
        name: how verdicts call it.
        when: "always": asked after each event of its kinds. "sometimes": must be true at one of
            them in at least one run of a batch. "eventually": must be true at one of them after
            faults have ended, or at the end. "at_rest": asked when nothing is scheduled any more;
            in a world that is cut off before, it is not asked, and the run says so.
        kinds: of the events it sees (`docs/trace.md`).
    """

    name: str = ""
    when: When = "always"
    kinds: tuple[str, ...] = EFFECTS

    def init(self) -> S:
        """Return the state at the beginning of a run."""
        raise NotImplementedError

    def attached(self, state: S, world: "World") -> None:
        """The run begins in *world*. What watches it by other means than `kinds` begins here."""

    def observe(self, state: S, event: Row) -> S:
        """Return the state after *event*."""
        del event
        return state

    def holds(self, state: S, world: "World") -> bool:
        """Whether it holds now. An AssertionError says why not."""
        raise NotImplementedError


class FunctionProperty(Property[None]):
    """A property that is a function of the world."""

    def __init__(self, check: Callable[["World"], Any], when: When) -> None:
        self.name = check.__name__
        self.when = when
        self.__doc__ = check.__doc__
        self._check = check

    def init(self) -> None:
        """No state."""

    def holds(self, state: None, world: "World") -> bool:
        """Ask the function: False and AssertionError mean no, everything else yes."""
        del state
        answer = self._check(world)
        return bool(answer) if self.when == "sometimes" else answer is not False


def always(check: Callable[["World"], Any]) -> FunctionProperty:
    """Make a property of *check*: it must hold after every commit, query and external effect."""
    return FunctionProperty(check, "always")


def sometimes(check: Callable[["World"], Any]) -> FunctionProperty:
    """Make a property of *check*: some run of a batch must reach a state where it is true."""
    return FunctionProperty(check, "sometimes")


def eventually(check: Callable[["World"], Any]) -> FunctionProperty:
    """Make a property of *check*: after faults have ended, it must become true at some moment."""
    return FunctionProperty(check, "eventually")


def at_rest(check: Callable[["World"], Any]) -> FunctionProperty:
    """Make a property of *check*: it must hold when nothing is scheduled any more."""
    return FunctionProperty(check, "at_rest")


class Watch:
    """The properties of one run, attached to its trace."""

    def __init__(self, properties: tuple[Property[Any], ...], world: "World") -> None:
        self._world = world
        self._states: dict[str, Any] = {}
        self._properties = properties
        self._is_calm = False
        self._come: set[str] = set()
        self.reached: dict[str, bool] = {}
        self.unasked: list[str] = []
        for each in properties:
            self._states[each.name] = each.init()
            each.attached(self._states[each.name], world)
            if each.when == "sometimes":
                self.reached[each.name] = False
            for kind in each.kinds:
                world.trace.watchers.setdefault(kind, []).append(self._watcher(each))
            if each.when == "eventually" and CALM not in each.kinds:
                calm = partial(self._come_true, each)
                world.trace.watchers.setdefault(CALM, []).append(calm)

    def _watcher(self, each: Property[Any]) -> Callable[[Row], None]:
        @trio.lowlevel.disable_ki_protection
        def watch(row: Row) -> None:
            try:
                self._states[each.name] = each.observe(self._states[each.name], row)
            except Exception as error:
                message = f"it could not observe a {row.kind}: {type(error).__name__}: {error}"
                self._world.fail(each.name, message.partition("\n")[0])
            if each.when in ("always", "sometimes"):
                self._ask(each)
            elif each.when == "eventually":
                self._come_true(each, row)

        return watch

    @trio.lowlevel.disable_ki_protection
    def _come_true(self, each: Property[Any], row: Row) -> None:
        self._is_calm = self._is_calm or row.kind == CALM
        if self._is_calm and each.name not in self._come:
            # Not yet is no failure, whatever it says: there is time until the end.
            with contextlib.suppress(Exception):
                if each.holds(self._states[each.name], self._world):
                    self._come.add(each.name)

    def settle(self) -> None:
        """The run is at its end: ask what is asked there."""
        for each in self._properties:
            if each.when == "at_rest" and not self._world.is_at_rest:
                self.unasked.append(each.name)
            elif each.name not in self._come and not self.reached.get(each.name, False):
                self._ask(each)

    @trio.lowlevel.disable_ki_protection
    def _ask(self, each: Property[Any]) -> None:
        # Ctrl-C must be able to end a property that does not end, though trio's kernel runs it.
        try:
            holds = each.holds(self._states[each.name], self._world)
            message = (each.__doc__ or each.name).strip().partition("\n")[0]
        except AssertionError as error:
            holds, message = False, str(error) or (each.__doc__ or each.name).strip()
        except Exception as error:
            holds, message = False, f"it could not be asked: {type(error).__name__}: {error}"
            # A `sometimes` that cannot be asked would otherwise look as if it were not reached.
            if each.when == "sometimes":
                self._world.fail(each.name, message)
        if each.when == "sometimes":
            self.reached[each.name] = self.reached[each.name] or bool(holds)
        elif not holds:
            self._world.fail(each.name, message.partition("\n")[0])

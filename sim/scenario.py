"""A scenario: what happens in a world, what may go wrong, and what must hold."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from .faults import Fault
from .properties import Property

if TYPE_CHECKING:
    from .world import World

__all__ = ["Scenario", "scenario"]

SETTLE_S = 3_600.0
ENDS_S = 86_400.0
WHEN = ("always", "sometimes", "eventually", "at_rest")
T = TypeVar("T")
Story = Callable[..., Awaitable[None]]


@attrs.frozen
class Scenario:
    """One story by name. Calling it is what a runner does, with a world.

    Attributes:
        name: how the command line knows it.
        story: the coroutine function; takes the world, and the parameters by name.
        faults: the fault plan.
        properties: what must hold, beside the assertions of the story itself.
        parameters: for each parameter its values; a run draws one of each by its seed.
        settle_s: virtual seconds after the end of the story within which all has to have settled;
            whatever then still goes on, such as an alarm that is set again and again, is left.
            What goes on at one instant for 100,000 events is a failure of "no livelock", unless 0.
        ends_s: virtual seconds within which the story itself has to end. Looked at every 100,000
            events, so that a year without much in it may pass; a loop that waits for ever for what
            never comes is a failure of "no livelock" instead of a run without an end.
        title: the first line of the story's docstring.
    """

    name: str
    story: Story = attrs.field(eq=False)
    faults: tuple[Fault, ...] = ()
    properties: tuple[Property[Any], ...] = ()
    parameters: Mapping[str, Sequence[Any]] = attrs.field(factory=dict[str, Sequence[Any]])
    settle_s: float = SETTLE_S
    ends_s: float = ENDS_S

    @property
    def title(self) -> str:
        """What it is about, in one line."""
        return (self.story.__doc__ or self.name).strip().partition("\n")[0]

    async def __call__(self, world: "World", **parameters: Any) -> None:
        """Tell the story."""
        await self.story(world, **parameters)


def scenario(
    *misplaced: object,
    faults: tuple[Fault, ...] = (),
    properties: tuple[Property[Any], ...] = (),
    parameters: Mapping[str, Sequence[Any]] | None = None,
    name: str | None = None,
    settle_s: float = SETTLE_S,
    ends_s: float = ENDS_S,
) -> Callable[[Story], Scenario]:
    """Make a scenario of a coroutine function that takes a world.

    Raises:
        TypeError: an argument is not what it has to be; one sentence says which.
    """
    if misplaced:
        raise TypeError("scenario takes named arguments only: write @scenario() with parentheses")
    plan = series("faults", faults, Fault)
    claims = series("properties", properties, cast(type[Property[Any]], Property))
    for claim in claims:
        require_whole(claim)
    values = dict(parameters or {})
    for parameter, each in cast(dict[str, object], values).items():
        if isinstance(each, str) or not isinstance(each, Sequence) or not each:
            raise TypeError(
                f"parameter {parameter!r} of a scenario is {each!r}, not a list of its values"
            )

    def make(story: Story) -> Scenario:
        if not inspect.iscoroutinefunction(story):
            raise TypeError(f"a scenario is made of an `async def`, and {story!r} is none")
        require_taken(story, values)
        return Scenario(name or story.__name__, story, plan, claims, values, settle_s, ends_s)

    return make


def series(name: str, given: object, kind: type[T]) -> tuple[T, ...]:
    """Return *given* as a tuple of values of *kind*, or raise a TypeError of one sentence."""
    what = kind.__name__
    if isinstance(given, kind):
        raise TypeError(
            f"{name} of a scenario is one {type(given).__name__}, not a tuple: "
            "a tuple of one has a comma, `(…,)`"
        )
    if not isinstance(given, tuple | list):
        raise TypeError(f"{name} of a scenario is {given!r}, not a tuple of {what}")
    found: list[T] = []
    for each in cast(Sequence[Any], given):
        if isinstance(each, kind):
            found.append(each)
        elif isinstance(each, type) and issubclass(each, kind):
            raise TypeError(
                f"{name} of a scenario has the class {each.__name__} in it: "
                f"write {each.__name__}(), an instance"
            )
        elif inspect.isfunction(cast(object, each)) and what == "Property":
            raise TypeError(
                f"{name} of a scenario has the plain function {each.__name__} in it: "
                "decorate it with always, sometimes, eventually or at_rest"
            )
        else:
            raise TypeError(f"{name} of a scenario has {each!r} in it, which is no {what}")
    return tuple(found)


def require_whole(claim: Property[Any]) -> None:
    """Refuse a property that cannot be asked."""
    cls = type(claim)
    for method in ("init", "holds"):
        if getattr(cls, method) is getattr(Property, method):
            raise TypeError(f"property {cls.__name__} has no method {method}")
    if not claim.name:
        raise TypeError(f"property {cls.__name__} has no name: verdicts call it by `name`")
    if claim.when not in WHEN:
        raise TypeError(
            f"property {claim.name!r} has when = {claim.when!r}; there are {', '.join(WHEN)}"
        )
    if isinstance(claim.kinds, str):
        raise TypeError(f"property {claim.name!r} has kinds = {claim.kinds!r}, not a tuple of them")


def require_taken(story: Story, values: Mapping[str, Sequence[Any]]) -> None:
    """Refuse a story that cannot be called with a world and the parameters."""
    try:
        inspect.signature(story).bind(None, **dict.fromkeys(values))
    except TypeError as error:
        given = ", ".join(("a world", *map(repr, values)))
        raise TypeError(
            f"scenario {story.__name__} cannot be called with {given}: {error}"
        ) from error

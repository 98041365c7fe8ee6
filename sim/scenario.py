"""A scenario: what happens in a world, what may go wrong, and what must hold."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from .faults import Fault

if TYPE_CHECKING:
    from .properties import Property
    from .world import World

__all__ = ["Scenario", "scenario"]

SETTLE_S = 3_600.0
ENDS_S = 86_400.0
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
        ends_s: virtual seconds within which the story itself has to end. Looked at every 100,000
            events, so that a year without much in it may pass; a loop that waits for ever for what
            never comes is a failure of "no livelock" instead of a run without an end.
        title: the first line of the story's docstring.
    """

    name: str
    story: Story = attrs.field(eq=False)
    faults: tuple[Fault, ...] = ()
    properties: "tuple[Property[Any], ...]" = ()
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
    *,
    faults: tuple[Fault, ...] = (),
    properties: "tuple[Property[Any], ...]" = (),
    parameters: Mapping[str, Sequence[Any]] | None = None,
    name: str | None = None,
    settle_s: float = SETTLE_S,
    ends_s: float = ENDS_S,
) -> Callable[[Story], Scenario]:
    """Make a scenario of a coroutine function that takes a world."""

    def make(story: Story) -> Scenario:
        named = name or story.__name__
        return Scenario(named, story, faults, properties, dict(parameters or {}), settle_s, ends_s)

    return make

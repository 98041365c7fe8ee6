"""A scenario: what happens in a world, what may go wrong, and what must hold."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from .faults import Fault

if TYPE_CHECKING:
    from .properties import Property
    from .world import World

__all__ = ["Scenario", "scenario"]

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
        title: the first line of the story's docstring.
    """

    name: str
    story: Story = attrs.field(eq=False)
    faults: tuple[Fault, ...] = ()
    properties: "tuple[Property[Any], ...]" = ()
    parameters: Mapping[str, Sequence[Any]] = attrs.field(factory=dict[str, Sequence[Any]])

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
) -> Callable[[Story], Scenario]:
    """Make a scenario of a coroutine function that takes a world."""

    def make(story: Story) -> Scenario:
        return Scenario(name or story.__name__, story, faults, properties, dict(parameters or {}))

    return make

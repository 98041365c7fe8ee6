"""One run that lives in an object of its own: a story with it, and what it may leave."""

from collections.abc import Awaitable, Callable
from typing import Any

from durasim.sim import World

from .stage import Stage, play

RUN = "order:r1"
JOURNAL = "flowsafe:run-owner-recovery:v1"
DEADLINE = "flowsafe:run-deadline:v1"

Story = Callable[[Stage], Awaitable[None]]


def tell(story: Story, design: str = "router", state: str = "open", **more: Any) -> None:
    """Run *story* with a deployment over objects."""

    async def whole(world: World) -> None:
        await story(await Stage(world, "objects", design, **more).open(state))

    play(whole)


def nothing_is_left(stage: Stage, run: str = RUN) -> bool:
    """Whether no trace of a run is anywhere."""
    rows = stage.query("SELECT * FROM flowsafe_runs")
    return not rows and JOURNAL not in stage.stored(run) and not stage.owners()

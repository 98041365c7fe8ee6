"""A small stage for actors: a story told in a world, with the deviations that a test asks for."""

from collections.abc import Awaitable, Callable, Iterable

import trio
import trio.testing

from durasim.actors import Pending, Section
from durasim.sim import Fault, Job, Recorded, RunResult, Scenario, World, run_once

Story = Callable[[World], Awaitable[None]]


def tell(
    story: Story, *deviations: tuple[str, str], faults: Iterable[Fault] = (), keep: int = 20_000
) -> RunResult:
    """Run *story*; it must hold, and every deviation asked for must have happened."""
    told = Scenario("story", story, tuple(faults))
    result = run_once(Job(scenario=told, seed=1, source=Recorded(deviations), keep=keep))

    assert not result.failures, result.failures
    happened = [(each.choice, each.option) for each in result.deviations]
    assert happened == list(deviations), happened
    return result


def kinds(result: RunResult, *wanted: str) -> list[str]:
    """Return the kinds of the trace's rows, only those *wanted*."""
    return [row.kind for row in result.rows if row.kind in wanted]


class Someone:
    """An owner of outcomes without gates and without a world."""

    alive = True

    def check(self) -> None:
        """It never dies."""

    def emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Let it out at once."""
        action(*arguments)

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Let it in at once."""
        del scope
        action()

    def waits(self, pending: Pending) -> None:
        """Nobody asks who waits."""


async def begin(work: Callable[[], Awaitable[None]], nursery: trio.Nursery) -> None:
    """Start *work* and let it come to where it waits."""
    nursery.start_soon(work)
    await trio.testing.wait_all_tasks_blocked()

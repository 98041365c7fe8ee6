"""A small stage for actors: a story told in a world, with the deviations that a test asks for."""

from collections.abc import Awaitable, Callable, Iterable

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

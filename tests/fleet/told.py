"""How tests of the simulated fleet run a story."""

from collections.abc import Awaitable, Callable
from typing import Any

from durasim.sim import (
    Fault,
    Job,
    Ordinary,
    Property,
    Recorded,
    RunResult,
    World,
    run_once,
    scenario,
)

__all__ = ["told"]

Story = Callable[[World], Awaitable[None]]


def told(
    story: Story,
    *properties: Property[Any],
    faults: tuple[Fault, ...] = (),
    deviations: tuple[tuple[str, str], ...] = (),
    seed: int = 1,
) -> RunResult:
    """Run *story* once, with exactly these deviations."""
    made = scenario(faults=faults, properties=properties)(story)
    source = Recorded(deviations) if deviations else Ordinary()
    return run_once(Job(scenario=made, seed=seed, source=source))

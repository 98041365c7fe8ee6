"""`ScheduledRuns`: the fires of schedules as runs, wherever runs live.

A fire has its run id before it is started, so that whether it was can be asked for at any time; its
start takes no idempotency key, and nothing is given back.
"""

from .runtime import RunOrder
from .schedules import Fire
from .topology import RunTopology

__all__ = ["ScheduledRuns"]


class ScheduledRuns:
    """The `FireSurface` of a topology."""

    def __init__(self, topology: RunTopology) -> None:
        """Start fires in *topology*."""
        self._topology = topology

    async def start(self, fire: Fire) -> None:
        """As `FireSurface.start`."""
        order = RunOrder(
            workflow_id=fire.workflow_id,
            run_id=fire.run_id,
            owner=fire.owner,
            payload=fire.input,
            schedule_id=fire.schedule_id,
        )
        await self._topology.start(order)

    async def exists(self, fire: Fire) -> bool:
        """As `FireSurface.exists`."""
        return await self._topology.dispatched(fire.workflow_id, fire.run_id) is not None

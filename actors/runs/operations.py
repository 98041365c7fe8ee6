"""`Operations`: what whoever operates a deployment asks for from inside of it.

It is no route: nobody reaches it but programs of the deployment's own, and whoever keeps time.
"""

import attrs

from ..object import DurableObject
from .process import PROCESS, Front, RunProcess
from .wiring import Services, deployment_of, provision

__all__ = ["OPERATIONS", "Operations"]

OPERATIONS = "operations"
"""The name of the one object."""


class Operations(DurableObject, durable=False):
    """Provisioning, and passes over what is due. It keeps nothing."""

    async def provision(self, state: str) -> None:
        """Make the database this deployment's, born as *state*; once more changes nothing.

        Raises:
            DoStatusError, RunError: it could not be done, or nobody can tell. Ask again.
        """
        await provision(self, state)

    async def tick(self) -> dict[str, int]:
        """Start what schedules owe, once; returns how many fires came to what."""
        if deployment_of(self).topology == "process":
            return await self.objects.get(RunProcess, PROCESS).tick()
        return attrs.asdict(await Front(self).tick().tick())

    async def notify(self) -> dict[str, int]:
        """Send the notifications that are due, once; returns how many came to what."""
        return attrs.asdict(await Services(self).notification_dispatch().tick())

    async def work(self) -> dict[str, int]:
        """Do the background tasks that are due, once; returns how many came to what.

        Raises:
            DoStatusError: the fence is shut, or what is due cannot be read. Nothing was done.
        """
        return attrs.asdict(await Services(self).tasks.dispatch())

    async def poll(self) -> dict[str, int]:
        """Ask each provider for what is new, once; returns how many items were handed on."""
        return attrs.asdict(await Services(self).provider_poll().poll())

    async def purge(self) -> dict[str, int]:
        """Delete old runs, and old keys whose runs are gone, once; returns how many of what.

        Raises:
            DoStatusError: what is old cannot be read. Nothing was purged.
        """
        return attrs.asdict(await Services(self).retention().purge())

"""Homes of runs that are out of order: slow, or not understood by whoever asks."""

from ...actors import WebRequest, WebResponse
from ...actors.runs import RunObject, RunOwners, ThreadObject
from ..world import World

__all__ = ["garbled_homes", "slow_homes", "slow_registry"]

SLOW_S = 1.0
GARBLED = WebResponse(503, b"<html>Service Unavailable</html>", {})


class SlowRun(RunObject, name=RunObject.stored_name):
    """A run whose refusals take a second to leave."""

    async def serve(self, request: WebRequest) -> WebResponse:
        """Answer *request*, in a while if it is refused."""
        response = await super().serve(request)
        await self.sleep(SLOW_S if response.status == 503 else 0)
        return response


class SlowThread(ThreadObject, name=ThreadObject.stored_name):
    """A thread whose refusals take a second to leave."""

    async def serve(self, request: WebRequest) -> WebResponse:
        """Answer *request*, in a while if it is refused."""
        response = await super().serve(request)
        await self.sleep(SLOW_S if response.status == 503 else 0)
        return response


class GarbledRun(RunObject, name=RunObject.stored_name):
    """A run behind something that answers a 503 in words of its own."""

    async def serve(self, request: WebRequest) -> WebResponse:
        """Answer *request*; a refusal cannot be read."""
        response = await super().serve(request)
        return GARBLED if response.status == 503 else response


class GarbledThread(ThreadObject, name=ThreadObject.stored_name):
    """A thread behind something that answers a 503 in words of its own."""

    async def serve(self, request: WebRequest) -> WebResponse:
        """Answer *request*; a refusal cannot be read."""
        response = await super().serve(request)
        return GARBLED if response.status == 503 else response


class SlowRegistry(RunOwners, name=RunOwners.stored_name):
    """A registry that takes 5 ms to reserve, and 200 ms to forget."""

    async def reserve(self, run: str, token: str, kind: str, owner_id: str) -> None:
        """Reserve, in a while."""
        await self.sleep(0.005)
        await super().reserve(run, token, kind, owner_id)

    async def release(self, run: str, token: str) -> bool:
        """Forget, in a while."""
        await self.sleep(0.2)
        return await super().release(run, token)


def slow_homes(world: World) -> None:
    """Let refusals take their time."""
    world.machine("homes", (SlowRun, SlowThread))


def garbled_homes(world: World) -> None:
    """Let no refusal be readable."""
    world.machine("homes", (GarbledRun, GarbledThread))


def slow_registry(world: World) -> None:
    """Let owners be reserved and forgotten slowly."""
    world.machine("registry", (SlowRegistry,))

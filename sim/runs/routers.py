"""Routers to which something happens on purpose: slow between two steps, or heard too late.

What a world's faults bring about now and then, these do in every run: a story that is about one
moment need not wait for it.
"""

from contextlib import suppress
from typing import Any

from ...actors import WebRequest, WebResponse
from ...actors.runs import (
    Front,
    Reservation,
    RunRouter,
    Services,
    StartReservations,
    giveback,
    reservations,
    topology,
)

__all__ = ["RepeatingRouter", "SlowReader", "SlowSealer"]

READ_S = 0.1
"""How long a slow reader takes from the insert of a row to the look at it."""
SEAL_S = 0.005
RELEASE_S = 0.05
"""How long a slow sealer takes before it seals, and then before it gives back."""
AGAIN_S = 5
"""When a transport that has lost an answer sends the start again."""


class SlowRows(StartReservations):
    """Rows that one router is slow to read, or to give back."""

    def __init__(self, services: Services, *, read_s: float = 0, release_s: float = 0) -> None:
        """Wait so long before either, in the actor of *services*."""
        super().__init__(services.context.database, services.now_ms)
        self._sleep = services.context.sleep
        self._read_s = read_s
        self._release_s = release_s

    async def read(self, key: str) -> Reservation | None:
        """Read, in a while."""
        await self._sleep(self._read_s)
        return await super().read(key)

    async def release_exact(self, claim: reservations.Claim) -> bool:
        """Give back, in a while."""
        await self._sleep(self._release_s)
        return await super().release_exact(claim)


class SlowReader(RunRouter):
    """A router that makes a row, and is overtaken before it reads it back (case 19)."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer *request*, late."""
        front = Front(self)
        front.services.store = SlowRows(front.services, read_s=READ_S)
        return await front.answer(request)


class SlowSeal(topology.ObjectBacked):
    """Runs whose claims are sealed a while after they were found not to be live."""

    async def seal(self, reservation: Reservation) -> bool:
        """Seal, in a while."""
        await self._services.context.sleep(SEAL_S)
        return await super().seal(reservation)


class SlowSealer(RunRouter):
    """A router that is overtaken before it seals a claim, and again before it gives it back."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer *request*, late."""
        front = Front(self, SlowSeal(Services(self)))
        services = front.services
        services.give_back = giveback.Sealer(SlowRows(services, release_s=RELEASE_S), services.log)
        return await front.answer(request)


class Repeating(topology.ObjectBacked):
    """Runs whose starts arrive twice: the first answer is lost, and the start is sent again."""

    async def start(self, order: Any) -> Any:
        """Start, and hear only what is answered to the second delivery."""
        with suppress(Exception):
            await super().start(order)
        await self._services.context.sleep(AGAIN_S)
        return await super().start(order)


class RepeatingRouter(RunRouter):
    """A router on a transport that sends a start again when it has lost the answer (case 41)."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer *request* by what the second delivery of its start gave."""
        return await Front(self, Repeating(Services(self))).answer(request)

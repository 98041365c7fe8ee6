"""Objects that wait in the middle of what they do."""

from contextvars import ContextVar
from typing import Any

import pytest
import trio

from durasim.actors import DurableObject

LEAK = ContextVar("leak", default="nothing")


class Slow(DurableObject):
    """Waits in the middle of what it does."""

    async def work(self, name: str, seconds: float = 1.0) -> list[str]:
        """Note the beginning and the end."""
        log: list[str] = await self.storage.get("log", [])
        await self.storage.put("log", [*log, f"{name} begins"])
        await self.sleep(seconds)
        log = await self.storage.get("log", [])
        await self.storage.put("log", [*log, f"{name} ends"])
        return await self.storage.get("log", [])

    async def blocked(self, name: str) -> list[str]:
        """The same inside a critical section."""
        return await self.block_concurrency_while(lambda: self.work(name))

    async def fails_blocked(self) -> None:
        """A critical section that raises."""

        async def fail() -> None:
            raise ValueError("on purpose")

        with pytest.raises(ValueError, match="on purpose"):
            await self.block_concurrency_while(fail)

    async def blocks_for_ever(self) -> None:
        """A critical section that never ends."""
        await self.block_concurrency_while(trio.sleep_forever)

    async def log(self) -> list[str]:
        """What happened."""
        return await self.storage.get("log", [])


class Serial(Slow):
    """The same, one request after the other."""

    delivery = "serial"
    mailbox_requests_max = 3

    async def context_leaks(self, value: str) -> str:
        """Return what an earlier request left in a context variable."""
        before = LEAK.get()
        LEAK.set(value)
        return before


async def together(*calls: Any) -> list[Any]:
    """Await all *calls*, which were made already; errors are results."""
    results: list[Any] = []
    for call in calls:
        try:
            results.append(await call)
        except Exception as error:
            results.append(error)
    return results

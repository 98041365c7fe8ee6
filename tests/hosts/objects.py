"""Objects that the tests of hosts run."""

from datetime import timedelta

import trio

from durasim.actors import AlarmInfo, DurableObject, Route, WebRequest, WebResponse, Worker


class Counter(DurableObject):
    """Counts, each request once."""

    async def increment(self, by: int = 1) -> int:
        """Add and return the total."""
        total: int = await self.storage.get("total", 0) + by
        await self.storage.put("total", total)
        return total

    async def once(self, request: str) -> int:
        """Count *request*; a repeated one gets its first answer."""
        answered: int | None = await self.storage.get(f"request/{request}")
        if answered is not None:
            return answered
        total = await self.increment()
        await self.storage.put(f"request/{request}", total)
        return total

    async def total(self) -> int:
        """Return the total."""
        total: int = await self.storage.get("total", 0)
        return total

    async def slowly(self, seconds: float) -> int:
        """Count after a while."""
        await self.sleep(seconds)
        return await self.increment()

    async def fail(self) -> None:
        """Raise."""
        raise ValueError("as asked")

    async def break_down(self) -> None:
        """Write, then reset."""
        await self.increment()
        self.abort("as asked")

    async def large(self, size: int) -> None:
        """Store *size* bytes."""
        await self.storage.put("large", bytes(size))

    async def seen(self, name: str) -> object:
        """Return what `env` has under *name*."""
        return self.env[name]


class SerialCounter(Counter):
    """The same, one request after the other."""

    delivery = "serial"


class Front(DurableObject):
    """Calls another object."""

    async def through(self, name: str, seconds: float = 0.0) -> int:
        """Increment the counter *name*, after a while."""
        await self.sleep(seconds)
        return await self.objects.get(Counter, name).increment()


class WithSql(DurableObject, sql=True):
    """Asks for what an embedded host does not have."""


class Asking(DurableObject):
    """Calls an object whose class the host refuses."""

    async def ask(self) -> None:
        """Get no stub."""
        self.objects.get(WithSql, "a")


class Door(Worker):
    """Answers requests by calling an object."""

    routes = (Route("POST", "/carts/{cart}", "add"),)

    async def add(self, request: WebRequest, cart: str) -> WebResponse:
        """Count."""
        del request
        return WebResponse(200, await self.objects.get(Counter, cart).increment())


class Bell(DurableObject):
    """Has an alarm that counts, and fails as often as told."""

    async def set(self, seconds: float, failures: int = 0) -> None:
        """Ring after *seconds*."""
        await self.storage.put("failures", failures)
        await self.storage.set_alarm(timedelta(seconds=seconds))

    async def rung(self) -> list[int]:
        """Return the retry count of each run."""
        rung: list[int] = await self.storage.get("rung", [])
        return rung

    async def alarm(self, info: AlarmInfo) -> None:
        """Note the run."""
        rung = await self.rung()
        await self.storage.put("rung", [*rung, info.retry_count])
        failures: int = await self.storage.get("failures", 0)
        if failures > len(rung):
            raise ValueError("as asked")


class Sleeper(DurableObject):
    """Sleeps without a gate, and notes when it is cancelled."""

    async def sleep_forever(self) -> None:
        """Never end."""
        await trio.sleep_forever()

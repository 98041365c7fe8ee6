"""A stub is typed as its class, wherever it comes from; a wrong call is found by both checkers."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from typing import assert_type

from durasim.actors import DurableObject, ObjectsLike
from durasim.hosts import EmbeddedHost


class Counter(DurableObject):
    """Counts, and asks another counter."""

    async def increment(self, by: int = 1) -> int:
        """Add *by* and return the total."""
        total = await self.storage.get("total", 0) + by
        assert_type(total, int)
        await self.storage.put("total", total)
        return total

    async def follow(self, name: str) -> int:
        """Return the total of another counter."""
        other = self.objects.get(Counter, name)
        assert_type(other, Counter)
        return assert_type(await other.increment(by=0), int)


async def embedded(host: EmbeddedHost) -> None:
    """A host gives out what `objects` gives out."""
    counter = host.get(Counter, "cart-7")
    assert_type(counter, Counter)
    assert_type(await counter.increment(by=2), int)

    await counter.increment(by="2")  # type: ignore[arg-type]
    await counter.decrement()  # type: ignore[attr-defined]
    host.get(int, "cart-7")  # type: ignore[type-var]
    host.get(Counter)  # type: ignore[call-arg]


async def anywhere(objects: ObjectsLike) -> None:
    """Code that takes either needs to name neither."""
    assert_type(await objects.get(Counter, "cart-7").increment(), int)


async def entered() -> None:
    """Entering a host gives the host."""
    async with EmbeddedHost("objects.db") as host:
        assert_type(host, EmbeddedHost)
        await anywhere(host)

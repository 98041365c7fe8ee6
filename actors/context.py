"""What the code of every actor can use."""

from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from .actor import Actor
    from .objects import Objects
    from .ports import Database

__all__ = ["Context"]


class Context:
    """Stubs, database, clock, chance and `env`: the whole of what an actor sees of the world."""

    _actor: "Actor"

    @property
    def objects(self) -> "Objects":
        """Stubs of objects and workers."""
        return self._actor.objects

    @property
    def database(self) -> "Database":
        """The SQL database that everybody shares; a query is an event, as a call is."""
        return self._actor.database

    @property
    def env(self) -> Mapping[str, object]:
        """What the host gives to all that run on it."""
        return self._actor.ports.env

    def now(self) -> datetime:
        """Return the host's wall clock, which may be wrong; aware, UTC."""
        return self._actor.now()

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Return what to await to wait so long. The time runs from this call, awaited or not.

        An object passes its input gate before it goes on. Other events enter meanwhile.
        """
        return self._actor.sleep(seconds)

    def token_bytes(self, count: int = 16) -> bytes:
        """Return *count* random bytes."""
        return self._actor.draw(count)

    def uuid(self) -> UUID:
        """Return a random UUID (version 4)."""
        return UUID(bytes=self._actor.draw(16), version=4)

    def random(self) -> float:
        """Return a random number from 0 (inclusive) to 1 (exclusive)."""
        return (int.from_bytes(self._actor.draw(8)) >> 11) / (1 << 53)

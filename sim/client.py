"""Who calls from outside of all objects: a participant without gates and storage."""

from typing import TYPE_CHECKING, TypeVar

from ..actors import CALL_DEADLINE_S, Address, DurableObject, SharedDatabase, Worker
from ..hosts import Client
from ..wire import IncarnationGone
from .machine import HostClock
from .owner import owner

if TYPE_CHECKING:
    from .world import World

__all__ = ["WorldClient", "refuse_dead"]

T = TypeVar("T", bound=DurableObject)
W = TypeVar("W", bound=Worker)


def refuse_dead(world: "World") -> None:
    """Refuse whoever is dead but still runs, and what is run by nobody.

    Raises:
        IncarnationGone: it is dead or nobody, or the whole world is over. Nothing was done.
    """
    actor = owner()
    if actor is not None:
        actor.check()
    if world.is_over:
        raise IncarnationGone("the world")


class Outsider(Client):
    """A `Client` that does nothing for the dead: code of an object can get hold of it, too."""

    __slots__ = ("_world",)

    def __init__(self, world: "World", name: str) -> None:
        self._world = world
        super().__init__(name, HostClock(world.default()), world.network, "")

    @property
    def alive(self) -> bool:
        """Whether whoever asks may act."""
        try:
            actor = owner()
        except IncarnationGone:
            return False
        return not self._world.is_over and (actor is None or actor.alive)

    @alive.setter
    def alive(self, value: bool) -> None:
        del value


class WorldClient:
    """A participant without storage and gates, by name."""

    __slots__ = ("_client", "_world", "name")

    def __init__(self, world: "World", name: str) -> None:
        self._world = world
        self.name = name
        self._client = Outsider(world, name)

    def awaited(self) -> list[Address]:
        """Whose replies it waits for."""
        return [call.address for call in self._client.calls.pending.values() if call.is_awaited()]

    @property
    def database(self) -> SharedDatabase:
        """The shared database, over the hop that everybody has to it."""
        return SharedDatabase(self._client.calls.owner, self.name, self._world.database)

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub of the object *name* of *cls*, as `EmbeddedHost.get`."""
        refuse_dead(self._world)
        self._world.learn(cls)
        return self._client.objects.get(cls, name, deadline_s=deadline_s)

    def worker(self, cls: type[W], *, deadline_s: float = CALL_DEADLINE_S) -> W:
        """Return a stub of the worker *cls*, whose one method is `fetch`."""
        refuse_dead(self._world)
        self._world.learn(cls)
        return self._client.objects.worker(cls, deadline_s=deadline_s)

"""From a class and a name to a stub."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ..wire import Address
from .calls import Calls
from .limits import CALL_DEADLINE_S

if TYPE_CHECKING:
    from .object import DurableObject
    from .worker import Worker

__all__ = ["Objects", "ObjectsLike"]

T = TypeVar("T", bound="DurableObject")
W = TypeVar("W", bound="Worker")


class ObjectsLike(Protocol):
    """Whoever gives out stubs: a host, a client of a world, an object."""

    def get(self, cls: type[T], name: str, *, deadline_s: float = ...) -> T:
        """Return a stub of the object *name* of *cls*."""
        ...


class Objects:
    """The objects that one participant can call."""

    __slots__ = ("_calls", "_met")

    def __init__(self, calls: Calls, met: Callable[[Any], None] | None = None) -> None:
        """Give out stubs whose calls are *calls*; *met* is told each class asked for."""
        self._calls = calls
        self._met = met

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub of the object *name* of *cls*: typed as the class, a stub at run time.

        Nothing is sent. *deadline_s* is how many seconds each call may take before it ends as
        `OutcomeUnknown`.

        Raises:
            ValueError: another class is known by its stored name. No stub was made.
        """
        self._calls.owner.check()
        if self._met is not None:
            self._met(cls)
        return cast(T, self._calls.stub(Address(cls.stored_name, name), cls.methods, deadline_s))

    def worker(self, cls: type[W], *, deadline_s: float = CALL_DEADLINE_S) -> W:
        """Return a stub of the worker *cls*, whose one method is `fetch`. Nothing is sent."""
        self._calls.owner.check()
        if self._met is not None:
            self._met(cls)
        return cast(W, self._calls.stub(Address(cls.stored_name, ""), cls.methods, deadline_s))

"""An awaitable that is already there: awaiting own storage ends no turn."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

__all__ = ["DONE", "Ready"]

T = TypeVar("T")


class Ready(Generic[T]):
    """A value to await without suspending. Awaiting it is optional."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, Any, T]:
        return self._value
        yield

    def __repr__(self) -> str:
        return f"Ready({self._value!r})"


DONE: Ready[None] = Ready(None)
"""What a write returns: it took effect at the call."""

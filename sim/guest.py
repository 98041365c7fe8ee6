"""What a kernel asks of the world that it runs."""

from typing import Any, Protocol

__all__ = ["Ending", "Guest"]


class Ending(Protocol):
    """Whose turn ends."""

    def end_turn(self) -> None:
        """The turn is over."""
        ...


class Guest(Protocol):
    """The world that a kernel runs at the moment."""

    def before_end(self, ending: Any) -> None:
        """A turn is about to end."""
        ...

    def split(self, batch: list[Any]) -> None:
        """More than one task of the world woke: leave one in *batch*."""
        ...

    def put_behind(self, batch: list[Any]) -> None:
        """Tasks run on and on without waiting: let them wake behind all else of this instant."""
        ...

    def watch(self, batch: list[Any]) -> None:
        """What is left in *batch* runs now."""
        ...

    def quiet(self) -> None:
        """Nothing is scheduled any more."""
        ...

    def sort_out(self, batch: list[Any]) -> bool:
        """Somebody has died: leave in *batch* who may run; returns whether it is a turn."""
        ...

    def reap(self) -> bool:
        """Somebody has died, and nothing can run: go on with that. Returns whether all is over."""
        ...

    def look(self) -> None:
        """Many events have happened: end the world if they lead nowhere."""
        ...

    def fail(self, name: str, message: str) -> None:
        """Property *name* does not hold."""
        ...

    def failed(self, error: BaseException) -> None:
        """Something in the kernel raised: end the world."""
        ...

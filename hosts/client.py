"""The participant that stands for the program around a host: it has no gates and no storage."""

from collections.abc import Callable

from ..actors import Calls, Clock, Objects, Pending, Section, Transport


class Client:
    """Who makes the calls of a program. As an `Owner` it waits for nothing.

    It lives as long as the program, so stubs from before a close still answer: `HostClosed`.
    """

    __slots__ = ("alive", "calls", "objects")

    def __init__(self, name: str, clock: Clock, transport: Transport, version: str) -> None:
        self.alive = True
        self.calls = Calls(name, self, clock, transport, version)
        self.objects = Objects(self.calls)

    def check(self) -> None:
        """It never dies before the program does."""

    def emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Run *action* now: nothing is written here that it would have to wait for."""
        action(*arguments)

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Let the event in now: there is no input gate."""
        del scope
        action()

    def waits(self, pending: Pending) -> None:
        """Nobody can queue behind a client."""

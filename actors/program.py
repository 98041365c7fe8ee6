"""`Program`: an external process. It has memory only, calls objects, and can die at any line."""

from collections.abc import Callable
from typing import Literal

import trio

from .actor import Actor, outlived
from .context import Context
from .ports import Ports

__all__ = ["Program", "ProgramEnd", "ProgramRun"]

ProgramEnd = Literal["running", "done", "failed", "killed"]
"""How a run of a program stands: it runs; it returned; it raised; it was killed at some line."""


class Program(Context):
    """An external process: a deploy runner, an operator's tool, a caller. Subclass it.

    What it was given stands in its attributes and is gone when it ends.
    """

    async def run(self) -> None:
        """Do the work."""
        raise NotImplementedError


class ProgramRun(Actor):
    """One run of a program: made by a host or a world, which starts `run` as a task.

    Attributes:
        end: how it stands.
        error: what it raised, if it failed.
    """

    __slots__ = ("_ended", "_on_end", "end", "error", "program")

    def __init__(
        self,
        program: Program,
        name: str,
        number: int,
        ports: Ports,
        on_end: "Callable[[ProgramRun], None]",
    ) -> None:
        super().__init__(name, number, ports)
        self.program = program
        self.end: ProgramEnd = "running"
        self.error: Exception | None = None
        self._ended = trio.Event()
        self._on_end = on_end

    async def run(self) -> None:
        """Run the program to its end."""
        self.program._actor = self  # pyright: ignore[reportPrivateUsage]
        self.ports.probe.event("start", self.name, self.number)
        await self.live(self._body)

    async def _body(self) -> None:
        try:
            await self.program.run()
        except BaseException as error:
            self._finish("failed", outlived(error))
        else:
            self._finish("done", None)

    def kill(self) -> None:
        """Kill it at the line where it is: nothing it does on the way out has an effect."""
        self._finish("killed", None)

    async def ended(self) -> ProgramEnd:
        """Wait until it has ended, and return how."""
        await self._ended.wait()
        return self.end

    def _finish(self, end: ProgramEnd, error: Exception | None) -> None:
        if self.alive:
            self.end = end
            self.error = error
            self.close(end)
            self._on_end(self)
            self._ended.set()

"""Waiting for whichever of several outcomes comes first, in one step of the task that waits."""

from collections.abc import Generator, Sequence
from typing import Any

import trio

from ...actors import Pending

__all__ = ["Race"]


class Race:
    """Await it once. It gives nothing: look which of `runners` is done. `stop` ends it early."""

    __slots__ = ("_task", "runners")

    def __init__(self, runners: Sequence[Pending]) -> None:
        self.runners = runners
        """Whose outcomes are waited for."""
        self._task: trio.lowlevel.Task | None = None

    def __await__(self) -> Generator[Any, Any, None]:
        if any(runner.done for runner in self.runners):
            return
        self._task = trio.lowlevel.current_task()
        for runner in self.runners:
            runner.join(self.stop)

        def abort(_raise: object) -> trio.lowlevel.Abort:
            self._leave()
            return trio.lowlevel.Abort.SUCCEEDED

        yield from trio.lowlevel.wait_task_rescheduled(abort).__await__()  # noqa: ASYNC105

    def stop(self) -> None:
        """Wake the task that waits, if there is one."""
        task = self._task
        if task is not None:
            self._leave()
            trio.lowlevel.reschedule(task)

    def _leave(self) -> None:
        self._task = None
        for runner in self.runners:
            if not runner.done:
                runner.leave(self.stop)

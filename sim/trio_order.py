"""The one place that touches trio's private scheduling switch, and its check.

trio sorts each batch of runnable tasks by creation and shuffles it with a private `Random` when
`_ALLOW_DETERMINISTIC_SCHEDULING` is set. Inside a world an object of ours stands in place of that
`Random`: its `shuffle` decides what of a batch runs now. trio takes tasks from the end of the list.
"""

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

import inspect
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

import trio
from trio._core import _run

from .trio_steps import RELIED_ON as STEPS

__all__ = ["Batches", "deterministic_order", "run_loop", "runner", "unsupported"]

RELIED_ON = (
    "timeout = runner.clock.deadline_to_sleep_time(deadline)",
    "runner.deadlines.expire(now)",
    "batch = list(runner.runq)",
    "runner.runq.clear()",
    "if _ALLOW_DETERMINISTIC_SCHEDULING:",
    "batch.sort(key=lambda t: t._counter)",
    "_r.shuffle(batch)",
    "task = batch.pop()",
    *STEPS,
)
"""Lines of trio's run loop that the kernel stands on, in this order."""


class Batches(Protocol):
    """What stands in place of trio's private `Random`."""

    def shuffle(self, batch: list[Any]) -> None:
        """Reorder or shorten *batch*, which is sorted by creation, in place."""
        ...

    def random(self) -> float:
        """Not used while the switch is on."""
        ...


@cache
def run_loop() -> str:
    """Return the source of trio's run loop."""
    return inspect.getsource(_run.unrolled_run)


def unsupported(source: str | None = None) -> str | None:
    """Say what this trio, or one with the run loop *source*, lacks of what is relied on, if any."""
    source = run_loop() if source is None else source
    place = 0
    for line in RELIED_ON:
        found = source.find(line, place)
        if found < 0:
            return (
                f"trio {trio.__version__}: its run loop has no line {line!r} where one is expected"
            )
        place = found
    return None


@contextmanager
def deterministic_order(batches: Batches) -> Generator[None]:
    """Let *batches* order every batch of the current thread's trio run; restores both names."""
    lack = unsupported()
    if lack is not None:
        raise RuntimeError(f"durasim cannot simulate on this trio: {lack}")
    private: Any = _run
    before = (private._ALLOW_DETERMINISTIC_SCHEDULING, private._r)
    private._ALLOW_DETERMINISTIC_SCHEDULING, private._r = True, batches
    try:
        yield
    finally:
        private._ALLOW_DETERMINISTIC_SCHEDULING, private._r = before


def runner() -> Any:
    """Return trio's runner of this thread."""
    context: Any = _run.GLOBAL_RUN_CONTEXT
    return context.runner

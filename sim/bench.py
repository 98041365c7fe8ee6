"""How fast it is: ratios against a yardstick in the same process and run, never seconds.

Each measure is the median over pairs taken in turn, yardstick and subject, so that a machine whose
speed drifts changes both. `docs/benchmarks.md` keeps the last recorded table.
"""

import os
import platform
from collections.abc import Callable
from statistics import median
from typing import Any, Protocol

import attrs
import trio

from .workloads import (
    channel_pair,
    gated_calls,
    jump_sleeps,
    payload_calls,
    peak_bytes,
    serial_calls,
    timed,
    timed_many,
    timed_sleeps,
    watched_calls,
)

__all__ = ["Bench", "Measure", "run_bench"]

PAIRS = 7
"""Interleaved pairs a measure: the median of fewer moves with the neighbours of this machine."""


@attrs.frozen(kw_only=True)
class Measure:
    """One row of the table.

    Attributes:
        name: what is measured.
        value: the subject's median, in *unit*.
        unit: of the value and of the yardstick.
        yardstick: the yardstick's median.
        ratio: yardstick to subject (more is better), the median over pairs; None if not measured.
        least: the smallest ratio that is good enough.
        met: whether it is; None if not measured.
    """

    name: str
    value: float | None
    unit: str
    yardstick: float | None
    ratio: float | None
    least: float

    @property
    def met(self) -> bool | None:
        """Whether the ratio is good enough."""
        return None if self.ratio is None else self.ratio >= self.least


@attrs.frozen(kw_only=True)
class Bench:
    """All measures, and where they were taken."""

    python: str
    trio: str
    machine: str
    measures: tuple[Measure, ...]

    @property
    def ok(self) -> bool:
        """Whether no measure falls short."""
        return all(measure.met is not False for measure in self.measures)

    def json(self) -> dict[str, Any]:
        """Return the document that `durasim bench --json` prints."""
        rows = [{**attrs.asdict(each), "met": each.met} for each in self.measures]
        return {
            "python": self.python,
            "trio": self.trio,
            "machine": self.machine,
            "measures": rows,
        }


class Runs(Protocol):
    """Runs so many runs with so many jobs and returns the seconds that took."""

    def __call__(self, jobs: int) -> float:
        """Run."""
        ...


def compare(
    name: str,
    unit: str,
    least: float,
    yardstick: Callable[[], float],
    subject: Callable[[], float],
    *,
    pairs: int = PAIRS,
) -> Measure:
    """Measure *subject* against *yardstick*, both in seconds, in turn."""
    rows = [(yardstick(), subject()) for _ in range(pairs)]
    scale = 1e6 if unit == "us" else 1e3 if unit == "ms" else 1.0
    return Measure(
        name=name,
        value=median(mine for _, mine in rows) * scale,
        unit=unit,
        yardstick=median(theirs for theirs, _ in rows) * scale,
        ratio=median(theirs / mine for theirs, mine in rows),
        least=least,
    )


CALLS = 4000
"""Calls of one run: long enough that making the world does not count."""


def _call(story: Any) -> Callable[[], float]:
    return lambda: timed(story, calls=CALLS) / CALLS


def _round_trip() -> float:
    return channel_pair(CALLS) / CALLS


def _growth(what: str, small: dict[str, int], large: dict[str, int]) -> Measure:
    """Measure how the cost of a run grows with ten times as much, against ten times the cost."""
    return compare(
        f"a run as {what} grow 10x, all properties on",
        "ms",
        1 / 1.15,
        lambda: timed(watched_calls, **small) * 10,
        lambda: timed(watched_calls, **large),
        pairs=5,
    )


def _jobs(runs: Runs | None) -> Measure:
    name = "runs a second with 2 jobs"
    if runs is None or (os.cpu_count() or 1) < 2:
        return Measure(name=name, value=None, unit="s", yardstick=None, ratio=None, least=1.6)
    return compare(name, "s", 1.6, lambda: runs(1), lambda: runs(2), pairs=1)


def run_bench(
    runs: Runs | None = None, progress: Callable[[str], None] = lambda _name: None
) -> Bench:
    """Take every measure of the design's section 8.

    Args:
        runs: explores a fixed number of runs; without it that measure is not taken.
        progress: told the name of each measure once it is taken.
    """
    channel_pair(CALLS)
    timed(gated_calls, calls=CALLS)
    takes: list[Callable[[], Measure]] = [
        lambda: compare("a call, serial object", "us", 0.5, _round_trip, _call(serial_calls)),
        lambda: compare("a call, gated object", "us", 0.4, _round_trip, _call(gated_calls)),
        lambda: compare(
            "a call, gated, attrs payload", "us", 0.35, _round_trip, _call(payload_calls)
        ),
        lambda: compare(
            "a virtual sleep, 100 tasks",
            "us",
            0.9,
            lambda: jump_sleeps(100, 40) / 4000,
            lambda: timed_sleeps(100, 40) / 4000,
        ),
        lambda: compare(
            "a world of 4 clients and 40 calls",
            "ms",
            0.5,
            lambda: timed(serial_calls, calls=CALLS) * 40 / CALLS,
            lambda: timed_many(serial_calls, calls=40, worlds=60),
        ),
        lambda: _jobs(runs),
        lambda: _growth("calls", {"calls": 2000}, {"calls": 20_000}),
        lambda: _growth(
            "objects", {"calls": 2000, "objects": 100}, {"calls": 20_000, "objects": 1000}
        ),
        _memory,
    ]
    measures: list[Measure] = []
    for take in takes:
        measures.append(take())
        progress(measures[-1].name)
    return Bench(
        python=platform.python_version(),
        trio=trio.__version__,
        machine=f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        measures=tuple(measures),
    )


EVENTS_A_CALL = 6
"""Trace rows of one call: request, deliver, begin, commit, reply, answer."""


def _memory() -> Measure:
    few = peak_bytes(10_000 // EVENTS_A_CALL)
    many = peak_bytes(1_000_000 // EVENTS_A_CALL)
    return Measure(
        name="peak memory of 1,000,000 events, trace bounded",
        value=many / 1e6,
        unit="MB",
        yardstick=few / 1e6,
        ratio=few / many,
        least=0.5,
    )

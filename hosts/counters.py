"""What a host counts, and the value that tells it."""

import attrs

from ..actors import Address
from .sqlite import StoreStatistics


class Counters:
    """The `Probe` of an embedded host: counts requests that began, and those that raised."""

    __slots__ = ("begun", "failed", "left_over_failed")

    def __init__(self) -> None:
        self.begun = 0
        self.failed = 0
        self.left_over_failed = 0

    def event(self, kind: str, actor: str, incarnation: int, *detail: object) -> None:
        """Count *kind* if it is one of the few that are counted."""
        del actor, incarnation, detail
        if kind == "begin":
            self.begun += 1
        elif kind == "raised":
            self.failed += 1
        elif kind == "left-over failed":
            self.left_over_failed += 1


@attrs.frozen(kw_only=True)
class HostStatistics:
    """A moment of an embedded host; counts are since it was opened.

    Attributes:
        incarnations: objects that run now.
        requests_begun: runs of handlers that began, alarm handlers included.
        requests_failed: those of them that raised.
        requests_in_progress: requests held now, waiting, running or waiting for their commit.
        queue_max: most of them at one object.
        left_over_failed: work given to `wait_until` that raised.
        calls_in_flight: calls of the host's own client without a reply yet.
        evictions: incarnations that went for being idle.
        resets: incarnations that ended by an error.
        alarms_fired: runs of alarm handlers.
        alarms_retried: those that followed a failed one.
        alarms_dropped: alarms given up after their last try.
        alarms_pending: alarms to come.
        alarms_waiting: those of them whose class this host does not know yet; they wait for it.
        timers: wake-ups asked of the clock.
        store: the numbers of the file.
    """

    incarnations: int
    requests_begun: int
    requests_failed: int
    requests_in_progress: int
    queue_max: int
    left_over_failed: int
    calls_in_flight: int
    evictions: int
    resets: int
    alarms_fired: int
    alarms_retried: int
    alarms_dropped: int
    alarms_pending: int
    alarms_waiting: tuple[Address, ...]
    timers: int
    store: StoreStatistics

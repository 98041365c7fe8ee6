"""What a host counts, and the value that tells it."""

import attrs

from ..actors import Address
from .sqlite import StoreStatistics


class Counters:
    """The `Probe` of an embedded host: counts the requests that ended."""

    __slots__ = ("done", "failed", "left_over_failed")

    def __init__(self) -> None:
        self.done = 0
        self.failed = 0
        self.left_over_failed = 0

    def event(self, kind: str, actor: str, incarnation: int, *detail: object) -> None:
        """Count *kind* if it is one of the few that are counted."""
        del actor, incarnation
        if kind == "end":
            if detail[-1] is None:
                self.done += 1
            else:
                self.failed += 1
        elif kind == "left-over failed":
            self.left_over_failed += 1


@attrs.frozen(kw_only=True)
class HostStatistics:
    """A moment of an embedded host; counts are since it was opened.

    Attributes:
        incarnations: objects that run now.
        requests_done: handlers, alarm handlers included, that returned a value.
        requests_failed: those that raised.
        requests_in_progress: requests held now, waiting or running.
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
    requests_done: int
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

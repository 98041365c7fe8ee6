"""When alarms ring, and again: one alarm an object, at least once, with back-off.

The stored alarm is the truth and survives everything; this is its schedule in memory. A run that
failed is tried again 2 s, 4 s, 8 s, … later (plus up to a quarter, at random), six times; then the
alarm is dropped (AL-7). An alarm that was set meanwhile takes its place (AL-9).
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import attrs

from ..actors import (
    ALARM_BACKOFF_S,
    ALARM_RETRIES_MAX,
    Address,
    AlarmEnd,
    AlarmInfo,
    Clock,
    Entropy,
    Timer,
    instant,
)
from .limits import ALARM_JITTER

if TYPE_CHECKING:
    from .host import Host

__all__ = ["Alarms"]


@attrs.define(eq=False)
class Armed:
    """One alarm: due at `at`, or running, with what was set while it ran."""

    at: int
    scheduled: int
    retries: int = 0
    timer: Timer | None = None
    running: bool = False
    following: int | None = None
    deleted: bool = False


class Alarms:
    """The alarms of one host. Times are microseconds since 1970 UTC, by the host's wall clock."""

    def __init__(self, host: "Host", clock: Clock, entropy: Entropy) -> None:
        self._host = host
        self._clock = clock
        self._entropy = entropy
        self._open = False
        self._armed: dict[Address, Armed] = {}
        self.fired = 0
        self.retried = 0
        self.dropped = 0

    def start(self, stored: Iterable[tuple[Address, int]]) -> None:
        """Arm everything that is stored."""
        self._open = True
        for address, at in stored:
            self._arm(address, Armed(at, at))

    def stop(self) -> None:
        """Ring no more. The stored alarms stay."""
        self._open = False
        for armed in self._armed.values():
            if armed.timer is not None:
                armed.timer.cancel()
        self._armed.clear()

    def pending(self) -> dict[Address, int]:
        """Return when each alarm is due next."""
        return {address: armed.at for address, armed in self._armed.items()}

    def changed(self, address: Address, at: int | None) -> None:
        """The stored alarm of *address* has become *at*, durably."""
        if not self._open:
            return
        armed = self._armed.get(address)
        if armed is not None and armed.running:
            armed.following = at
            armed.deleted = at is None
            return
        if armed is not None:
            self._disarm(address, armed)
        if at is not None:
            self._arm(address, Armed(at, at))

    def _arm(self, address: Address, armed: Armed) -> None:
        self._armed[address] = armed
        wait_us = max(0, armed.at - self._clock.wall())
        armed.timer = self._clock.call_at(
            self._clock.time() + wait_us / 1_000_000,
            partial(self._due, address, armed),
            f"alarm of {address}",
        )

    def _disarm(self, address: Address, armed: Armed) -> None:
        if armed.timer is not None:
            armed.timer.cancel()
        del self._armed[address]

    def _due(self, address: Address, armed: Armed) -> None:
        if not self._open:
            return
        if self._clock.wall() < armed.at:
            # The wall clock was set back since the timer was made.
            self._arm(address, armed)
            return
        self.fired += 1
        if armed.retries:
            self.retried += 1
        info = AlarmInfo(retry_count=armed.retries, scheduled_time=instant(armed.scheduled))
        end: Callable[[AlarmEnd], None] = partial(self._ended, address, armed)
        armed.timer = None
        if armed.running or self._armed.get(address) is not armed:
            end = _nobody
        else:
            armed.running = True
        try:
            self._host.ring(address, info, end)
        except Exception:
            # Its class is unknown or its storage cannot be opened: that is no failure of the
            # handler, so it does not count.
            end("gone")

    def _ended(self, address: Address, armed: Armed, how: AlarmEnd) -> None:
        if not self._open:
            return
        armed.running = False
        following, deleted = armed.following, armed.deleted
        armed.following, armed.deleted = None, False
        self._disarm(address, armed)
        if following is not None:
            self._arm(address, Armed(following, following))
        elif how == "done" or deleted:
            return
        elif how == "dropped" or (how != "gone" and armed.retries >= ALARM_RETRIES_MAX):
            self.dropped += 1
            self._forget(address)
        else:
            delay_s = ALARM_BACKOFF_S * 2**armed.retries
            draw = int.from_bytes(self._entropy.draw(f"alarms of {self._host.name}", 4)) / 2**32
            armed.at = self._clock.wall() + int(delay_s * (1 + ALARM_JITTER * draw) * 1_000_000)
            armed.retries += how != "gone"
            self._arm(address, armed)

    def _forget(self, address: Address) -> None:
        try:
            self._host.activate(address).forget_alarm()
        except Exception:
            # It stays stored, and is tried anew when the host starts again.
            return


def _nobody(how: AlarmEnd) -> None:
    del how

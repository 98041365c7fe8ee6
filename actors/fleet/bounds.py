"""Every number that bounds a deploy, once, with the unit in its name and the reason beside it.

Source: spec/deploy-fence.md section D. All instants of this system are integer milliseconds since
1970 UTC by the clock of the actor that owns the fact; durations are milliseconds.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = [
    "ATTEMPT_PAUSE_MS",
    "BY_CHARS_MAX",
    "CYCLE_BOUND_MS",
    "DRAIN_MINUTES_DEFAULT",
    "DRAIN_MINUTES_MAX",
    "EVIDENCE_URL_CHARS",
    "MINUTE_MS",
    "QUIET_WAIT_MS",
    "REASON_CHARS_MAX",
    "RECEIPTS_MAX",
    "RESERVE_MS",
    "milliseconds",
]

MINUTE_MS: Final = 60_000
RESERVE_MS: Final = 20 * MINUTE_MS
"""What must remain of the drain, and of every other end, for upload and readiness (P5.5). Reached
exactly is enough (I-32)."""
DRAIN_MINUTES_MAX: Final = 90
"""The longest drain, and what a runner asks for: 90 around a wait of 60 leaves 30 (P5.6)."""
DRAIN_MINUTES_DEFAULT: Final = 60
"""Of a drain that an operator asks for without saying how long."""
QUIET_WAIT_MS: Final = 60 * MINUTE_MS
"""How long a runner waits for a quiet fleet, counted from its drain (L, operation 6)."""
ATTEMPT_PAUSE_MS: Final = MINUTE_MS
"""From one attempt of a runner to the next."""
CYCLE_BOUND_MS: Final = 10 * MINUTE_MS
"""How long image holds keep a lift that was asked, and how long a runner waits for images after its
upload: a member that has not reported by then keeps its marker, and the fleet opens without it."""
RECEIPTS_MAX: Final = 128
"""Release receipts kept, the newest; the rest can no longer be acknowledged (P17.3)."""
BY_CHARS_MAX: Final = 80
"""Of the name of who drains. Longer is refused, as every number out of bounds is: never cut."""
REASON_CHARS_MAX: Final = 200
"""Of the reason of a drain."""
EVIDENCE_URL_CHARS: Final = (16, 1000)
"""Fewest and most characters of an evidence URL."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(at: datetime) -> int:
    """Return the aware instant *at* in whole milliseconds since 1970 UTC."""
    return (at - EPOCH) // timedelta(milliseconds=1)

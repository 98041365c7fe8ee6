"""Bounds of a host, with unit and reason."""

from typing import Final

EVICTION_S: Final = 10.0
"""Seconds without activity after which an incarnation goes. The platform's own figure (LC-7)."""

ALARM_JITTER: Final = 0.25
"""Share of the back-off that is added at random at most (AL-7)."""

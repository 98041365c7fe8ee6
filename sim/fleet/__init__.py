"""The system `fleet`: stories of deploys over a fleet, and what holds in them."""

from .. import systems
from . import deploying, invariants, meddling, permitting, stalling, undoing, unsettling

__all__ = ["SYSTEM"]

SYSTEM = systems.System(
    "fleet",
    (
        deploying.ordinary_deploy,
        deploying.deploy_with_outage,
        deploying.two_runners,
        deploying.debt_and_recovery,
        deploying.retained_over_image,
        *permitting.STORIES,
        *meddling.STORIES,
    ),
    invariants.EVERYWHERE,
    (*stalling.STALLING, *unsettling.UNSETTLING, *undoing.UNDOING),
)
"""What `durasim` finds by the name `fleet`."""

"""The system `fleet`: stories of deploys over a fleet, and what holds in them."""

from .. import systems
from . import (
    attempting,
    crowd,
    cycling,
    deploying,
    forgetting,
    forging,
    freezing,
    guarding,
    holding,
    invariants,
    joining,
    keeping,
    lifting,
    meddling,
    miscycling,
    mistaking,
    overriding,
    permitting,
    recovering,
    slipping,
    stalling,
    undoing,
    unsettling,
)

__all__ = ["SYSTEM"]

SYSTEM = systems.System(
    "fleet",
    (
        deploying.ordinary_deploy,
        deploying.deploy_with_outage,
        deploying.two_runners,
        deploying.debt_and_recovery,
        deploying.retained_over_image,
        crowd.crowd,
        *permitting.STORIES,
        *meddling.STORIES,
        *attempting.STORIES,
        *keeping.STORIES,
        *cycling.STORIES,
        *guarding.STORIES,
        *recovering.STORIES,
        *freezing.STORIES,
        *holding.STORIES,
        *joining.STORIES,
        *lifting.STORIES,
    ),
    invariants.EVERYWHERE,
    (
        *stalling.STALLING,
        *unsettling.UNSETTLING,
        *undoing.UNDOING,
        *slipping.SLIPPING,
        *overriding.OVERRIDING,
        *forgetting.FORGETTING,
        *miscycling.MISCYCLING,
        *forging.FORGING,
        *mistaking.MISTAKING,
        *holding.HOLDING,
        *joining.JOINING,
        *lifting.LIFTING,
    ),
)
"""What `durasim` finds by the name `fleet`."""

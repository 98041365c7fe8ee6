"""A deploy fence over a fleet: execution apart from retention (spec/deploy-fence.md).

Part one: drain, fence, quiet read, permits, receipts, quoted recovery, image targets.
"""

from .codes import CODES, FleetRefused, Reason
from .identities import BuildStamp, ImageTarget, Producer, WorkerVersion
from .outcomes import Granted, Outcome, Refused, Uncertain
from .wiring import Bearers, FleetDeployment

__all__ = [
    "CODES",
    "Bearers",
    "BuildStamp",
    "FleetDeployment",
    "FleetRefused",
    "Granted",
    "ImageTarget",
    "Outcome",
    "Producer",
    "Reason",
    "Refused",
    "Uncertain",
    "WorkerVersion",
]

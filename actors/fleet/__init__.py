"""A deploy fence over a fleet: execution apart from retention (spec/deploy-fence.md).

Part one: drain, fence, quiet read, permits, receipts, quoted recovery, image targets.
"""

from .codes import CODES, FleetRefused, Reason
from .identities import BuildStamp, ImageTarget, Producer, WorkerVersion
from .native import Activity, Announcement, Containers, ControlPlane, UploadReply
from .outcomes import Granted, Outcome, Refused, Uncertain, answered, attempt
from .wiring import Bearers, FleetDeployment, Scope

__all__ = [
    "CODES",
    "Activity",
    "Announcement",
    "Bearers",
    "BuildStamp",
    "Containers",
    "ControlPlane",
    "FleetDeployment",
    "FleetRefused",
    "Granted",
    "ImageTarget",
    "Outcome",
    "Producer",
    "Reason",
    "Refused",
    "Scope",
    "Uncertain",
    "UploadReply",
    "WorkerVersion",
    "answered",
    "attempt",
]

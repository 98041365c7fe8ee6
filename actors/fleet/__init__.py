"""A deploy fence over a fleet: execution apart from retention (spec/deploy-fence.md).

Part one: drain, fence, quiet read, permits, receipts, quoted recovery, image targets.
"""

from .admission import with_permit
from .codes import CODES, FleetRefused, Reason
from .drain_record import DrainRecord
from .identities import BuildStamp, ImageTarget, Producer, WorkerVersion
from .ledger import RunLedger
from .native import Activity, Announcement, Containers, ControlPlane, UploadReply
from .operator import OperatorRecovery, Quote
from .outcomes import Granted, Outcome, Refused, Uncertain, answered, attempt
from .plans import RUNNER_MACHINE, DeployPlan, DeployReport
from .registry import Registry
from .resident import Resident
from .router import FleetRouter
from .runner import DeployRunner
from .state_worker import StateWorker
from .targets import TargetPlan
from .wiring import LEDGER, REGISTRY, Bearers, FleetDeployment, Scope, fleet_of

__all__ = [
    "CODES",
    "LEDGER",
    "REGISTRY",
    "RUNNER_MACHINE",
    "Activity",
    "Announcement",
    "Bearers",
    "BuildStamp",
    "Containers",
    "ControlPlane",
    "DeployPlan",
    "DeployReport",
    "DeployRunner",
    "DrainRecord",
    "FleetDeployment",
    "FleetRefused",
    "FleetRouter",
    "Granted",
    "ImageTarget",
    "OperatorRecovery",
    "Outcome",
    "Producer",
    "Quote",
    "Reason",
    "Refused",
    "Registry",
    "Resident",
    "RunLedger",
    "Scope",
    "StateWorker",
    "TargetPlan",
    "Uncertain",
    "UploadReply",
    "WorkerVersion",
    "answered",
    "attempt",
    "fleet_of",
    "with_permit",
]

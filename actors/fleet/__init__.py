"""A deploy fence over a fleet: execution apart from retention (spec/deploy-fence.md).

Part one: drain, fence, quiet read, permits, receipts, quoted recovery, image targets.
"""

from .admission import with_permit
from .bounds import RESERVE_MS
from .codes import CODES, FleetRefused, Reason, refused
from .documents import as_mapping
from .drain_record import DrainRecord
from .draining import Draining
from .identities import BuildStamp, ImageTarget, Producer, WorkerVersion
from .ledger import RunLedger
from .native import Activity, Announcement, Containers, ControlPlane, UploadReply
from .operator import OperatorRecovery, Quote, quote_of
from .outcomes import Granted, Outcome, Refused, Uncertain, answered, attempt
from .permit_rows import Permit, keyed_row
from .plans import RUNNER_MACHINE, DeployPlan, DeployReport
from .reconciling import ReconcileOrder
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
    "RESERVE_MS",
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
    "Draining",
    "FleetDeployment",
    "FleetRefused",
    "FleetRouter",
    "Granted",
    "ImageTarget",
    "OperatorRecovery",
    "Outcome",
    "Permit",
    "Producer",
    "Quote",
    "Reason",
    "ReconcileOrder",
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
    "as_mapping",
    "attempt",
    "fleet_of",
    "keyed_row",
    "quote_of",
    "refused",
    "with_permit",
]

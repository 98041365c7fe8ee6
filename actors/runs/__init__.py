"""Run claims behind an execution fence: the first system on the actors (spec/run-claims.md)."""

from .callers import Caller
from .engine import Effects, Step, StepContext, Workflow
from .fence import ExecutionFence, FenceReading, FenceState
from .gates import GATES, Gate
from .operations import OPERATIONS, Operations
from .owners import REGISTRY, RunOwners
from .process import PROCESS, Front, RunProcess, RunRouter
from .refusal import is_execution_fence_refusal, isExecutionFenceRefusal
from .reservations import Owner, Reservation, StartReservations
from .run_object import RunObject
from .snapshots import Snapshot, Snapshots
from .thread_object import ThreadObject
from .threads import AgentStart, AgentTopology
from .wiring import RunsDeployment, Secrets, Services, provision

__all__ = [
    "GATES",
    "OPERATIONS",
    "PROCESS",
    "REGISTRY",
    "AgentStart",
    "AgentTopology",
    "Caller",
    "Effects",
    "ExecutionFence",
    "FenceReading",
    "FenceState",
    "Front",
    "Gate",
    "Operations",
    "Owner",
    "Reservation",
    "RunObject",
    "RunOwners",
    "RunProcess",
    "RunRouter",
    "RunsDeployment",
    "Secrets",
    "Services",
    "Snapshot",
    "Snapshots",
    "StartReservations",
    "Step",
    "StepContext",
    "ThreadObject",
    "Workflow",
    "isExecutionFenceRefusal",
    "is_execution_fence_refusal",
    "provision",
]

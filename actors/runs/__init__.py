"""Run claims behind an execution fence: the first system on the actors (spec/run-claims.md)."""

from .callers import Caller
from .engine import Effects, Step, StepContext, Workflow
from .errors import (
    ExecutionFencedError,
    ExecutionFenceUnreadableError,
    IdempotentStartAlreadySettledError,
    IdempotentStartPendingError,
    StartReservationOwnerMismatchError,
    StartReservationTargetMismatchError,
)
from .fence import ExecutionFence, FenceReading, FenceState, read_execution_fence
from .gates import GATES, Gate
from .identity import DeploymentIdentity
from .operations import OPERATIONS, Operations
from .owners import REGISTRY, RunOwners
from .process import PROCESS, Front, RunProcess, RunRouter
from .refusal import is_execution_fence_refusal, isExecutionFenceRefusal
from .reservations import Owner, Reservation, StartRequest, StartReservations, Target
from .run_errors import RunStateUnreadableError
from .run_object import RunObject
from .runtime import RunnerRuntime
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
    "DeploymentIdentity",
    "Effects",
    "ExecutionFence",
    "ExecutionFenceUnreadableError",
    "ExecutionFencedError",
    "FenceReading",
    "FenceState",
    "Front",
    "Gate",
    "IdempotentStartAlreadySettledError",
    "IdempotentStartPendingError",
    "Operations",
    "Owner",
    "Reservation",
    "RunObject",
    "RunOwners",
    "RunProcess",
    "RunRouter",
    "RunStateUnreadableError",
    "RunnerRuntime",
    "RunsDeployment",
    "Secrets",
    "Services",
    "Snapshot",
    "Snapshots",
    "StartRequest",
    "StartReservationOwnerMismatchError",
    "StartReservationTargetMismatchError",
    "StartReservations",
    "Step",
    "StepContext",
    "Target",
    "ThreadObject",
    "Workflow",
    "isExecutionFenceRefusal",
    "is_execution_fence_refusal",
    "provision",
    "read_execution_fence",
]

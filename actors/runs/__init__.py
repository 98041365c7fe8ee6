"""Run claims behind an execution fence: the first system on the actors (spec/run-claims.md)."""

from .approvals import Approval, ApprovalService
from .callers import Caller
from .engine import Effects, Step, StepContext, Workflow
from .errors import (
    ExecutionFencedError,
    ExecutionFenceUnreadableError,
    IdempotentStartAlreadySettledError,
    IdempotentStartPendingError,
    IdempotentStartUnresolvableError,
    StartReservationOwnerMismatchError,
    StartReservationTargetMismatchError,
)
from .fence import ExecutionFence, FenceReading, FenceState, read_execution_fence
from .gates import GATES, Gate
from .identity import DeploymentIdentity
from .inventory import DrainProof, Inventory, Sweep
from .notifications import Notification, NotificationDispatch, Notifications
from .objectives import Objectives
from .operations import OPERATIONS, Operations
from .owners import REGISTRY, RunOwners
from .poll import Page, Provider, ProviderPoll
from .process import PROCESS, Front, RunProcess, RunRouter
from .refusal import is_execution_fence_refusal, isExecutionFenceRefusal
from .reservations import Owner, Reservation, StartRequest, StartReservations, Target
from .retention import Retention
from .run_errors import RunStateUnreadableError
from .run_object import RunObject
from .runtime import RunnerRuntime
from .schedules import Fire, Schedule, Schedules
from .snapshots import Snapshot, Snapshots
from .tasks import BackgroundTasks, Task, admit_body, task_step
from .thread_object import ThreadObject
from .threads import AgentStart, AgentTopology
from .tick import ScheduleTick, Tally
from .webhooks import Delivery, WebhookIngress
from .wiring import RunsDeployment, Secrets, Services, provision

__all__ = [
    "GATES",
    "OPERATIONS",
    "PROCESS",
    "REGISTRY",
    "AgentStart",
    "AgentTopology",
    "Approval",
    "ApprovalService",
    "BackgroundTasks",
    "Caller",
    "Delivery",
    "DeploymentIdentity",
    "DrainProof",
    "Effects",
    "ExecutionFence",
    "ExecutionFenceUnreadableError",
    "ExecutionFencedError",
    "FenceReading",
    "FenceState",
    "Fire",
    "Front",
    "Gate",
    "IdempotentStartAlreadySettledError",
    "IdempotentStartPendingError",
    "IdempotentStartUnresolvableError",
    "Inventory",
    "Notification",
    "NotificationDispatch",
    "Notifications",
    "Objectives",
    "Operations",
    "Owner",
    "Page",
    "Provider",
    "ProviderPoll",
    "Reservation",
    "Retention",
    "RunObject",
    "RunOwners",
    "RunProcess",
    "RunRouter",
    "RunStateUnreadableError",
    "RunnerRuntime",
    "RunsDeployment",
    "Schedule",
    "ScheduleTick",
    "Schedules",
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
    "Sweep",
    "Tally",
    "Target",
    "Task",
    "ThreadObject",
    "WebhookIngress",
    "Workflow",
    "admit_body",
    "isExecutionFenceRefusal",
    "is_execution_fence_refusal",
    "provision",
    "read_execution_fence",
    "task_step",
]

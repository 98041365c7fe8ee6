"""What can be wrong with a run, beside refusals: each has a status, none publishes a reason.

Source: spec/run-claims.md 4.1, and section 7 for `RUN_ADMISSION_CONFLICT`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from ...wire import DoStatusError, register_code

__all__ = [
    "DeploymentIdentityError",
    "InvalidRunRequestError",
    "PrincipalError",
    "RunAdmissionConflictError",
    "RunAlreadyExistsError",
    "RunError",
    "RunLifecycleBlockedError",
    "RunNotSuspendedError",
    "RunOwnerError",
    "RunStateUnreadableError",
    "RunTerminalConflictError",
    "UnknownRunError",
    "UnknownWorkflowError",
]


class RunError(Exception):
    """A condition of a run or of a request for one. Only its status and message leave an object."""

    status: ClassVar[int] = 500


class DeploymentIdentityError(RunError):
    """The request does not come from this deployment, or the deployment is not provisioned."""

    status = 503


class RunStateUnreadableError(RunError):
    """The state of a run could not be read or written: nobody can tell how it stands now."""

    status = 503


class PrincipalError(RunError):
    """The request says for whom it acts in no way that can be read. Nothing was done."""

    status = 403


class UnknownWorkflowError(RunError):
    """There is no workflow of that name here. Nothing was done."""

    status = 404

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"no workflow is called {workflow_id}")


class UnknownRunError(RunError):
    """There is no such run. Nothing was done."""

    status = 404

    def __init__(self, run_id: str) -> None:
        super().__init__(f"there is no run {run_id}")


class RunAlreadyExistsError(RunError):
    """A run of that id is there already. It was not touched, and nothing was started."""

    status = 409

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} exists already; nothing was started")


class RunTerminalConflictError(RunError):
    """The run has ended otherwise. It was not touched."""

    status = 409


class RunNotSuspendedError(RunError):
    """The run waits for nobody, so there is nothing to resume. It was not touched."""

    status = 409


class RunLifecycleBlockedError(RunError):
    """Something else about the run has to end first; its reason is published. Nothing was done."""

    status = 409

    def __init__(self, message: str, reason: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.reason = reason


class InvalidRunRequestError(RunError):
    """The request makes no sense; the message names the field. Nothing was done."""

    status = 400


class RunOwnerError(RunError):
    """The run is somebody else's. It was not touched, and nothing was started."""


class RunAdmissionConflictError(DoStatusError):
    """The start came with a claim that is no longer the row: it was admitted nowhere, nothing ran.

    Its reason says what was in the way: "reservation-changed", or "claim-sealed".
    """

    code = "RUN_ADMISSION_CONFLICT"

    def __init__(self, run_id: str, conflict: str) -> None:
        super().__init__(
            409,
            f"run {run_id} was not admitted ({conflict}): nothing of it ran",
            {"code": self.code, "runId": run_id, "conflict": conflict},
        )


register_code("RUN_ADMISSION_CONFLICT", 409, nothing_ran=True)

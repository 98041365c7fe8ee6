"""`RunRoutes`: the public routes of runs. A keyed start is decided, made, and given back from here.

The router has no gate of its own: a keyed start on a closed deployment reserves and claims, is
refused where the run would live, and then the claim goes back (spec/run-claims.md 3.1, 2.7).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..worker import Route, WebRequest
from .approvals import ApprovalService
from .callers import Caller
from .claims import KeyedStart, begin_idempotent_start
from .engine import Workflow
from .errors import InvalidStartIdempotencyRequestError, StartIdempotencyUnsupportedError
from .http import message_of, read_object
from .names import is_path_safe
from .requests import resumption_of
from .reservations import StartRequest, Target, rollback_fenced_start
from .run_errors import InvalidRunRequestError, UnknownRunError, UnknownWorkflowError
from .runtime import RunOrder
from .surface import BODY_BYTES_MAX, ForbiddenError, Surface
from .topology import RunTopology, Summary
from .wiring import RunsDeployment, Services

__all__ = ["RunRoutes", "Started"]


class Started(NamedTuple):
    """What a start gave.

    Attributes:
        is_replay: whether it was shown again, and nothing was started.
    """

    summary: Summary
    is_replay: bool


class RunRoutes(Surface):
    """Start, look at, resume and end runs of workflows."""

    routes = (
        Route("POST", "/runs", "start", scope="operator"),
        Route("GET", "/runs/{workflow}/{run}", "status"),
        Route("POST", "/runs/{workflow}/{run}/resume", "resume", scope="operator"),
        Route("POST", "/runs/{workflow}/{run}/terminate", "terminate", scope="operator"),
    )

    def __init__(
        self, services: Services, topology: RunTopology, approvals: ApprovalService
    ) -> None:
        """Start runs in *topology*; what they wait for is filed with *approvals*."""
        self._services = services
        self._topology = topology
        self._approvals = approvals

    @property
    def _deployment(self) -> RunsDeployment:
        return self._services.deployment

    async def start(self, request: WebRequest, caller: Caller) -> dict[str, Any]:
        """Start a run, under a key or not, and answer when its first leg has ended."""
        body = read_object(request, BODY_BYTES_MAX)
        workflow = self._workflow(body, caller)
        payload, key = body.get("payload"), body.get("idempotencyKey")
        if self._deployment.before_start is not None:
            await self._deployment.before_start(caller, workflow, payload)
        if key is None:
            started = await self._unkeyed(workflow, caller, payload)
        elif is_path_safe(key):
            started = await self._keyed(workflow, caller, payload, key)
        else:
            raise InvalidStartIdempotencyRequestError("idempotencyKey is not valid")
        return await self._shown(started)

    def _workflow(self, body: Mapping[str, Any], caller: Caller) -> Workflow:
        workflow_id = body.get("workflowId")
        if not isinstance(workflow_id, str):
            raise InvalidRunRequestError("workflowId: a text is needed")
        if "runId" in body:
            raise InvalidRunRequestError("runId: not the caller's to choose")
        workflow = self._deployment.workflows.get(workflow_id)
        if workflow is None:
            raise UnknownWorkflowError(workflow_id)
        if workflow.roles and not workflow.roles & caller.roles:
            raise ForbiddenError(f"starting {workflow_id} takes another role")
        return workflow

    async def _unkeyed(self, workflow: Workflow, caller: Caller, payload: Any) -> Started:
        order = RunOrder(
            workflow_id=workflow.id,
            run_id=self._services.mint(),
            owner=caller.owner,
            payload=payload,
        )
        return Started(await self._topology.start(order), is_replay=False)

    async def _keyed(self, workflow: Workflow, caller: Caller, payload: Any, key: str) -> Started:
        services = self._services
        if services.reservations == "none":
            raise StartIdempotencyUnsupportedError
        start = KeyedStart(
            store=services.reservations,
            surface=self._topology,
            fence=services.fence,
            take_back=services.give_back.take_back,
            log=services.log,
        )
        asked = StartRequest(key, caller.owner, Target("workflow", workflow.id))
        decision = await begin_idempotent_start(start, asked, services.mint)
        if decision.kind == "replay":
            return Started(decision.result, is_replay=True)
        claimed = decision.reservation
        order = RunOrder(
            workflow_id=workflow.id,
            run_id=claimed.run_id,
            owner=caller.owner,
            payload=payload,
            key=key,
            claim=services.give_back.carried(claimed),
        )
        try:
            return Started(await self._topology.start(order), is_replay=False)
        except Exception as error:
            await rollback_fenced_start(
                services.give_back.releasing, claimed.key, claimed.run_id, error, services.log
            )

    async def _shown(self, started: Started) -> dict[str, Any]:
        """Return the summary, with the approvals that a first answer asks for.

        The run stands whatever becomes of its approvals: those that could not be filed are when the
        start is answered again.
        """
        summary = started.summary
        try:
            if started.is_replay:
                await self._approvals.reconcile(summary)
                return summary
            if summary.get("status") != "suspended":
                return summary
            filed = await self._approvals.file(summary)
        except Exception as error:
            fields = {"runId": summary.get("runId"), "error": message_of(error)}
            self._services.log("approval-filing-failed", fields)
            return summary
        return {**summary, "approvals": [each.json() for each in filed]}

    async def status(self, request: WebRequest, caller: Caller, workflow: str, run: str) -> Summary:
        """Show a run."""
        del request, caller
        found = await self._topology.status(workflow, run)
        if found is None:
            raise UnknownRunError(run)
        return found

    async def resume(self, request: WebRequest, caller: Caller, workflow: str, run: str) -> Summary:
        """Go on with a parked run."""
        data, suspension = resumption_of(read_object(request, BODY_BYTES_MAX))
        return await self._agreed(
            await self._topology.resume(workflow, run, data, caller.owner, suspension)
        )

    async def terminate(
        self, request: WebRequest, caller: Caller, workflow: str, run: str
    ) -> Summary:
        """End a run."""
        del request
        return await self._agreed(await self._topology.terminate(workflow, run, caller.owner))

    async def _agreed(self, summary: Summary) -> Summary:
        """Return *summary*, with which the approvals of its run agree from now on."""
        await self._approvals.agree(summary)
        return summary

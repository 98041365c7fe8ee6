"""The two ways in which a deployment is served: a stateless router, and a process with its runs.

`RunRouter` is a worker in front of objects. `RunProcess` is one actor that holds router and runtime
in the same memory, which is gone when it ends: a host without objects of its own.

A request passes the check of the deployment's identity, then the operator's routes, then webhooks,
which sign for themselves; everything else takes a caller.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ..context import Context
from ..object import DurableObject
from ..worker import WebRequest, WebResponse, Worker
from .admin import AdminRoutes
from .agent_router import AgentRoutes
from .approvals import Approval, ApprovalRouter, ApprovalService
from .callers import Caller
from .fires import ScheduledRuns
from .http import json_response, message_of, no_store, router_error_response
from .identity import IDENTITY_HEADER
from .inventory import Inventory
from .objectives import ObjectiveRouter, Objectives
from .requests import PRINCIPAL_HEADER
from .reservations import Owner
from .router import RunRoutes
from .schedule_router import ScheduleRouter
from .schedules import Schedules
from .surface import Surface
from .threads import AgentTopology
from .tick import ScheduleTick
from .topology import InProcess, ObjectBacked, RunTopology, Summary
from .webhooks import Delivery, WebhookIngress
from .wiring import Services, deployment_of

__all__ = ["PROCESS", "Front", "RunProcess", "RunRouter"]

PROCESS = "process"
"""The name of the one process."""


class ByTopology:
    """Hands decisions on to the run, wherever it lives."""

    def __init__(self, topology: RunTopology) -> None:
        self._topology = topology

    async def resume(self, approval: Approval, decision: Mapping[str, Any]) -> Summary:
        """As `Resuming.resume`."""
        owner = Owner("system", "approvals")
        return await self._topology.resume(
            approval.workflow_id, approval.run_id, dict(decision), owner, approval.suspension
        )


class Front:
    """Every public route of a deployment, over the ports of one actor."""

    def __init__(self, context: Context, topology: RunTopology | None = None) -> None:
        """Serve the deployment of *context*; runs live in *topology*, in objects if not said."""
        services = self.services = Services(context)
        self.topology: RunTopology = topology or ObjectBacked(services)
        self.approvals = ApprovalService(
            context.database,
            services.fence,
            ByTopology(self.topology),
            services.now_ms,
            services.mint,
            services.log,
        )

    async def answer(self, request: WebRequest) -> WebResponse:
        """Answer *request*; an error is an answer."""
        try:
            await self.services.identity.check_database()
            if IDENTITY_HEADER in request.headers or PRINCIPAL_HEADER in request.headers:
                return refused(403, "these headers are not a tenant's to send")
            for signed in (self._admin(), self._webhooks()):
                answer = await signed.serve(request)
                if answer is not None:
                    return answer
            return await self._tenant(request)
        except Exception as error:
            self.services.log("request-failed", {"path": request.path, "error": message_of(error)})
            return router_error_response(error)

    def tick(self) -> ScheduleTick:
        """Return what starts the fires of schedules, for whoever keeps time."""
        services = self.services
        return ScheduleTick(
            Schedules(services.context.database, services.now_ms),
            ScheduledRuns(self.topology),
            services.fence,
            services.mint,
            services.log,
        )

    async def _tenant(self, request: WebRequest) -> WebResponse:
        caller = self._caller(request)
        if caller is None:
            return refused(401, "authentication required")
        for surface in self._surfaces():
            answer = await surface.serve(request, caller)
            if answer is not None:
                return answer
        return refused(404, "no such route")

    def _caller(self, request: WebRequest) -> Caller | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not token:
            return None
        return self.services.deployment.authenticate(token)

    def _admin(self) -> AdminRoutes:
        services, secrets = self.services, self.services.deployment.secrets
        return AdminRoutes(
            fence=services.fence,
            inventory=Inventory(services.context.database, services.fence, services.now_ms),
            log=services.log,
            secret=secrets.maintenance_admin,
            identity_secret=secrets.identity,
        )

    def _webhooks(self) -> WebhookIngress:
        services, deployment = self.services, self.services.deployment

        async def handle(delivery: Delivery) -> None:
            await deployment.on_delivery(services, delivery)

        return WebhookIngress(
            services.context.database,
            services.fence,
            deployment.webhook_secrets,
            handle,
            services.now_ms,
            services.log,
        )

    def _surfaces(self) -> tuple[Surface, ...]:
        services = self.services
        database, now_ms = services.context.database, services.now_ms
        return (
            RunRoutes(services, self.topology, self.approvals),
            ApprovalRouter(self.approvals),
            ScheduleRouter(
                Schedules(database, now_ms),
                services.fence,
                services.deployment.workflows,
                now_ms,
                services.mint,
            ),
            ObjectiveRouter(Objectives(database, now_ms), services.fence, services.log),
            AgentRoutes(AgentTopology(services)),
        )


class RunRouter(Worker):
    """Stateless code in front of objects."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer *request*, an error as well; a deployment in one process is asked there."""
        if deployment_of(self).topology == "objects":
            return await Front(self).answer(request)
        try:
            return await self.objects.get(RunProcess, PROCESS).serve(request)
        except Exception as error:
            return router_error_response(error)


class RunProcess(DurableObject, durable=False):
    """Router and runtime in one memory."""

    def __init__(self) -> None:
        services = Services(self)
        runtime = services.runtime(services.deployment.workflows)
        self._front = Front(self, InProcess(services, runtime))

    async def serve(self, request: WebRequest) -> WebResponse:
        """Answer *request* as the router does."""
        return await self._front.answer(request)

    async def tick(self) -> dict[str, int]:
        """Start what schedules owe, once; returns how many fires came to what."""
        return attrs.asdict(await self._front.tick().tick())


def refused(status: int, message: str) -> WebResponse:
    """Return an answer with no reason."""
    return no_store(json_response(status, {"error": message}))

"""What the objects of runs and of threads share: one method, a table of routes, their services."""

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from ..object import DurableObject
from ..worker import Route, WebRequest, WebResponse
from .engine import Workflow
from .http import do_error_response, json_response
from .owners import REGISTRY, RunOwners
from .runtime import RunnerRuntime
from .wiring import Services

__all__ = ["BODY_BYTES_MAX", "ServedObject"]

BODY_BYTES_MAX = 2 << 20
"""A start as it came from a router, which takes half of that, with what the router adds."""


class ServedObject(DurableObject):
    """An object that answers requests from inside of its deployment by a table of routes."""

    routes: ClassVar[tuple[Route, ...]] = ()

    def __init__(self) -> None:
        self._services: Services | None = None
        self._runtime: RunnerRuntime | None = None

    async def serve(self, request: WebRequest) -> WebResponse:
        """Answer *request*; an error is an answer."""
        try:
            identity = self._wired.identity
            identity.check_request(request)
            await identity.check_database()
            for route in self.routes:
                parameters = route.match(request.path)
                if parameters is not None and route.method == request.method:
                    self._check_parameters(parameters)
                    handler: Callable[..., Awaitable[WebResponse]] = getattr(self, route.handler)
                    return await handler(request, **parameters)
            return json_response(404, {"error": f"no route {request.method} {request.path}"})
        except Exception as error:
            return do_error_response(error)

    def _check_parameters(self, parameters: Mapping[str, str]) -> None:
        """Refuse a request for somebody else."""

    def _workflows(self) -> Mapping[str, Workflow]:
        """Return what the runtime of this object can run: workflows, but for those of agents."""
        return self._wired.deployment.workflows

    @property
    def _wired(self) -> Services:
        if self._services is None:
            self._services = Services(self)
        return self._services

    def _runs(self) -> RunnerRuntime:
        if self._runtime is None:
            runtime = self._wired.runtime(self._workflows())
            if runtime.fence == "none" or runtime.reservations == "none":
                raise RuntimeError(
                    f"{self.address} needs a fence and reservations beside its database"
                )
            self._runtime = runtime
        return self._runtime

    @property
    def _owners(self) -> RunOwners:
        return self.objects.get(RunOwners, REGISTRY)

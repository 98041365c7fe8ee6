"""What every router of a surface does alike: its table of routes, roles, bodies, errors.

A surface stands behind the router of the deployment, which has checked the deployment's identity
and authenticated the caller.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final

from ..worker import Route, WebRequest, WebResponse
from .callers import Caller
from .http import json_response, no_store, router_error_response
from .run_errors import RunError

__all__ = ["BODY_BYTES_MAX", "ForbiddenError", "MissingError", "Surface"]

BODY_BYTES_MAX: Final = 1 << 20
"""Bytes of a request's body, as for a start (spec/run-claims.md 3.1)."""


class ForbiddenError(RunError):
    """The caller may not do this. Nothing was done."""

    status = 403


class MissingError(RunError):
    """There is no such thing, or none that the caller may see. Nothing was done."""

    status = 404


class Surface:
    """Some routes. Subclass it and give it `routes`.

    Class attributes:
        routes: tried in order; `handler` is a coroutine method that takes the request, the caller
            and the parameters by name, and returns JSON or a response; `scope` is the role that
            the caller must have, None for any caller.
    """

    routes: ClassVar[tuple[Route, ...]] = ()

    async def serve(self, request: WebRequest, caller: Caller) -> WebResponse | None:
        """Answer *request*, or return None if its path is none of this surface's."""
        is_ours = False
        for route in self.routes:
            parameters = route.match(request.path)
            if parameters is None:
                continue
            is_ours = True
            if route.method == request.method:
                return await self._answer(route, request, caller, parameters)
        if not is_ours:
            return None
        return no_store(json_response(405, {"error": f"{request.method} is not answered here"}))

    async def _answer(
        self, route: Route, request: WebRequest, caller: Caller, parameters: Mapping[str, str]
    ) -> WebResponse:
        handler: Callable[..., Awaitable[Any]] = getattr(self, route.handler)
        try:
            if route.scope is not None and route.scope not in caller.roles:
                raise ForbiddenError(f"this takes the role {route.scope}")
            answer = await handler(request, caller, **parameters)
        except Exception as error:
            return self.render(error)
        if isinstance(answer, WebResponse):
            return no_store(answer)
        return no_store(json_response(200, answer))

    def render(self, error: Exception) -> WebResponse:
        """Render an error for a tenant."""
        return router_error_response(error)

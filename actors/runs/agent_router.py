"""The public routes of agents. They take a prompt, and no key (spec/run-claims.md 3.6).

An error of a thread with a status of 500 or more is passed on only if it says why; otherwise
nothing of it is (4.2).
"""

from typing import Any

from ...wire import RunRouteError
from ..worker import Route, WebRequest, WebResponse
from .callers import Caller
from .http import read_object, run_route_response
from .run_errors import InvalidRunRequestError, UnknownRunError
from .surface import BODY_BYTES_MAX, Surface
from .threads import AgentStart, AgentTopology
from .topology import Summary

__all__ = ["AgentRoutes"]


class AgentRoutes(Surface):
    """Start an agent in a new thread or in one of the caller's; talk to a thread."""

    routes = (
        Route("POST", "/agents/{agent}/runs", "start", scope="operator"),
        Route("POST", "/agents/{agent}/threads/{thread}/runs", "start", scope="operator"),
        Route("GET", "/agents/{agent}/threads/{thread}/runs/{run}", "status"),
        Route("POST", "/threads/{thread}/signals/{kind}", "signal", scope="operator"),
    )

    def __init__(self, agents: AgentTopology) -> None:
        """Serve *agents*."""
        self._agents = agents

    def render(self, error: Exception) -> WebResponse:
        """Render an error for a tenant: of a thread's own failures nothing but its reason."""
        if isinstance(error, RunRouteError):
            return run_route_response(error)
        return super().render(error)

    async def start(
        self, request: WebRequest, caller: Caller, agent: str, thread: str | None = None
    ) -> Summary:
        """Start an agent and answer when its first leg has ended."""
        body = read_object(request, BODY_BYTES_MAX)
        if body.keys() - {"prompt"}:
            raise InvalidRunRequestError("a start of an agent takes a prompt and nothing else")
        asked = AgentStart(
            agent_id=agent, owner=caller.owner, prompt=body.get("prompt"), thread_id=thread
        )
        return await self._agents.start(asked)

    async def status(
        self, request: WebRequest, caller: Caller, agent: str, thread: str, run: str
    ) -> Summary:
        """Show a run of a thread."""
        del request
        found = await self._agents.status(thread, agent, run, caller.owner)
        if found is None:
            raise UnknownRunError(run)
        return found

    async def signal(
        self, request: WebRequest, caller: Caller, thread: str, kind: str
    ) -> dict[str, Any]:
        """Send a message to a thread, or wake it with one."""
        if kind not in ("message", "wake"):
            raise InvalidRunRequestError("a signal is a message or a wake")
        body = read_object(request, BODY_BYTES_MAX)
        return await self._agents.signal(thread, kind, body.get("message"), caller.owner)

"""The routes of schedules: whoever makes standing work passes the fence, whoever ends it does not.

Source: spec/run-claims.md 1.10. Pausing, deleting and looking are open in every state.
"""

from collections.abc import Callable, Collection
from typing import Any

from ..worker import Route, WebRequest
from .callers import Caller
from .fence import FenceWiring
from .gates import pass_gate
from .http import read_object
from .run_errors import InvalidRunRequestError, UnknownWorkflowError
from .schedules import EVERY_MS_MIN, Schedule, Schedules
from .surface import BODY_BYTES_MAX, MissingError, Surface

__all__ = ["ScheduleRouter"]


class ScheduleRouter(Surface):
    """Schedules over HTTP. A schedule is shown to its owner and to admins; to others it is not."""

    routes = (
        Route("POST", "/schedules", "create", scope="operator"),
        Route("GET", "/schedules", "owned"),
        Route("GET", "/schedules/{name}", "show"),
        Route("PATCH", "/schedules/{name}", "update", scope="operator"),
        Route("POST", "/schedules/{name}/resume", "resume", scope="operator"),
        Route("POST", "/schedules/{name}/pause", "pause"),
        Route("DELETE", "/schedules/{name}", "delete"),
    )

    def __init__(
        self,
        schedules: Schedules,
        fence: FenceWiring,
        workflows: Collection[str],
        now_ms: Callable[[], int],
        mint: Callable[[], str],
    ) -> None:
        """Serve *schedules* of the known *workflows*; *mint* names new ones."""
        self._schedules = schedules
        self._fence: FenceWiring = fence
        self._workflows = workflows
        self._now_ms = now_ms
        self._mint = mint

    async def create(self, request: WebRequest, caller: Caller) -> dict[str, Any]:
        """Make a schedule that is the caller's."""
        await pass_gate(self._fence, "schedule-authoring")
        body = read_object(request, BODY_BYTES_MAX)
        workflow_id = body.get("workflowId")
        if not isinstance(workflow_id, str):
            raise InvalidRunRequestError("workflowId: a text is needed")
        if workflow_id not in self._workflows:
            raise UnknownWorkflowError(workflow_id)
        every_ms = interval(body.get("everyMs"))
        first_at = whole("firstAt", body.get("firstAt", self._now_ms() + every_ms))
        made = await self._schedules.create(
            self._mint(), caller.owner, workflow_id, body.get("input"), every_ms, first_at
        )
        return made.json()

    async def owned(self, request: WebRequest, caller: Caller) -> dict[str, Any]:
        """Show the caller's schedules."""
        del request
        return {"schedules": [each.json() for each in await self._schedules.owned(caller.owner)]}

    async def show(self, request: WebRequest, caller: Caller, name: str) -> dict[str, Any]:
        """Show one schedule."""
        del request
        return (await self._found(caller, name)).json()

    async def update(self, request: WebRequest, caller: Caller, name: str) -> dict[str, Any]:
        """Change the interval or the input of a schedule."""
        await pass_gate(self._fence, "schedule-authoring")
        body = read_object(request, BODY_BYTES_MAX)
        before = await self._found(caller, name)
        every_ms = interval(body.get("everyMs", before.every_ms))
        await self._schedules.update(name, every_ms, body.get("input", before.input))
        return (await self._found(caller, name)).json()

    async def resume(self, request: WebRequest, caller: Caller, name: str) -> dict[str, Any]:
        """Let a paused schedule fire again."""
        del request
        await pass_gate(self._fence, "schedule-authoring")
        await self._found(caller, name)
        await self._schedules.resume(name)
        return (await self._found(caller, name)).json()

    async def pause(self, request: WebRequest, caller: Caller, name: str) -> dict[str, Any]:
        """Let a schedule not fire."""
        del request
        await self._found(caller, name)
        await self._schedules.pause(name)
        return (await self._found(caller, name)).json()

    async def delete(self, request: WebRequest, caller: Caller, name: str) -> dict[str, Any]:
        """Remove a schedule."""
        del request
        await self._found(caller, name)
        return {"deleted": await self._schedules.delete(name)}

    async def _found(self, caller: Caller, name: str) -> Schedule:
        found = await self._schedules.get(name)
        if found is None or not caller.may_touch(found.owner):
            raise MissingError(f"there is no schedule {name}")
        return found


def interval(value: object) -> int:
    """Return *value* as an interval, milliseconds."""
    every_ms = whole("everyMs", value)
    if every_ms < EVERY_MS_MIN:
        raise InvalidRunRequestError(f"everyMs: at least {EVERY_MS_MIN}")
    return every_ms


def whole(field: str, value: object) -> int:
    """Return *value* as a number of milliseconds that the database can hold."""
    if type(value) is not int or not 0 < value < 1 << 53:
        raise InvalidRunRequestError(f"{field}: a whole number of milliseconds is needed")
    return value

"""Objectives: what an agent's thread works towards, one text for each thread.

An objective is standing work: setting or changing one passes the fence, after the role gate and
audited; clearing one is open in every state. Source: spec/run-claims.md 1.10.
"""

from collections.abc import Callable
from typing import Any, Final

import attrs

from ..ports import Database
from ..worker import Route, WebRequest
from .callers import Caller
from .fence import FenceWiring
from .gates import pass_gate
from .http import message_of, read_object
from .names import is_path_safe
from .reservations import Log
from .run_errors import InvalidRunRequestError
from .surface import BODY_BYTES_MAX, MissingError, Surface
from .tables import Tables

__all__ = ["Objective", "ObjectiveRouter", "Objectives"]

TABLE: Final = "flowsafe_objectives"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    thread_id TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    set_by TEXT NOT NULL,
    revision INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
)""",
)
SET: Final = (
    f"INSERT INTO {TABLE} (thread_id, text, set_by, revision, updated_at) VALUES (?, ?, ?, 1, ?) "
    "ON CONFLICT (thread_id) DO UPDATE SET text = excluded.text, set_by = excluded.set_by, "
    "revision = revision + 1, updated_at = excluded.updated_at"
)
UPDATE: Final = (
    f"UPDATE {TABLE} SET text = ?, set_by = ?, revision = revision + 1, updated_at = ? "
    "WHERE thread_id = ?"
)
TEXT_MAX: Final = 10_000
"""Characters of an objective."""


@attrs.frozen
class Objective:
    """What one thread works towards.

    Attributes:
        revision: how often it was set or changed.
    """

    thread_id: str
    text: str
    revision: int

    def json(self) -> dict[str, Any]:
        """Return what a caller is shown."""
        return {"threadId": self.thread_id, "text": self.text, "revision": self.revision}


class Objectives:
    """The objectives of one deployment, in its shared database.

    Every method raises `TablesUnreadableError` if nobody can tell what is stored.
    """

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        """Reach the rows by *database*; *now_ms* stamps what is written."""
        self._tables = Tables(database, (TABLE,), CREATE)
        self._now_ms = now_ms

    async def get(self, thread_id: str) -> Objective | None:
        """Return the objective of a thread, or None."""
        sql = f"SELECT thread_id, text, revision FROM {TABLE} WHERE thread_id = ?"
        found = await self._tables.read(sql, thread_id)
        return Objective(*found[0]) if found else None

    async def set(self, thread_id: str, text: str, by: str) -> None:
        """Give a thread an objective in place of the one it has."""
        await self._tables.insert((SET, (thread_id, text, by, self._now_ms())))

    async def update(self, thread_id: str, text: str, by: str) -> bool:
        """Change the objective that a thread has; returns whether it has one."""
        done = await self._tables.change(UPDATE, text, by, self._now_ms(), thread_id)
        return done.changes > 0

    async def clear(self, thread_id: str) -> bool:
        """Take a thread's objective away; returns whether it had one."""
        done = await self._tables.change(f"DELETE FROM {TABLE} WHERE thread_id = ?", thread_id)
        return done.changes > 0


class ObjectiveRouter(Surface):
    """Objectives over HTTP."""

    routes = (
        Route("GET", "/threads/{thread}/objective", "show"),
        Route("PUT", "/threads/{thread}/objective", "set", scope="operator"),
        Route("PATCH", "/threads/{thread}/objective", "update", scope="operator"),
        Route("DELETE", "/threads/{thread}/objective", "clear", scope="operator"),
    )

    def __init__(self, objectives: Objectives, fence: FenceWiring, audit: Log) -> None:
        """Serve *objectives*; *audit* is told of each attempt to change one, with its outcome."""
        self._objectives = objectives
        self._fence: FenceWiring = fence
        self._audit = audit

    async def show(self, request: WebRequest, caller: Caller, thread: str) -> dict[str, Any]:
        """Show the objective of a thread."""
        del request, caller
        return (await self._found(thread)).json()

    async def set(self, request: WebRequest, caller: Caller, thread: str) -> dict[str, Any]:
        """Give a thread an objective."""
        await self._admit("objective-set", caller, thread)
        await self._objectives.set(named(thread), wording(request), caller.owner.id)
        self._audit("objective-set", about(caller, thread, "done"))
        return (await self._found(thread)).json()

    async def update(self, request: WebRequest, caller: Caller, thread: str) -> dict[str, Any]:
        """Change the objective that a thread has."""
        await self._admit("objective-update", caller, thread)
        text = wording(request)
        if not await self._objectives.update(thread, text, caller.owner.id):
            raise MissingError(f"thread {thread} has no objective")
        self._audit("objective-update", about(caller, thread, "done"))
        return (await self._found(thread)).json()

    async def clear(self, request: WebRequest, caller: Caller, thread: str) -> dict[str, Any]:
        """Take a thread's objective away."""
        del request
        cleared = await self._objectives.clear(thread)
        self._audit("objective-clear", about(caller, thread, "done"))
        return {"cleared": cleared}

    async def _admit(self, action: str, caller: Caller, thread: str) -> None:
        try:
            await pass_gate(self._fence, "objective-authoring")
        except Exception as error:
            self._audit(action, about(caller, thread, f"refused: {message_of(error)}"))
            raise

    async def _found(self, thread: str) -> Objective:
        found = await self._objectives.get(thread)
        if found is None:
            raise MissingError(f"thread {thread} has no objective")
        return found


def about(caller: Caller, thread: str, outcome: str) -> dict[str, Any]:
    """Return one line of the audit."""
    return {
        "principal": f"{caller.owner.kind}:{caller.owner.id}",
        "threadId": thread,
        "outcome": outcome,
    }


def named(thread: str) -> str:
    """Return *thread* if a thread can have that name."""
    if not is_path_safe(thread):
        raise InvalidRunRequestError("thread: not path-safe")
    return thread


def wording(request: WebRequest) -> str:
    """Return the text of an objective from the body."""
    text = read_object(request, BODY_BYTES_MAX).get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > TEXT_MAX:
        raise InvalidRunRequestError(f"text: 1 to {TEXT_MAX} characters are needed")
    return text

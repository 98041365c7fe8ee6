"""Notifications: messages that are due at a time, sent by passes of a dispatcher.

A pass asks the fence once, before it looks at what is due, and never raises. A message is taken
before it is sent, for a while: if whoever took it dies, it is due again, so that a message may be
sent twice, but is never lost. Source: spec/run-claims.md 1.10.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs

from ..ports import Database
from .fence import FenceWiring
from .gates import may_pass
from .http import message_of
from .reservations import Log
from .tables import Tables, TablesUnreadableError

__all__ = ["Notification", "NotificationDispatch", "Notifications", "Sent"]

TABLE: Final = "flowsafe_notifications"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY,
    recipient TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'failed')),
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_due ON {TABLE} (state, due_at)",
)
ATTEMPTS_MAX: Final = 5
RETRY_MS: Final = 60_000
"""Milliseconds until a message that could not be sent is due again."""
TAKEN_MS: Final = 300_000
"""Milliseconds for which a message is taken: far longer than sending takes."""
PASS_MAX: Final = 100

TAKE: Final = (
    f"UPDATE {TABLE} SET state = 'sending', attempts = attempts + 1, due_at = ?, updated_at = ? "
    "WHERE id = ? AND state IN ('pending', 'sending') AND due_at = ?"
)
MARK: Final = (
    f"UPDATE {TABLE} SET state = ?, due_at = ?, updated_at = ? "
    "WHERE id = ? AND state = 'sending' AND attempts = ?"
)


@attrs.frozen
class Notification:
    """One message.

    Attributes:
        attempts: how often somebody began to send it before.
        due_at: milliseconds since 1970 UTC.
    """

    id: str
    recipient: str
    message: Any
    attempts: int
    due_at: int


@attrs.frozen
class Sent:
    """What one pass did, in messages."""

    sent: int = 0
    again: int = 0
    failed: int = 0


class Notifications:
    """The notifications of one deployment, in its shared database.

    Every method raises `TablesUnreadableError` if nobody can tell what is stored.
    """

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        """Reach the rows by *database*; *now_ms* stamps what is written."""
        self._tables = Tables(database, (TABLE,), CREATE)
        self._now_ms = now_ms

    async def add(self, name: str, recipient: str, message: Any, due_at: int) -> None:
        """Have *message* sent at *due_at*; the same *name* again changes nothing."""
        sql = f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?, 'pending', 0, ?, ?)"
        values = (name, recipient, json.dumps(message), due_at, self._now_ms())
        await self._tables.insert((sql, values))

    async def due(self) -> list[Notification]:
        """Return what is to be sent now, the longest due first."""
        sql = (
            f"SELECT id, recipient, message, attempts, due_at FROM {TABLE} "
            "WHERE state IN ('pending', 'sending') AND due_at <= ? ORDER BY due_at, id LIMIT ?"
        )
        return [
            Notification(name, recipient, json.loads(message), *rest)
            for name, recipient, message, *rest in await self._tables.read(
                sql, self._now_ms(), PASS_MAX
            )
        ]

    async def take(self, due: Notification) -> bool:
        """Take a message to send it; returns whether it is ours."""
        now = self._now_ms()
        taken = await self._tables.change(TAKE, now + TAKEN_MS, now, due.id, due.due_at)
        return taken.changes > 0

    async def mark(self, taken: Notification, state: str, due_at: int) -> None:
        """Say what became of a message that was taken, unless it is somebody else's by now."""
        values = (state, due_at, self._now_ms(), taken.id, taken.attempts + 1)
        await self._tables.change(MARK, *values)


class NotificationDispatch:
    """One pass after another over what is due."""

    def __init__(
        self,
        notifications: Notifications,
        send: Callable[[Notification], Awaitable[None]],
        fence: FenceWiring,
        now_ms: Callable[[], int],
        log: Log,
    ) -> None:
        """Send *notifications* by *send*, which may be asked twice for one message."""
        self._notifications = notifications
        self._send = send
        self._fence: FenceWiring = fence
        self._now_ms = now_ms
        self._log = log

    async def tick(self) -> Sent:
        """Do one pass. Never raises for the fence, the database or a message."""
        if not await may_pass(self._fence, "notification-dispatch", self._log):
            return Sent()
        try:
            due = await self._notifications.due()
        except TablesUnreadableError as error:
            self._log("notification-dispatch-unreadable", {"error": str(error)})
            return Sent()
        ends = [await self._dispatch(each) for each in due]
        return Sent(ends.count("sent"), ends.count("again"), ends.count("failed"))

    async def _dispatch(self, due: Notification) -> str:
        try:
            if not await self._notifications.take(due):
                return "taken"
            end, state, again_at = await self._try(due)
            await self._notifications.mark(due, state, again_at)
        except TablesUnreadableError as error:
            # What was taken becomes due again by itself.
            self._log("notification-dispatch-unreadable", {"id": due.id, "error": str(error)})
            return "unknown"
        return end

    async def _try(self, due: Notification) -> tuple[str, str, int]:
        try:
            await self._send(due)
        except Exception as error:
            self._log("notification-not-sent", {"id": due.id, "error": message_of(error)})
            if due.attempts + 1 >= ATTEMPTS_MAX:
                return "failed", "failed", due.due_at
            return "again", "pending", self._now_ms() + RETRY_MS
        return "sent", "sent", due.due_at

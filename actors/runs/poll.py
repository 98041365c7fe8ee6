"""Provider poll: asks each provider what is new, and hands that on.

A pass asks the fence once. Per provider a cursor says how far it was read; it moves on only after
everything up to it was handed on, so that an item may come twice but is never missed.
Source: spec/run-claims.md 1.10.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import attrs

from ..ports import Database
from .fence import FenceWiring
from .gates import may_pass
from .http import message_of
from .reservations import Log
from .tables import Tables

__all__ = ["Page", "Polled", "Provider", "ProviderPoll"]

TABLE: Final = "flowsafe_poll_cursors"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    provider TEXT PRIMARY KEY,
    cursor TEXT NOT NULL,
    updated_at INTEGER NOT NULL
)""",
)
MOVE: Final = (
    f"INSERT INTO {TABLE} VALUES (?, ?, ?) ON CONFLICT (provider) DO UPDATE "
    "SET cursor = excluded.cursor, updated_at = excluded.updated_at WHERE cursor = ?"
)


@attrs.frozen
class Page:
    """What a provider has that is new.

    Attributes:
        items: in the provider's order.
        cursor: after them.
    """

    items: Sequence[Any]
    cursor: str


class Provider(Protocol):
    """Somebody who can be asked what is new."""

    async def poll(self, cursor: str | None) -> Page:
        """Return what has come after *cursor*; None means from the beginning."""
        ...


@attrs.frozen
class Polled:
    """What one pass did."""

    providers: int = 0
    items: int = 0
    failed: int = 0


class ProviderPoll:
    """One pass after another over all providers."""

    def __init__(
        self,
        database: Database,
        fence: FenceWiring,
        providers: Mapping[str, Provider],
        handle: Callable[[str, Any], Awaitable[None]],
        now_ms: Callable[[], int],
        log: Log,
    ) -> None:
        """Ask *providers*, by name, and hand each item to *handle*, which may get one twice."""
        self._tables = Tables(database, (TABLE,), CREATE)
        self._fence: FenceWiring = fence
        self._providers = providers
        self._handle = handle
        self._now_ms = now_ms
        self._log = log

    async def poll(self) -> Polled:
        """Do one pass. Never raises for the fence, the database or a provider."""
        if not await may_pass(self._fence, "provider-poll", self._log):
            return Polled()
        items = failed = 0
        for name, provider in sorted(self._providers.items()):
            try:
                items += await self._ask(name, provider)
            except Exception as error:
                failed += 1
                self._log("provider-poll-failed", {"provider": name, "error": message_of(error)})
        return Polled(len(self._providers), items, failed)

    async def _ask(self, name: str, provider: Provider) -> int:
        found = await self._tables.read(f"SELECT cursor FROM {TABLE} WHERE provider = ?", name)
        cursor = str(found[0][0]) if found else None
        page = await provider.poll(cursor)
        for item in page.items:
            await self._handle(name, item)
        if page.cursor != cursor:
            # Another pass may have gone further meanwhile: the cursor moves from where this began.
            values = (name, page.cursor, self._now_ms(), cursor)
            await self._tables.insert((MOVE, values))
        return len(page.items)

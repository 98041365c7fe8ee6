"""The lifecycle of one member's container: booted, hydrated, warm; and when it was restored last.

Source: spec/deploy-fence.md A.1, B.2.
"""

from typing import Final, Literal

import trio

from ..object import DurableObject
from .bounds import milliseconds
from .documents import as_int, as_text
from .native import Activity, Containers

__all__ = ["Lifecycle", "LifecycleState"]

LifecycleState = Literal["onboarding", "restoring", "refreshing", "warm", "degraded", "down"]

STATE: Final = "state"
REASON: Final = "reason"
RESTORED: Final = "lastRestoreAt"


class Lifecycle:
    """What a member knows of its container's state, and how it brings the container up.

    Attributes:
        boot_id: of the boot that was hydrated last by this incarnation; None if none was.
    """

    __slots__ = ("_alone", "_containers", "_member", "boot_id")

    def __init__(self, member: DurableObject, containers: Containers) -> None:
        self._member = member
        self._containers = containers
        self._alone = trio.Lock()
        self.boot_id: str | None = None

    @property
    def state(self) -> str:
        """The stored state; "down" for a container that never ran."""
        return as_text(self._member.storage.kv.get(STATE)) or "down"

    @property
    def last_restore_at(self) -> int:
        """When a container was hydrated last, milliseconds since 1970; 0 for never."""
        return as_int(self._member.storage.kv.get(RESTORED)) or 0

    def enter(self, state: LifecycleState, reason: str = "") -> None:
        """Store *state* and why."""
        self._member.storage.kv.put_many({STATE: state, REASON: reason})

    async def bring_up(self) -> Activity:
        """Make sure that the container runs and is whole; returns what it is doing.

        Raises:
            Exception: whatever the container answered. The state says how far it came.
        """
        async with self._alone:
            activity = await self._containers.start()
            if self.state != "warm" or self.boot_id != activity.boot_id:
                await self._restore(activity.boot_id)
            return activity

    async def restored(self, boot_id: str) -> None:
        """Make sure that the boot of that id is whole; starts none.

        Raises:
            Exception: whatever the container answered. The state says how far it came.
        """
        async with self._alone:
            if self.state != "warm" or self.boot_id != boot_id:
                await self._restore(boot_id)

    async def _restore(self, boot_id: str | None) -> None:
        self.enter("restoring")
        try:
            await self._containers.hydrate()
        except Exception:
            self.enter("degraded", "hydration failed")
            raise
        self.boot_id = boot_id
        self.enter("warm")
        self._member.storage.kv.put(RESTORED, milliseconds(self._member.now()))

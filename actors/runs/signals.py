"""The signal routes of a thread, and its wake lane.

A signal is kept until a run takes it. Each request reads the fence once, for the thread's active
run; a refusal says the path of the route. A wake goes through a lane, one after another, and asks
again when its turn has come, since the fence may have moved while it waited. Strangers are refused
before any of it. While a deployment drains, a wake that would start a run is only kept.
Source: spec/run-claims.md 1.10.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
import trio

from ..worker import WebRequest, WebResponse
from .errors import ExecutionFencedError, ExecutionFenceUnreadableError
from .fence import FenceReading, FenceState
from .gates import pass_gate
from .http import json_response, read_object
from .reservations import Owner
from .run_errors import (
    RunLifecycleBlockedError,
    RunNotSuspendedError,
    RunTerminalConflictError,
    UnknownRunError,
)
from .runtime import RunOrder
from .snapshots import Snapshot
from .thread_journal import ThreadJournal
from .wiring import Services

__all__ = ["Signals"]

SIGNAL_BYTES_MAX: Final = 1 << 20


@attrs.define(eq=False, kw_only=True)
class Signals:
    """Signals of one thread.

    Attributes:
        start, resume: of the thread.
    """

    thread_id: str
    journal: ThreadJournal
    services: Services
    start: Callable[[RunOrder], Awaitable[Snapshot]]
    resume: Callable[[str, str, object], Awaitable[Snapshot]]
    _lane: trio.Lock = attrs.field(factory=trio.Lock, init=False)

    async def message(self, request: WebRequest) -> WebResponse:
        """Keep a message for the next time that a run of the thread goes on."""
        await self._admit(request)
        self._keep(request)
        return json_response(202, {"kept": True, "woken": None})

    async def wake(self, request: WebRequest) -> WebResponse:
        """Keep a message, then go on with the active run, or start one for it."""
        await self._admit(request)
        self._keep(request)
        async with self._lane:
            return json_response(202, {"kept": True, "woken": await self._woken()})

    async def _admit(self, request: WebRequest) -> None:
        run_id = self._active_run()
        await pass_gate(self.services.fence, "thread-signal", run_id=run_id, label=request.path)

    def _active_run(self) -> str | None:
        active = self.journal.active()
        return None if active is None else active[1]

    def _keep(self, request: WebRequest) -> None:
        body = read_object(request, SIGNAL_BYTES_MAX)
        if not self.journal.keep(body.get("message")):
            raise RunLifecycleBlockedError(
                "too many signals wait in this thread", {"code": "THREAD_SIGNALS_FULL"}
            )

    async def _woken(self) -> dict[str, Any] | None:
        """Go on, or start; None if what was kept waits on."""
        fence = self.services.fence
        reading = await pass_gate(fence, "thread-wake", run_id=self._active_run())
        signals = self.journal.signals()
        if not signals:
            return None
        messages = list(signals.values())
        try:
            snapshot = await self._resumed(messages) or await self._minted(reading, messages)
        except RunNotSuspendedError:
            # It is on its way, and takes them when it is parked and woken again.
            return None
        if snapshot is None:
            return None
        self.journal.take(signals)
        return snapshot.summary()

    async def _resumed(self, messages: list[Any]) -> Snapshot | None:
        """Go on with the active run; None if there is none."""
        active = self.journal.active()
        if active is None:
            return None
        try:
            return await self.resume(*active, {"signals": messages})
        except (RunTerminalConflictError, UnknownRunError):
            self.journal.end_active(*active)
            return None

    async def _minted(self, reading: FenceReading, messages: list[Any]) -> Snapshot | None:
        """Start a run for *messages*; None where none may start, or nobody says for whom."""
        binding = self.journal.binding()
        if binding is None or not may_mint(reading):
            return None
        order = RunOrder(
            workflow_id=binding.agent_id,
            run_id=self.services.mint(),
            owner=Owner(binding.kind, binding.owner_id),  # type: ignore[arg-type]
            payload={"signals": messages},
            thread_id=self.thread_id,
        )
        try:
            return await self.start(order)
        except (ExecutionFencedError, ExecutionFenceUnreadableError):
            # It closed just now: nothing of the run was kept, the signal is.
            return None


def may_mint(reading: FenceReading) -> bool:
    """Whether a wake may start a run: the runtime would refuse it in every other state."""
    return reading.state is FenceState.OPEN

"""`ThreadObject`: one object a thread of an agent, in which the agent's runs live.

A start has no gate of its own here: the thread takes ownership, binds itself and writes its record,
and then the runtime's gate refuses, before the lock of the run, so that a start which is refused
does not wait behind a live one. What a refused attempt has written is undone before it is answered
(spec/run-claims.md 3.6).

A start that is delivered twice while the first is under way shares its attempt: whoever ends last
settles or undoes what both have written.
"""

from collections.abc import Mapping

import attrs
import trio

from ..object import AlarmInfo
from ..worker import Route, WebRequest, WebResponse
from .engine import Workflow
from .gates import pass_gate
from .giveback import is_sealed
from .http import json_response, read_object
from .journal import Deadline, charged, is_charged
from .requests import order_of, principal_of, resumption_of
from .reservations import Owner
from .run_errors import (
    InvalidRunRequestError,
    RunAdmissionConflictError,
    RunNotSuspendedError,
    RunStateUnreadableError,
    RunTerminalConflictError,
    UnknownRunError,
)
from .runtime import RunOrder, name_of
from .served import BODY_BYTES_MAX, ServedObject
from .signals import Signals
from .snapshots import Snapshot
from .surface import ForbiddenError
from .thread_journal import Attempt, ThreadJournal

__all__ = ["ROUTES", "ThreadObject"]

ROUTES = (
    Route("GET", "/thread", "_thread"),
    Route("POST", "/runs", "_start"),
    Route("GET", "/runs/{agent}/{run}", "_status"),
    Route("GET", "/runs/{agent}/{run}/dispatch-status", "_dispatch_status"),
    Route("GET", "/runs/{agent}/{run}/start-liveness", "_start_liveness"),
    Route("POST", "/runs/{agent}/{run}/resume", "_resume"),
    Route("POST", "/runs/{agent}/{run}/terminate", "_terminate"),
    Route("POST", "/runs/{agent}/{run}/seal", "_seal"),
    Route("POST", "/signals/message", "_message"),
    Route("POST", "/signals/wake", "_wake"),
)
"""What the one method answers."""


class Shared:
    """An attempt in memory.

    Attributes:
        deliveries: of its start that are under way.
        is_over: whether it is being undone, so that no other delivery may take part.
        ended: set when nobody works for it any more.
    """

    __slots__ = ("attempt", "deliveries", "ended", "is_over")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.deliveries = 0
        self.is_over = False
        self.ended = trio.Event()


class ThreadObject(ServedObject):
    """One thread. Its stored keys are those of `ThreadJournal`."""

    routes = ROUTES

    def __init__(self) -> None:
        super().__init__()
        self._records = trio.Lock()
        self._in_flight: dict[str, Shared] = {}
        self._journal = ThreadJournal(self.storage)
        self._signals: Signals | None = None

    def _workflows(self) -> Mapping[str, Workflow]:
        return self._wired.deployment.agents

    def _check_owner(self, owner: Owner) -> None:
        """Let through whose thread it is, and everybody while it is nobody's.

        Raises:
            ForbiddenError: it is somebody else's; no more is said.
        """
        binding = self._journal.binding()
        if binding is not None and owner.kind != "system" and not binding.is_of(owner):
            raise ForbiddenError("this thread is not yours")

    async def _thread(self, request: WebRequest) -> WebResponse:
        self._check_owner(principal_of(request))
        active = self._journal.active()
        return json_response(
            200,
            {
                "threadId": self.address.name,
                "isBound": self._journal.binding() is not None,
                "activeRunId": None if active is None else active[1],
                "signals": len(self._journal.signals()),
            },
        )

    # ---- start

    async def _start(self, request: WebRequest) -> WebResponse:
        owner = principal_of(request)
        order = order_of(read_object(request, BODY_BYTES_MAX), owner)
        if order.thread_id != self.address.name:
            raise ValueError(f"thread {order.thread_id} does not live in {self.address.name}")
        self._check_owner(owner)
        return json_response(200, (await self._start_run(order)).summary())

    async def _start_run(self, order: RunOrder) -> Snapshot:
        """Start a run of this thread. Refused as `RunnerRuntime.start`; what it wrote is undone."""
        self._runs().workflow(order.workflow_id)
        name = name_of(order.workflow_id, order.run_id)
        shared = await self._join(order, name)
        if shared is None:
            # The runtime says so, behind its gate.
            return await self._runs().start(order, self._wired.mint())
        try:
            return await self._attempt(shared, order)
        finally:
            shared.deliveries -= 1
            if not shared.deliveries:
                del self._in_flight[name]
                shared.ended.set()

    async def _join(self, order: RunOrder, name: str) -> Shared | None:
        """Begin an attempt, or take part in the one under way; None if the run is there already.

        Raises:
            ForbiddenError: the thread has become somebody else's. Nothing was written.
            RunAdmissionConflictError: its claim is refused for good. Nothing was written.
        """
        while True:
            async with self._records:
                self._check_owner(order.owner)
                if is_sealed(order.claim, self._journal.sealed(name)):
                    raise RunAdmissionConflictError(order.run_id, "claim-sealed")
                shared = self._in_flight.get(name)
                if shared is None:
                    return await self._begin(order, name)
                if not shared.is_over:
                    shared.deliveries += 1
                    return shared
            await shared.ended.wait()

    async def _begin(self, order: RunOrder, name: str) -> Shared | None:
        await self._settle_dead(self._journal.attempt(name))
        if await self._exists(order.workflow_id, order.run_id):
            return None
        attempt = self._journal.arm(
            order.workflow_id, order.run_id, self._wired.mint(), order.owner
        )
        shared = self._in_flight[name] = Shared(attempt)
        shared.deliveries = 1
        return shared

    async def _exists(self, agent: str, run: str) -> bool:
        try:
            await self._runs().status(agent, run)
        except UnknownRunError:
            return False
        return True

    async def _attempt(self, shared: Shared, order: RunOrder) -> Snapshot:
        attempt, owner = shared.attempt, order.owner
        try:
            await self._owners.reserve(attempt.name, attempt.token, owner.kind, owner.id)
            snapshot = await self._runs().start(order, attempt.token)
        except Exception as error:
            snapshot = await self._recover(shared, error)
        await self._finish(attempt, snapshot)
        return snapshot

    async def _recover(self, shared: Shared, error: Exception) -> Snapshot:
        """Return what a failed attempt came to; if to nothing, undo it and raise *error* itself.

        A run that stopped between two steps is there and keeps its owner; it is no answer. Nobody
        joins an attempt that is being undone: another delivery waits, and then begins its own.
        """
        if shared.deliveries > 1:
            raise error
        shared.is_over, attempt = True, shared.attempt
        try:
            found = await self._settle(attempt)
        except Exception as failure:
            self._log_failure("thread-run-recovery-failed", failure)
            raise error from error.__cause__
        if found is None:
            raise error
        if not found.is_result:
            await self._finish(attempt, found)
            raise error
        return found

    async def _settle(self, attempt: Attempt) -> Snapshot | None:
        """Settle an attempt that has ended, whether it came to something or not."""
        found = await self._runs().recover_start_attempt(
            attempt.agent_id, attempt.run_id, attempt.token
        )
        if found is None:
            await self._owners.release(attempt.name, attempt.token)
            self._journal.undo(attempt)
        return found

    async def _finish(self, attempt: Attempt, snapshot: Snapshot) -> None:
        """Settle what a start that came to something has reserved; what fails stays journaled."""
        self._journal.reconcile(snapshot)
        try:
            await self._owners.settle(attempt.name, attempt.token)
        except Exception as failure:
            self._log_failure("thread-run-settle-failed", failure)
        else:
            self._journal.clear(attempt)

    async def _settle_dead(self, attempt: Attempt | None) -> None:
        """Settle what an attempt of an incarnation before has left.

        Raises:
            RunStateUnreadableError: nobody can tell what it left; it stays journaled.
        """
        if attempt is None:
            return
        try:
            found = await self._settle(attempt)
            if found is not None:
                await self._finish(attempt, found)
                await self._runs().settle(found)
        except RunStateUnreadableError:
            raise
        except Exception as error:
            raise RunStateUnreadableError("the owner of the run cannot be settled") from error

    def _log_failure(self, kind: str, failure: Exception) -> None:
        self._wired.log(kind, {"thread": self.address.name, "error": str(failure)})

    # ---- questions

    async def _status(self, request: WebRequest, agent: str, run: str) -> WebResponse:
        del request
        return json_response(200, (await self._runs().status(agent, run)).summary())

    async def _dispatch_status(self, request: WebRequest, agent: str, run: str) -> WebResponse:
        await self._settle_unless_live(name_of(agent, run))
        return await self._status(request, agent, run)

    async def _settle_unless_live(self, name: str) -> None:
        """Settle what a dead attempt has left of the run *name*. Raises as `_settle_dead`."""
        async with self._records:
            if name not in self._in_flight:
                await self._settle_dead(self._journal.attempt(name))

    async def _start_liveness(self, request: WebRequest, agent: str, run: str) -> WebResponse:
        """Answer from memory alone: whoever has lost it executes nothing."""
        del request
        return json_response(200, {"live": self._is_live(agent, run)})

    def _is_live(self, agent: str, run: str) -> bool:
        return name_of(agent, run) in self._in_flight or self._runs().is_active(agent, run)

    # ---- what changes a run

    async def _resume(self, request: WebRequest, agent: str, run: str) -> WebResponse:
        self._check_owner(principal_of(request))
        await pass_gate(self._wired.fence, "thread-signal", run_id=run, label=request.path)
        data, suspension = resumption_of(read_object(request, BODY_BYTES_MAX))
        return json_response(200, (await self._resume_run(agent, run, data, suspension)).summary())

    async def _resume_run(
        self, agent: str, run: str, data: object, suspension: int | None = None
    ) -> Snapshot:
        """Go on with a parked run of this thread. Refused as `RunnerRuntime.resume`."""
        self._journal.resume(name_of(agent, run), self._wired.now_ms())
        snapshot = await self._runs().resume(agent, run, data, suspension)
        self._journal.reconcile(snapshot)
        return snapshot

    async def _terminate(self, request: WebRequest, agent: str, run: str) -> WebResponse:
        self._check_owner(principal_of(request))
        await self._settle_unless_live(name_of(agent, run))
        snapshot = await self._runs().terminate(agent, run, "cancelled")
        self._journal.reconcile(snapshot)
        return json_response(200, snapshot.summary())

    async def _seal(self, request: WebRequest, agent: str, run: str) -> WebResponse:
        """Refuse a claim for good, unless its run is live or has begun."""
        stamp = read_object(request, BODY_BYTES_MAX).get("stamp")
        if type(stamp) is not int:
            raise InvalidRunRequestError("stamp is not valid")
        async with self._records:
            return json_response(200, {"sealed": await self._sealed(agent, run, stamp)})

    async def _sealed(self, agent: str, run: str, stamp: int) -> bool:
        if self._is_live(agent, run):
            return False
        name = name_of(agent, run)
        await self._settle_dead(self._journal.attempt(name))
        if await self._exists(agent, run):
            return False
        self._journal.seal(name, stamp)
        return True

    # ---- signals

    def _lane(self) -> Signals:
        if self._signals is None:
            self._signals = Signals(
                thread_id=self.address.name,
                journal=self._journal,
                services=self._wired,
                start=self._start_run,
                resume=self._resume_run,
            )
        return self._signals

    async def _message(self, request: WebRequest) -> WebResponse:
        self._check_owner(principal_of(request))
        return await self._lane().message(request)

    async def _wake(self, request: WebRequest) -> WebResponse:
        self._check_owner(principal_of(request))
        return await self._lane().wake(request)

    # ---- duties

    async def alarm(self, info: AlarmInfo) -> None:
        """Settle what dead attempts have left, and meet deadlines. Fails only with its host."""
        del info
        self._journal.watch()
        try:
            async with self._records:
                for attempt in self._journal.attempts():
                    if attempt.name not in self._in_flight:
                        await self._settle_dead(attempt)
            for name in self._journal.resuming():
                await self._look_again(name)
            for deadline in self._journal.deadlines():
                await self._meet(deadline)
        except Exception as failure:
            self._log_failure("thread-alarm-failed", failure)
            self._journal.watch()
        else:
            self._journal.arm_next()

    async def _meet(self, deadline: Deadline) -> None:
        now = self._wired.now_ms()
        if deadline.at_ms > now:
            return
        name = name_of(deadline.workflow_id, deadline.run_id)
        try:
            await self._end_suspension(deadline)
        except (UnknownRunError, RunTerminalConflictError, RunNotSuspendedError):
            await self._look_again(name)
        except Exception as error:
            self._log_failure("thread-deadline-failed", error)
            self._journal.resumed(name)
            later = charged(deadline, now) if is_charged(error) else uncharged(deadline, now)
            self._journal.set_deadline(name, later)

    async def _end_suspension(self, deadline: Deadline) -> None:
        agent, run = deadline.workflow_id, deadline.run_id
        if deadline.on_deadline == "time-out":
            self._journal.reconcile(
                await self._runs().terminate(agent, run, "timed_out", deadline.suspension)
            )
        else:
            await self._resume_run(agent, run, {"deadline": True}, deadline.suspension)

    async def _look_again(self, name: str) -> None:
        """Keep the deadline of the suspension that a run is at, unless it executes now."""
        agent, _, run = name.partition(":")
        if self._is_live(agent, run):
            return
        try:
            snapshot = await self._runs().status(agent, run)
        except UnknownRunError:
            self._journal.gone(name)
        else:
            if not self._is_live(agent, run):
                self._journal.reconcile(snapshot)


def uncharged(deadline: Deadline, now_ms: int) -> Deadline:
    """Return *deadline* after a wake that the fence refused: in a minute again, none counted."""
    return attrs.evolve(deadline, at_ms=now_ms + 60_000)

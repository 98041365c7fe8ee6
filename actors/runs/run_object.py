"""`RunObject`: one object a run, called `workflowId:runId`, with one method.

A start holds the operation lock for its whole first leg. The fence is asked before anything of the
run is read or written; after that the journal is armed first, so that whatever an attempt leaves
behind is found by the alarm or by the next start (spec/run-claims.md 3.2, 3.4, 3.5).
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import attrs
import trio

from ..object import AlarmInfo
from ..worker import Route, WebRequest, WebResponse
from .errors import ExecutionFencedError, ExecutionFenceUnreadableError
from .gates import pass_gate
from .giveback import is_sealed
from .http import json_response, read_object
from .journal import Deadline, Journal, Pending, charged, is_charged
from .requests import names_of, order_of, principal_of, resumption_of
from .run_errors import (
    InvalidRunRequestError,
    RunAdmissionConflictError,
    RunAlreadyExistsError,
    RunNotSuspendedError,
    RunOwnerError,
    RunStateUnreadableError,
    RunTerminalConflictError,
    UnknownRunError,
)
from .runtime import Cut, RunnerRuntime, RunOrder, name_of
from .schedules import Schedules
from .served import BODY_BYTES_MAX, ServedObject
from .snapshots import Snapshot

__all__ = ["ROUTES", "RunObject"]

ROUTES = (
    Route("POST", "/runs", "_start"),
    Route("GET", "/runs/{workflow}/{run}", "_status"),
    Route("GET", "/runs/{workflow}/{run}/dispatch-status", "_dispatch_status"),
    Route("GET", "/runs/{workflow}/{run}/start-liveness", "_start_liveness"),
    Route("GET", "/runs/{workflow}/{run}/stream", "_stream"),
    Route("POST", "/runs/{workflow}/{run}/resume", "_resume"),
    Route("POST", "/runs/{workflow}/{run}/terminate", "_terminate"),
    Route("POST", "/runs/{workflow}/{run}/deadline", "_time_out"),
    Route("POST", "/runs/{workflow}/{run}/terminate-replay", "_terminate_replay"),
    Route("POST", "/runs/{workflow}/{run}/seal", "_seal"),
)
"""What the one method answers."""


class RunObject(ServedObject):
    """One run, for as long as anything of it is kept. Its stored keys are those of `Journal`."""

    routes = ROUTES

    def __init__(self) -> None:
        super().__init__()
        self._operation = trio.Lock()
        self._in_flight: set[str] = set()
        self._journal = Journal(self.storage)

    def _check_name(self, workflow_id: str, run_id: str) -> None:
        if name_of(workflow_id, run_id) != self.address.name:
            raise ValueError(f"run {workflow_id}:{run_id} does not live in {self.address.name}")

    def _check_parameters(self, parameters: Mapping[str, str]) -> None:
        if parameters:
            self._check_name(parameters["workflow"], parameters["run"])

    # ---- start

    async def _start(self, request: WebRequest) -> WebResponse:
        async with self._operation:
            owner = principal_of(request)
            body = read_object(request, BODY_BYTES_MAX)
            self._check_name(*names_of(body))
            order = order_of(body, owner)
            await self._gate(order)
            self._refuse_sealed(order)
            runs = self._runs()
            order = await self._owned(order)
            await self._settle_pending()
            await self._refuse_existing(runs, order)
            snapshot = await self._attempt(runs, order)
            return json_response(200, snapshot.summary())

    async def _gate(self, order: RunOrder) -> None:
        """Ask the fence, and leave the slot for proofs alone: the start may still be refused."""
        try:
            await pass_gate(self._wired.fence, "object-start", key=order.key)
        except (ExecutionFencedError, ExecutionFenceUnreadableError):
            await self._wired.give_back.refused(order.claim)
            raise

    def _refuse_sealed(self, order: RunOrder) -> None:
        if is_sealed(order.claim, self._journal.sealed()):
            raise RunAdmissionConflictError(order.run_id, "claim-sealed")

    async def _owned(self, order: RunOrder) -> RunOrder:
        """Return *order* with the owner that its run will have: that of its schedule, if any.

        A schedule may have been deleted since it made the fire, which is sent for its owner then.
        """
        if order.schedule_id is None:
            return order
        services = self._wired
        schedules = Schedules(services.context.database, services.now_ms)
        schedule = await schedules.get(order.schedule_id)
        return order if schedule is None else attrs.evolve(order, owner=schedule.owner)

    async def _refuse_existing(self, runs: RunnerRuntime, order: RunOrder) -> None:
        found = await self._found(runs, order.workflow_id, order.run_id)
        if found is None:
            return
        if found.requester != (order.owner.kind, order.owner.id):
            raise RunOwnerError(f"run {order.run_id} is somebody else's")
        raise RunAlreadyExistsError(order.run_id)

    async def _found(self, runs: RunnerRuntime, workflow_id: str, run_id: str) -> Snapshot | None:
        try:
            return await runs.status(workflow_id, run_id)
        except UnknownRunError:
            return None

    async def _attempt(self, runs: RunnerRuntime, order: RunOrder) -> Snapshot:
        pending = Pending(order.workflow_id, order.run_id, self._wired.mint())
        self._journal.arm(pending)
        name = self.address.name
        self._in_flight.add(name)
        try:
            await self._owners.reserve(name, pending.token, order.owner.kind, order.owner.id)
            try:
                snapshot = await runs.start(order, pending.token)
            except Exception as error:
                snapshot = await self._recover(runs, pending, error)
            await self._finish(pending, snapshot)
            return snapshot
        except Exception:
            self._journal.arm_next()
            raise
        finally:
            self._in_flight.discard(name)

    async def _recover(self, runs: RunnerRuntime, pending: Pending, error: Exception) -> Snapshot:
        """Return what a failed attempt came to; if to nothing, undo it and raise *error* itself.

        A run that stopped between two steps is there and keeps its owner; it is no answer.
        """
        try:
            found = await runs.recover_start_attempt(
                pending.workflow_id, pending.run_id, pending.token
            )
            if found is None:
                await self._owners.release(self.address.name, pending.token)
                self._journal.clear()
        except Exception as failure:
            self._log_failure("run-owner-recovery-failed", failure)
            raise error from error.__cause__
        if found is None:
            raise error
        if not found.is_result:
            await self._finish(pending, found)
            raise error
        return found

    async def _finish(self, pending: Pending, snapshot: Snapshot) -> None:
        """Settle what a start that came to something has reserved; what fails stays journaled."""
        self._journal.reconcile(snapshot)
        try:
            await self._owners.settle(self.address.name, pending.token)
        except Exception as failure:
            self._log_failure("run-owner-settle-failed", failure)
        else:
            self._journal.clear()
        self._journal.arm_next()

    async def _settle_pending(self) -> None:
        """Settle what an earlier attempt has left behind, whether it came to something or not.

        Raises:
            RunStateUnreadableError: nobody can tell what it left; it stays journaled.
        """
        pending = self._journal.pending()
        if pending is None:
            return
        runs = self._runs()
        found = await runs.recover_start_attempt(pending.workflow_id, pending.run_id, pending.token)
        try:
            if found is None:
                await self._owners.release(self.address.name, pending.token)
            else:
                await self._owners.settle(self.address.name, pending.token)
        except Exception as error:
            raise RunStateUnreadableError("the owner of the run cannot be settled") from error
        if found is not None:
            self._journal.reconcile(found)
            await runs.settle(found)
        self._journal.clear()
        self._journal.arm_next()

    def _log_failure(self, kind: str, failure: Exception) -> None:
        self._wired.log(kind, {"run": self.address.name, "error": str(failure)})

    # ---- questions

    async def _status(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        del request
        return json_response(200, (await self._runs().status(workflow, run)).summary())

    async def _dispatch_status(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        async with self._operation:
            await self._settle_pending()
            return await self._status(request, workflow, run)

    async def _start_liveness(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        """Answer from memory alone, beside the lock: whoever has lost it executes nothing."""
        del request
        return json_response(200, {"live": self._is_live(workflow, run)})

    def _is_live(self, workflow: str, run: str) -> bool:
        in_flight = name_of(workflow, run) in self._in_flight
        return in_flight or self._runs().is_active(workflow, run)

    async def _stream(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        del request, workflow, run
        return json_response(426, {"error": "a stream needs an upgrade of the connection"})

    # ---- what changes a run

    async def _resume(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        principal_of(request)
        data, suspension = resumption_of(read_object(request, BODY_BYTES_MAX))
        async with self._operation:
            await pass_gate(self._wired.fence, "object-resume", run_id=run)
            await self._settle_pending()
            snapshot = await self._resume_run(workflow, run, data, suspension)
            self._journal.arm_next()
            return json_response(200, snapshot.summary())

    async def _resume_run(
        self, workflow: str, run: str, data: object, suspension: int | None
    ) -> Snapshot:
        """Go on with the run; if that dies or fails, the alarm looks at what it has come to."""
        self._journal.resume(self._wired.now_ms())
        snapshot = await self._runs().resume(workflow, run, data, suspension)
        self._journal.reconcile(snapshot)
        return snapshot

    async def _terminate(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        principal_of(request)
        return await self._end(workflow, run, "cancelled")

    async def _time_out(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        principal_of(request)
        return await self._end(workflow, run, "timed_out")

    async def _end(self, workflow: str, run: str, cut: Cut) -> WebResponse:
        runs = self._runs()
        runs.cut_leg(workflow, run, cut)
        async with self._operation:
            await self._settle_pending()
            snapshot = await runs.terminate(workflow, run, cut)
            self._journal.reconcile(snapshot)
            self._journal.arm_next()
            return json_response(200, snapshot.summary())

    async def _terminate_replay(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        principal_of(request)
        async with self._operation:
            snapshot = await self._runs().clean(workflow, run)
            return json_response(200, snapshot.summary())

    async def _seal(self, request: WebRequest, workflow: str, run: str) -> WebResponse:
        """Refuse a claim for good, unless its run is live or has begun."""
        stamp = read_object(request, BODY_BYTES_MAX).get("stamp")
        if type(stamp) is not int:
            raise InvalidRunRequestError("stamp is not valid")
        if self._is_live(workflow, run):
            return json_response(200, {"sealed": False})
        async with self._operation:
            await self._settle_pending()
            if await self._found(self._runs(), workflow, run) is not None:
                return json_response(200, {"sealed": False})
            self._journal.seal(stamp)
            return json_response(200, {"sealed": True})

    # ---- duties

    async def alarm(self, info: AlarmInfo) -> None:
        """Settle what an attempt has left, and meet a deadline. Fails only with its host."""
        del info
        if self._executes():
            self._journal.watch()
            return
        async with self._duty():
            await self._settle_pending()
            if self._journal.is_resuming():
                await self._look_again()
            await self._meet_deadline()

    def _executes(self) -> bool:
        """Whether a leg of the run is under way, as this memory knows."""
        workflow, _, run = self.address.name.partition(":")
        runtime = self._runtime
        return bool(self._in_flight) or (runtime is not None and runtime.is_active(workflow, run))

    async def _look_again(self) -> None:
        """Keep the deadline of the suspension that the run is at, whoever brought it there."""
        workflow, _, run = self.address.name.partition(":")
        self._journal.reconcile(await self._found(self._runs(), workflow, run))

    @asynccontextmanager
    async def _duty(self) -> AsyncGenerator[None]:
        async with self._operation:
            try:
                yield
            except Exception as failure:
                self._log_failure("run-alarm-failed", failure)
                self._journal.watch()

    async def _meet_deadline(self) -> None:
        deadline = self._journal.deadline()
        if deadline is None or deadline.at_ms > self._wired.now_ms():
            self._journal.arm_next()
            return
        try:
            await self._end_suspension(deadline)
        except (UnknownRunError, RunTerminalConflictError, RunNotSuspendedError):
            await self._look_again()
        except Exception as error:
            self._log_failure("run-deadline-failed", error)
            self._journal.resumed()
            if not is_charged(error):
                self._journal.watch()
                return
            self._journal.set_deadline(charged(deadline, self._wired.now_ms()))
        self._journal.arm_next()

    async def _end_suspension(self, deadline: Deadline) -> None:
        workflow, run, suspension = deadline.workflow_id, deadline.run_id, deadline.suspension
        if deadline.on_deadline == "time-out":
            self._journal.reconcile(
                await self._runs().terminate(workflow, run, "timed_out", suspension)
            )
        else:
            await self._resume_run(workflow, run, {"deadline": True}, suspension)

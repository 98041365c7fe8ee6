"""`RunnerRuntime`: starts, resumes and ends runs, in the actor that it lives in.

The gate of the fence stands before the lock of the run, so that a start that is refused neither
waits behind a live run nor writes. Once the engine was asked to create the run, no error of this
module looks like a refusal (spec/run-claims.md 3.3, 8.5).
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import attrs
import trio

from .engine import Engine, Workflow
from .errors import ExecutionFencedError, ExecutionFenceUnreadableError
from .fence import FenceState, FenceWiring
from .gates import GATES, pass_gate, refusal
from .giveback import GiveBack
from .names import is_path_safe
from .refusal import is_execution_fence_refusal
from .reservations import Claim, Log, Owner, StartReservations
from .run_errors import (
    InvalidRunRequestError,
    RunAlreadyExistsError,
    RunNotSuspendedError,
    RunStateUnreadableError,
    RunTerminalConflictError,
    UnknownRunError,
    UnknownWorkflowError,
)
from .snapshots import CUT, PARKED, TERMINAL, Snapshot, Snapshots

__all__ = ["Cut", "RunOrder", "RunnerRuntime"]

Cut = Literal["cancelled", "timed_out"]
Provider = Callable[[str, Owner], Awaitable[Mapping[str, Any]]]


@attrs.frozen(kw_only=True)
class RunOrder:
    """What a start asks for.

    Attributes:
        key: the idempotency key that was reserved for it; None for a start without one.
        claim: what of the claim goes along, if the design has it so.
        thread_id: of an agent's run.
        schedule_id: the schedule whose owner's run it is; None for a run of whoever asks.
    """

    workflow_id: str
    run_id: str
    owner: Owner
    payload: Any = None
    key: str | None = None
    claim: Claim | None = None
    thread_id: str | None = None
    schedule_id: str | None = None


class ActiveRun:
    """A leg that executes now."""

    __slots__ = ("cut", "scope")

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.cut: Cut | None = None


class RunnerRuntime:
    """The runtime of one actor: its memory says what executes, the database how it stands."""

    def __init__(
        self,
        *,
        workflows: Mapping[str, Workflow],
        engine: Engine,
        fence: FenceWiring,
        reservations: StartReservations | Literal["none"],
        give_back: GiveBack,
        log: Log,
        request_context: Provider | None = None,
    ) -> None:
        """Make a runtime in which nothing executes yet.

        Args:
            workflows: by id, also those of agents.
            engine: that runs them.
            fence: asked before each start and resume.
            reservations: settled when a run has ended.
            give_back: the wired design.
            log: told what went wrong beside an answer.
            request_context: the host's policy, asked before anything of a run is persisted.
        """
        self.fence: FenceWiring = fence
        self.reservations: StartReservations | Literal["none"] = reservations
        self._workflows = workflows
        self._engine = engine
        self._give_back = give_back
        self._log = log
        self._request_context = request_context
        self._active: dict[str, ActiveRun] = {}
        self._locks: dict[str, tuple[trio.Lock, int]] = {}

    @property
    def _snapshots(self) -> Snapshots:
        return self._engine.snapshots

    def is_active(self, workflow_id: str, run_id: str) -> bool:
        """Whether a leg of the run executes right now, as this memory knows."""
        return name_of(workflow_id, run_id) in self._active

    # ---- start

    async def start(self, order: RunOrder, token: str) -> Snapshot:
        """Start a run and run its first leg; returns it parked or ended.

        Args:
            order: what to start.
            token: of this attempt.

        Raises:
            ExecutionFencedError, ExecutionFenceUnreadableError: the gate is shut. Nothing of this
                attempt was written, but a slot for proofs may be bound to the run.
            UnknownWorkflowError, InvalidRunRequestError: nothing was written.
            RunAlreadyExistsError: the run is there. It was not touched.
            RunAdmissionConflictError: the claim is not the row any more. Nothing was written.
            RunStateUnreadableError: nobody can tell how far it came, or it came to a stop between
                two steps: nothing goes on with it.
        """
        workflow = self._check_order(order, token)
        await self._assert_start_fence(order)
        async with self._lock(order.workflow_id, order.run_id):
            return await self._start_locked(workflow, order, token)

    def _check_order(self, order: RunOrder, token: str) -> Workflow:
        workflow = self.workflow(order.workflow_id)
        for field, value in (("runId", order.run_id), ("attempt token", token)):
            if not is_path_safe(value):
                raise InvalidRunRequestError(f"{field} is not valid")
        if not (order.owner.kind and order.owner.id):
            raise InvalidRunRequestError("the requester is not valid")
        return workflow

    async def _assert_start_fence(self, order: RunOrder) -> None:
        try:
            reading = await pass_gate(self.fence, "runtime-start", key=order.key)
            if reading.state is FenceState.PROOF_ONLY and not await self._bind_proof(order):
                raise refusal(GATES["runtime-start"], reading)
        except (ExecutionFencedError, ExecutionFenceUnreadableError):
            await self._give_back.refused(order.claim)
            raise

    async def _bind_proof(self, order: RunOrder) -> bool:
        """Bind the one proof to this run; only what has come through this gate may be bound."""
        assert self.fence != "none"
        assert order.key is not None, "the gate admits only the nominated key"
        return await self.fence.record_proof_run(order.key, order.run_id)

    async def _start_locked(self, workflow: Workflow, order: RunOrder, token: str) -> Snapshot:
        if await self._snapshots.read(order.workflow_id, order.run_id) is not None:
            raise RunAlreadyExistsError(order.run_id)
        provider = self._request_context
        context: Mapping[str, Any] = {}
        if provider is not None:
            context = await provider(order.run_id, order.owner)
        shell = Snapshot(
            workflow_id=order.workflow_id, run_id=order.run_id, thread_id=order.thread_id,
            payload=order.payload, requester=(order.owner.kind, order.owner.id),
            request_context=context,
        )  # fmt: skip
        try:
            shell = await self._engine.create_run(
                shell, self._give_back.binding(order.claim, token)
            )
            snapshot = await self._leg(workflow, attrs.evolve(shell, start_token=token))
        except Exception as error:
            found = await self._left_by(order, token)
            if found is None or not found.is_result:
                # What is on its way, and has nobody any more who goes on with it, is no answer.
                raise past_the_gate(error) from error.__cause__
            snapshot = found
        await self.settle(snapshot)
        return snapshot

    async def _left_by(self, order: RunOrder, token: str) -> Snapshot | None:
        """Return what an attempt that failed has persisted, if it got that far."""
        try:
            found = await self._snapshots.read(order.workflow_id, order.run_id)
        except RunStateUnreadableError:
            return None
        return found if found is not None and found.start_token == token else None

    async def _leg(self, workflow: Workflow, snapshot: Snapshot, *resumed: Any) -> Snapshot:
        name = name_of(snapshot.workflow_id, snapshot.run_id)
        active = self._active[name] = ActiveRun()
        try:
            with active.scope:
                return await self._engine.leg(workflow, snapshot, *resumed)
        finally:
            del self._active[name]
        return await self._cut_off(snapshot, active.cut or "cancelled")

    async def _cut_off(self, snapshot: Snapshot, cut: Cut) -> Snapshot:
        """Persist that a leg was cut off, over whatever it had persisted itself."""
        now = await self._snapshots.read(snapshot.workflow_id, snapshot.run_id)
        last = snapshot if now is None or now.revision < snapshot.revision else now
        if last.status in TERMINAL:
            return last
        # One revision further than the leg may still have under way.
        following = attrs.evolve(
            last, status=cut, start_token=snapshot.start_token, revision=last.revision + 1,
            suspended=None, deadline_ms=None,
        )  # fmt: skip
        return await self._engine.persist(following)

    # ---- after the start

    async def recover_start_attempt(
        self, workflow_id: str, run_id: str, token: str
    ) -> Snapshot | None:
        """Return what the attempt *token* has left, None if nothing; its shell is deleted.

        Raises:
            RunStateUnreadableError: it cannot be told, or the run is of another attempt.
        """
        found = await self._snapshots.read(workflow_id, run_id)
        if found is None:
            return None
        if found.start_token == token:
            return found
        if found.is_shell:
            await self._snapshots.delete_shell(workflow_id, run_id)
            return None
        raise RunStateUnreadableError(f"run {run_id} is of another attempt")

    async def status(self, workflow_id: str, run_id: str) -> Snapshot:
        """Return the run as it was last persisted.

        Raises:
            UnknownRunError: it is not there.
            RunStateUnreadableError: it cannot be read.
        """
        found = await self._snapshots.read(workflow_id, run_id)
        if found is None:
            raise UnknownRunError(run_id)
        return found

    async def resume(
        self, workflow_id: str, run_id: str, data: Any, suspension: int | None = None
    ) -> Snapshot:
        """Call the step that parked the run again, with *data*.

        Args:
            workflow_id, run_id: which run.
            data: what the step is told.
            suspension: which one this is for, as the run's summary said; None for any.

        Raises:
            ExecutionFencedError, ExecutionFenceUnreadableError: the gate is shut. Nothing ran.
            UnknownWorkflowError, UnknownRunError: it is not there.
            RunNotSuspendedError, RunTerminalConflictError: it waits for nobody. Nothing ran.
            RunStateUnreadableError: nobody can tell how far it came.
        """
        workflow = self.workflow(workflow_id)
        await pass_gate(self.fence, "runtime-resume", run_id=run_id)
        async with self._lock(workflow_id, run_id):
            snapshot = await self.status(workflow_id, run_id)
            if snapshot.status in TERMINAL:
                raise await self._ended(snapshot)
            if snapshot.status not in PARKED:
                raise RunNotSuspendedError(f"run {run_id} is {snapshot.status}, not suspended")
            check_suspension(snapshot, suspension)
            try:
                snapshot = await self._leg(workflow, snapshot, data)
            except Exception as error:
                raise past_the_gate(error) from error.__cause__
            await self.settle(snapshot)
            return snapshot

    async def _ended(self, snapshot: Snapshot) -> RunTerminalConflictError:
        """Return what to raise about a run that has ended, once its reservation is settled again.

        If that was lost when the run ended, this is who makes up for it (spec/run-claims.md 2.8).
        """
        await self.settle(snapshot)
        return RunTerminalConflictError(f"run {snapshot.run_id} has ended as {snapshot.status}")

    def cut_leg(self, workflow_id: str, run_id: str, cut: Cut) -> None:
        """Cut off the leg that executes now, if one does; it ends as *cut*."""
        active = self._active.get(name_of(workflow_id, run_id))
        if active is not None:
            active.cut = cut
            active.scope.cancel()

    async def terminate(
        self, workflow_id: str, run_id: str, cut: Cut, suspension: int | None = None
    ) -> Snapshot:
        """End the run from outside, if it is parked at *suspension* or that is None.

        One that has been ended so is shown as it is. No fence is asked.

        Raises:
            UnknownRunError: it is not there.
            RunNotSuspendedError: it has gone on from that suspension. It was not touched.
            RunTerminalConflictError: it has ended by itself.
            RunStateUnreadableError: nobody can tell how it stands.
        """
        if suspension is None:
            self.cut_leg(workflow_id, run_id, cut)
        async with self._lock(workflow_id, run_id):
            snapshot = await self.status(workflow_id, run_id)
            check_suspension(snapshot, suspension)
            if snapshot.status in TERMINAL - CUT:
                raise await self._ended(snapshot)
            if snapshot.status not in CUT:
                ended = attrs.evolve(snapshot, status=cut, suspended=None, deadline_ms=None)
                snapshot = await self._engine.persist(ended)
            return await self._clean(snapshot)

    async def clean(self, workflow_id: str, run_id: str) -> Snapshot:
        """Clean up again after a run that was cut.

        Raises:
            UnknownRunError: it is not there.
            RunTerminalConflictError: it was not cut.
            RunStateUnreadableError: nobody can tell how it stands.
        """
        async with self._lock(workflow_id, run_id):
            snapshot = await self.status(workflow_id, run_id)
            if snapshot.status not in CUT:
                raise RunTerminalConflictError(f"run {run_id} is {snapshot.status}; nobody cut it")
            return await self._clean(snapshot)

    async def _clean(self, snapshot: Snapshot) -> Snapshot:
        await self.settle(snapshot)
        if snapshot.cleaned:
            return snapshot
        return await self._engine.persist(attrs.evolve(snapshot, cleaned=True))

    async def settle(self, snapshot: Snapshot) -> None:
        """Mark the reservation of a run that has ended, and is persisted so, as spent."""
        if self.reservations == "none" or snapshot.status not in TERMINAL:
            return
        try:
            await self.reservations.settle_run(snapshot.run_id)
        except Exception as error:
            self._log(
                "start-reservation-settle-failed",
                {"runId": snapshot.run_id, "error": str(error)},
            )

    # ---- one at a time

    def workflow(self, workflow_id: str) -> Workflow:
        """Return the workflow of that id.

        Raises:
            UnknownWorkflowError: there is none.
        """
        workflow = self._workflows.get(workflow_id)
        if workflow is None:
            raise UnknownWorkflowError(workflow_id)
        return workflow

    @asynccontextmanager
    async def _lock(self, workflow_id: str, run_id: str) -> AsyncGenerator[None]:
        """Hold the lock of a run, first come, first served."""
        name = name_of(workflow_id, run_id)
        lock, users = self._locks.get(name, (trio.Lock(), 0))
        self._locks[name] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[name]
            if users == 1:
                del self._locks[name]
            else:
                self._locks[name] = (lock, users - 1)


def check_suspension(snapshot: Snapshot, suspension: int | None) -> None:
    """Refuse what is for another suspension than the run is at; None is for any."""
    if suspension not in (None, snapshot.revision):
        raise RunNotSuspendedError(f"run {snapshot.run_id} has gone on from that suspension")


def past_the_gate(error: Exception) -> Exception:
    """Return *error* as it may leave a start that has passed the gate: never as a refusal."""
    if is_execution_fence_refusal(error):
        return RunStateUnreadableError(f"the run failed past the fence: {error}")
    return error


def name_of(workflow_id: str, run_id: str) -> str:
    """Return the name of a run's object, and of its lock."""
    return f"{workflow_id}:{run_id}"

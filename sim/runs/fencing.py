"""Mutants of the execution fence: how it is read, where it is asked, whom the proof names."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from typing import Any

from ...actors import DatabaseFailed
from ...actors.runs import (
    ExecutionFence,
    ExecutionFenceUnreadableError,
    FenceReading,
    RunnerRuntime,
    RunObject,
    fence,
    http,
    journal,
    requests,
    served,
)
from ..mutants import Mutant
from .admission import moves_are_won, proof_is_one_run, shut_means_untouched
from .giving_back import AGENTS, OBJECTS, PROCESS, ROUTER, RUNS
from .properties import (
    execution_is_single,
    live_deadlines_are_met,
    no_key_is_stranded,
    proof_slot_is_earned,
    refused_runs_leave_nothing,
)
from .scenarios import (
    deadline_under_lock,
    drain_reopen,
    fence_unreadable,
    operators_race,
    proofs_race,
    refused_midway,
    sent_again,
    sent_while_live,
)
from .verdicts import shut_out_is_told

__all__ = ["FENCING"]

right_read = ExecutionFence.read
right_gate = RunObject._gate
right_assert = RunnerRuntime._assert_start_fence


async def unreadable_is_open(self: ExecutionFence) -> FenceReading:
    """Take a fence that cannot be read for open."""
    try:
        return await right_read(self)
    except ExecutionFenceUnreadableError:
        return fence.OPEN_EXECUTION_FENCE


def missing_table_mid_chain(error: BaseException, table: str) -> bool:
    """Believe any cause in the chain, not only the root."""
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen:
        said = str(current)
        if "no such table" in said.lower() and table in said:
            return True
        seen.append(current)
        current = current.__cause__
    return False


async def cached_fence(self: ExecutionFence) -> FenceReading:
    """Remember the first reading."""
    kept: FenceReading | None = vars(self).get("kept")
    if kept is None:
        kept = vars(self)["kept"] = await right_read(self)
    return kept


async def transition_without_cas(
    self: ExecutionFence, expected: str, following: str, proof_key: str | None = None
) -> FenceReading:
    """Move the fence wherever it is."""
    fence._known("expected", expected)
    after = fence._known("next", following)
    fence._check_key(after, proof_key)
    now = self._now_ms()
    anywhere = fence.TRANSITION.removesuffix(" AND state = ?")
    try:
        await self._database.batch(
            [
                (fence.CREATE, ()),
                (fence.INSERT, (str(fence.FenceState.OPEN), now)),
                (anywhere, (str(after), proof_key, now)),
            ]
        )
    except DatabaseFailed as error:
        raise ExecutionFenceUnreadableError("the execution fence cannot be written") from error
    return FenceReading(after, proof_key)


async def gate_after_journal(self: RunObject, order: Any) -> None:
    """Note the attempt before the fence is asked."""
    self._journal.arm(journal.Pending(order.workflow_id, order.run_id, self._wired.mint()))
    await right_gate(self, order)
    self._journal.clear()


async def owner_kept(self: RunObject, runs: RunnerRuntime, pending: Any, error: Exception) -> Any:
    """Undo what a refused start has written, but for its owner."""
    found = await runs.recover_start_attempt(pending.workflow_id, pending.run_id, pending.token)
    if found is None:
        self._journal.clear()
        raise error
    return found


async def gate_after_create_run(self: RunnerRuntime, order: Any, token: str) -> Any:
    """Ask the fence when the run has been created."""
    workflow = self._check_order(order, token)
    async with self._lock(order.workflow_id, order.run_id):
        engine, create = self._engine, self._engine.create_run

        async def created(shell: Any, binding: Any) -> Any:
            made = await create(shell, binding)
            await self._assert_start_fence(order)
            return made

        self._engine = Asking(engine, created)  # type: ignore[assignment]
        try:
            return await self._start_locked(workflow, order, token)
        finally:
            self._engine = engine


class Asking:
    """An engine that asks before it runs what it has created."""

    def __init__(self, engine: Any, create_run: Any) -> None:
        self._engine = engine
        self.create_run = create_run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


async def gate_after_existing_run(self: RunObject, request: Any) -> Any:
    """Look for the run before the fence is asked."""
    async with self._operation:
        order = requests.order_of(
            http.read_object(request, served.BODY_BYTES_MAX), requests.principal_of(request)
        )
        self._check_name(order.workflow_id, order.run_id)
        runs = self._runs()
        order = await self._owned(order)
        await self._settle_pending()
        await self._refuse_existing(runs, order)
        await self._gate(order)
        self._refuse_sealed(order)
        snapshot = await self._attempt(runs, order)
        return http.json_response(200, snapshot.summary())


async def proof_slot_bound_at_object(self: RunObject, order: Any) -> None:
    """Bind the slot where the start may still be refused."""
    await right_gate(self, order)
    wiring = self._wired.fence
    if wiring != "none" and order.key is not None:
        await wiring.record_proof_run(order.key, order.run_id)


async def second_proof_run(self: RunnerRuntime, order: Any) -> bool:
    """Let every run of the proof's key pass, whichever the slot names."""
    wiring = self.fence
    if wiring != "none" and order.key is not None:
        await wiring.record_proof_run(order.key, order.run_id)
    return True


def deadline_charged(error: Exception) -> bool:
    """Count a try that the fence refused."""
    del error
    return True


async def gate_inside_run_lock(self: RunnerRuntime, order: Any, token: str) -> Any:
    """Ask the fence when the run's lock is held."""
    workflow = self._check_order(order, token)
    async with self._lock(order.workflow_id, order.run_id):
        await self._assert_start_fence(order)
        return await self._start_locked(workflow, order, token)


FENCING = (
    Mutant(
        "gate_inside_run_lock", f"{RUNS}.runtime:RunnerRuntime.start", gate_inside_run_lock,
        sent_while_live, (shut_out_is_told,), parameters=AGENTS, needs_fault=False,
    ),
    Mutant(
        "unreadable_is_open", f"{RUNS}.fence:ExecutionFence.read", unreadable_is_open,
        fence_unreadable, (shut_means_untouched,), parameters=OBJECTS,
    ),
    Mutant(
        "missing_table_mid_chain", f"{RUNS}.causes:is_missing_table", missing_table_mid_chain,
        fence_unreadable, (shut_means_untouched,), parameters=OBJECTS,
    ),
    Mutant(
        "cached_fence", f"{RUNS}.fence:ExecutionFence.read", cached_fence, drain_reopen,
        (shut_means_untouched, no_key_is_stranded), parameters={**PROCESS, "keys": 3},
        needs_fault=False,
    ),
    Mutant(
        "transition_without_cas", f"{RUNS}.fence:ExecutionFence.transition",
        transition_without_cas, operators_race, (moves_are_won,), parameters=OBJECTS,
        needs_fault=False,
    ),
    Mutant(
        "gate_after_journal", f"{RUNS}.run_object:RunObject._gate", gate_after_journal,
        drain_reopen, (shut_means_untouched,), parameters={**OBJECTS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "owner_kept", f"{RUNS}.run_object:RunObject._recover", owner_kept, refused_midway,
        (refused_runs_leave_nothing,), parameters=ROUTER, needs_fault=False,
    ),
    Mutant(
        "gate_after_create_run", f"{RUNS}.runtime:RunnerRuntime.start", gate_after_create_run,
        drain_reopen, (shut_means_untouched,), parameters={**PROCESS, "keys": 3}, needs_fault=False,
    ),
    Mutant(
        "gate_after_existing_run", f"{RUNS}.run_object:RunObject._start",
        gate_after_existing_run, sent_again, (shut_out_is_told,), parameters=OBJECTS,
        needs_fault=False,
    ),
    Mutant(
        "proof_slot_bound_at_object", f"{RUNS}.run_object:RunObject._gate",
        proof_slot_bound_at_object, proofs_race, (proof_slot_is_earned,), parameters=OBJECTS,
    ),
    Mutant(
        "second_proof_run", f"{RUNS}.runtime:RunnerRuntime._bind_proof", second_proof_run,
        proofs_race, (proof_is_one_run, execution_is_single), parameters=OBJECTS, needs_fault=False,
    ),
    Mutant(
        "deadline_charged", f"{RUNS}.journal:is_charged", deadline_charged, deadline_under_lock,
        (live_deadlines_are_met,), parameters=OBJECTS, needs_fault=False,
    ),
)  # fmt: skip

"""The fence: one row, read anew each time, changed only from the state that is expected."""

import pytest

from durasim.actors.runs.errors import (
    ExecutionFenceUnreadableError,
    FenceTransitionConflictError,
    InvalidExecutionFenceRequestError,
)
from durasim.actors.runs.fence import (
    OPEN_EXECUTION_FENCE,
    ExecutionFence,
    FenceReading,
    FenceState,
    read_execution_fence,
)

from .local import LOCKED, Clock, LocalDatabase, move

TABLE = "flowsafe_execution_fence"


async def test_no_table_and_no_row_mean_open_and_reading_makes_neither(
    database: LocalDatabase, fence: ExecutionFence
) -> None:
    """A database older than the fence is open, and stays as it is."""
    assert await fence.read() == OPEN_EXECUTION_FENCE
    assert database.tables() == []
    await fence.seed("open")
    database.make(f"DELETE FROM {TABLE}")
    assert await fence.read() == OPEN_EXECUTION_FENCE
    assert database.look(f"SELECT * FROM {TABLE}") == []
    await fence.transition("open", "draining")
    assert (await fence.read()).state is FenceState.DRAINING


async def test_any_other_failure_is_unreadable(
    database: LocalDatabase, fence: ExecutionFence
) -> None:
    """Nobody can tell, in reading and in writing: closed, with the cause attached."""
    database.failing = lambda _label: LOCKED

    for asked in (
        fence.read(),
        fence.seed("open"),
        fence.transition("open", "draining"),
        fence.record_proof_run("k", "r"),
    ):
        with pytest.raises(ExecutionFenceUnreadableError) as raised:
            await asked
        assert raised.value.__cause__ is not None


async def test_a_state_of_a_newer_build_is_unreadable(
    database: LocalDatabase, fence: ExecutionFence
) -> None:
    """An unknown word closes the fence."""
    database.make(f"CREATE TABLE {TABLE} (id, state, proof_key, proof_run_id, updated_at)")
    database.make(f"INSERT INTO {TABLE} VALUES ('deployment', 'half-open', '', '', 0)")
    with pytest.raises(ExecutionFenceUnreadableError, match="half-open"):
        await fence.read()
    database.make(f"UPDATE {TABLE} SET state = 'proof-only'")
    assert await fence.read() == FenceReading(FenceState.PROOF_ONLY)


async def test_a_seed_is_planted_once(fence: ExecutionFence) -> None:
    """Provisioning a locked deployment again as open leaves it locked."""
    await fence.seed("migration-locked")
    await fence.seed("open")
    assert (await fence.read()).state is FenceState.LOCKED
    for state in ("draining", "proof-only", "shut"):
        with pytest.raises(InvalidExecutionFenceRequestError, match="is born"):
            await fence.seed(state)


async def test_case_31_of_two_transitions_one_wins(
    database: LocalDatabase, fence: ExecutionFence, clock: Clock
) -> None:
    """The loser learns how it stands, and nothing has changed."""
    assert await fence.transition("open", "draining") == FenceReading(FenceState.DRAINING)
    before = database.dump()
    clock.now += 1
    with pytest.raises(FenceTransitionConflictError) as raised:
        await fence.transition("open", "migration-locked")
    assert raised.value.reason == {"code": "FENCE_CAS_CONFLICT", "state": "draining"}
    assert database.dump() == before


@pytest.mark.parametrize(
    ("expected", "following", "key", "field"),
    [
        ("shut", "open", None, "expected"),
        ("open", "shut", None, "next"),
        ("open", "proof-only", None, "proofKey"),
        ("open", "proof-only", "a/b", "proofKey"),
        ("open", "draining", "k", "proofKey"),
    ],
)
async def test_a_transition_that_makes_no_sense_is_refused(
    database: LocalDatabase,
    fence: ExecutionFence,
    expected: str,
    following: str,
    key: str | None,
    field: str,
) -> None:
    """The message names the field; a key that does not fit is an error, not ignored."""
    with pytest.raises(InvalidExecutionFenceRequestError, match=field):
        await fence.transition(expected, following, key)
    assert database.tables() == []


async def test_cases_35_and_36_the_slot_is_bound_to_one_run(fence: ExecutionFence) -> None:
    """The first run binds it, again is once, and neither another run nor another key does."""
    assert not await fence.record_proof_run("k", "r1")
    await move(fence, FenceState.PROOF_ONLY, "k")
    assert not await fence.record_proof_run("other", "r1")
    assert await fence.record_proof_run("k", "r1")
    assert await fence.record_proof_run("k", "r1")
    assert not await fence.record_proof_run("k", "r2")
    assert await fence.read() == FenceReading(FenceState.PROOF_ONLY, "k", "r1")
    await move(fence, FenceState.LOCKED)
    assert not await fence.record_proof_run("k", "r1")


async def test_case_39_a_transition_drops_the_bound_run(fence: ExecutionFence) -> None:
    """Also one from proof-only to proof-only, which is how a second proof is begun."""
    await move(fence, FenceState.PROOF_ONLY, "k")
    await fence.record_proof_run("k", "r1")
    await move(fence, FenceState.PROOF_ONLY, "k2")
    assert await fence.read() == FenceReading(FenceState.PROOF_ONLY, "k2")


async def test_names_of_proofs_are_path_safe(fence: ExecutionFence) -> None:
    """What can stand in no path is refused before anything is written."""
    with pytest.raises(InvalidExecutionFenceRequestError, match="proofKey"):
        await fence.record_proof_run("a b", "r")
    with pytest.raises(InvalidExecutionFenceRequestError, match="runId"):
        await fence.record_proof_run("k", "..")


async def test_absence_has_one_definition(fence: ExecutionFence) -> None:
    """ "none" is the constant; a fence is read."""
    assert await read_execution_fence("none") is OPEN_EXECUTION_FENCE
    await move(fence, FenceState.LOCKED)
    assert (await read_execution_fence(fence)).json() == {"state": "migration-locked"}


def test_a_reading_leaves_out_what_is_absent() -> None:
    """No field is ever null."""
    assert FenceReading(FenceState.PROOF_ONLY, "k", "r").json() == {
        "state": "proof-only",
        "proofKey": "k",
        "proofRunId": "r",
    }

"""The fence against a dict: whoever moves it, binds it, reads it, whatever gets lost."""

from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from durasim.actors.runs.errors import (
    FenceTransitionConflictError,
    InvalidExecutionFenceRequestError,
)
from durasim.actors.runs.fence import (
    TABLE,
    ExecutionFence,
    FenceReading,
    FenceState,
    admits_drainable_execution,
    admits_existing_run,
    admits_run_start,
    admits_work_authoring,
)

from .fated import FATES, Fate, Fated, Local, Port
from .local import Clock

__all__ = ["FenceMachine"]

STATES = ("open", "draining", "migration-locked", "proof-only")
UNKNOWN = "half-open"
"""A state of a build that is newer than this one."""
ANY_STATE = st.sampled_from((*STATES, "shut"))
KEYS = st.sampled_from(("k1", "k2"))
RUNS = st.sampled_from(("r1", "r2"))
NEWER = (
    f"CREATE TABLE {TABLE} (id TEXT PRIMARY KEY, state TEXT, proof_key TEXT, proof_run_id TEXT, "
    "updated_at INTEGER)"
)


class FenceMachine(RuleBasedStateMachine):
    """The one row as a dict, beside the real one."""

    @staticmethod
    def port() -> Port:
        """Return the database of one play."""
        return Local()

    def __init__(self) -> None:
        super().__init__()
        self.database = Fated(type(self).port(), TABLE)
        self.clock = Clock()
        self.fence = ExecutionFence(self.database, self.clock)
        self.has_table = False
        self.row: dict[str, Any] | None = None

    @initialize(newer=st.booleans())
    def begins(self, newer: bool) -> None:
        """Begin without a table, or with that of a newer build, which knows more states."""
        self.database.make(f"DROP TABLE IF EXISTS {TABLE}")
        if newer:
            self.database.make(NEWER)
        self.newer = self.has_table = newer

    # ---- the model

    @property
    def state(self) -> str:
        """What the row says; without one the fence is open."""
        return "open" if self.row is None else str(self.row["state"])

    def put(self, state: str, key: str | None = None) -> None:
        """Write the row anew: whatever was bound is not bound any more."""
        self.has_table = True
        self.row = {
            "id": "deployment",
            "state": state,
            "proof_key": key,
            "proof_run_id": None,
            "updated_at": self.clock.now,
        }

    @property
    def reading(self) -> Any:
        """What a reading gives."""
        if self.state == UNKNOWN:
            return "unreadable"
        row = self.row or {"proof_key": None, "proof_run_id": None}
        return FenceReading(FenceState(self.state), row["proof_key"], row["proof_run_id"])

    # ---- what is asked

    @rule(ms=st.sampled_from((-60_000, -1, 1, 1000)))
    def time_passes(self, ms: int) -> None:
        """Move the clock, back as well."""
        self.clock.now += ms

    @rule(state=ANY_STATE, fate=FATES)
    def seed(self, state: str, fate: Fate) -> None:
        """Provision: only two states are ones of birth, and what is there stays."""
        got = self.database.outcome(fate, partial(self.fence.seed, state))
        if state not in ("open", "migration-locked"):
            assert isinstance(got, InvalidExecutionFenceRequestError), got
            return
        if fate.strikes(0) != "lost":
            self.has_table = True
            if self.row is None:
                self.put(state)
        assert got == (None if fate.strikes(0) == "fine" else "unreadable"), got

    @rule(expected=ANY_STATE, following=ANY_STATE, key=st.none() | KEYS, fate=FATES)
    def transition(self, expected: str, following: str, key: str | None, fate: Fate) -> None:
        """Move the fence: from the state that is expected, and with a key for a proof alone."""
        got = self.database.outcome(fate, partial(self.fence.transition, expected, following, key))
        known = expected in STATES and following in STATES
        if not known or (following == "proof-only") != (key is not None):
            assert isinstance(got, InvalidExecutionFenceRequestError), got
            return
        if fate.strikes(0) == "lost":
            assert got == "unreadable", got
            return
        if self.row is None:
            self.put("open")
        before = self.state
        if before == expected:
            self.put(following, key)
        if fate.strikes(0) == "unheard":
            assert got == "unreadable", got
        elif before == expected:
            assert got == FenceReading(FenceState(following), key), got
        elif fate.strikes(1) != "fine" or before == UNKNOWN:
            assert got == "unreadable", got
        else:
            assert isinstance(got, FenceTransitionConflictError), got
            assert got.reason == {"code": "FENCE_CAS_CONFLICT", "state": before}

    @rule(key=KEYS, run_id=RUNS, fate=FATES)
    def record_proof_run(self, key: str, run_id: str, fate: Fate) -> None:
        """Bind the slot: under its key, to one run, once or again."""
        got = self.database.outcome(fate, partial(self.fence.record_proof_run, key, run_id))
        what = fate.strikes(0)
        row = self.row
        bound = (
            what != "lost"
            and row is not None
            and (row["state"], row["proof_key"]) == ("proof-only", key)
            and row["proof_run_id"] in (None, run_id)
        )
        if bound and row is not None:
            row.update(proof_run_id=run_id, updated_at=self.clock.now)
        if what == "fine" or (what == "unheard" and not self.has_table):
            assert got is bound, got
        else:
            assert got == "unreadable", got

    @rule()
    def newer_build_moves_it(self) -> None:
        """A newer build puts the fence into a state that is not known here."""
        if self.newer and self.row is not None:
            self.put(UNKNOWN)
            self.database.make(
                f"UPDATE {TABLE} SET state = '{UNKNOWN}', proof_key = NULL, proof_run_id = NULL, "
                f"updated_at = {self.clock.now}"
            )

    @rule()
    def newer_build_opens_it(self) -> None:
        """And out of it."""
        if self.state == UNKNOWN:
            self.put("open")
            self.database.make(f"UPDATE {TABLE} SET state = 'open', updated_at = {self.clock.now}")

    @rule(key=st.none() | KEYS, run_id=st.none() | RUNS, fate=FATES)
    def read(self, key: str | None, run_id: str | None, fate: Fate) -> None:
        """Read, and ask the four questions."""
        got = self.database.outcome(fate, self.fence.read)
        what = fate.strikes(0)
        if what == "lost" or (what == "unheard" and self.has_table):
            assert got == "unreadable", got
            return
        assert got == self.reading, got
        if got == "unreadable":
            return
        row = self.row or {}
        proof = self.state == "proof-only"
        matrix = {
            "start": self.state == "open" or (proof and key == row["proof_key"]),
            "existing": self.state in ("open", "draining")
            or (proof and run_id is not None and run_id == row["proof_run_id"]),
            "authoring": self.state == "open",
            "drainable": self.state in ("open", "draining"),
        }
        assert matrix == {
            "start": admits_run_start(got, key),
            "existing": admits_existing_run(got, run_id),
            "authoring": admits_work_authoring(got),
            "drainable": admits_drainable_execution(got),
        }

    @invariant()
    def row_is_the_dict(self) -> None:
        """What is stored is what the dict says; and no reading made a table or a row."""
        expected = [] if self.row is None else [self.row]
        assert self.database.look() == (expected if self.has_table else None)

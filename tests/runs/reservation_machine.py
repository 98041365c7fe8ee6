"""Reservations against a dict: whatever is asked of them in whatever order, whatever gets lost."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from durasim.actors.runs.errors import (
    StartReservationOwnerMismatchError,
    StartReservationTargetMismatchError,
)
from durasim.actors.runs.reservations import (
    TABLE,
    Claim,
    Owner,
    Reservation,
    Reserved,
    StartRequest,
    StartReservations,
    Target,
)

from .fated import FATES, Fate, Fated, Local, Port
from .local import Clock, Names

__all__ = ["ReservationMachine"]

KEYS = st.sampled_from(("k1", "k2"))
OWNERS = st.sampled_from((Owner("human", "ann"), Owner("human", "bob")))
TARGETS = st.sampled_from(
    (Target("workflow", "order"), Target("workflow", "ask"), Target("agent", "order"))
)
RUNS = st.sampled_from(("run-1", "run-2", "run-3"))
AGES = st.sampled_from((0, 0, 1, 2))
"""How much older the stamp is that somebody names than that of the row."""
Row = dict[str, Any]


class ReservationMachine(RuleBasedStateMachine):
    """The table as a dict of dicts, beside the real one."""

    @staticmethod
    def port() -> Port:
        """Return the database of one play."""
        return Local()

    def __init__(self) -> None:
        super().__init__()
        port = type(self).port()
        self.database = Fated(port, TABLE)
        self.clock = Clock()
        self.store = StartReservations(self.database, self.clock)
        self.mint = Names("run")
        self.minted = 0
        self.has_table = False
        self.rows: dict[str, Row] = {}

    @initialize()
    def begins_empty(self) -> None:
        """Begin where nobody has reserved anything."""
        self.database.make(f"DROP TABLE IF EXISTS {TABLE}")

    # ---- the model

    def touch(self, row: Row, **change: Any) -> Row:
        """Change a row: its stamp grows, whatever the clock says."""
        row.update(change, updated_at=max(self.clock.now, row["updated_at"] + 1))
        return row

    def expect(self, fate: Fate, asked: Any, does: Callable[[], Any]) -> None:
        """Compare an operation of a single query with what the dict does."""
        got = self.database.outcome(fate, asked)
        what = fate.strikes(0)
        expected = None if what == "lost" else does()
        if what == "fine" or (what == "unheard" and not self.has_table):
            # Of a table that is not there nothing gets lost: the database answers that it is not.
            assert got == expected, (got, expected)
        else:
            assert got == "unreadable", got

    def at(self, key: str, run_id: str, **fields: Any) -> Row | None:
        """Return the row of a key if it has those fields."""
        row = self.rows.get(key)
        wanted = {"run_id": run_id, **fields}
        if row is None or any(row[name] != value for name, value in wanted.items()):
            return None
        return row

    def stamp(self, key: str, age: int) -> int:
        """Return the stamp of a row as it is, or as it may have been."""
        row = self.rows.get(key)
        return self.clock.now - age if row is None else int(row["updated_at"]) - age

    # ---- what is asked

    @rule(ms=st.sampled_from((-60_000, -1, 1, 1000)))
    def time_passes(self, ms: int) -> None:
        """Move the clock, back as well: another host has another one."""
        self.clock.now += ms

    @rule(key=KEYS, owner=OWNERS, wanted=TARGETS, fate=FATES)
    def reserve(self, key: str, owner: Owner, wanted: Target, fate: Fate) -> None:
        """Reserve: an insert, with the table if need be, and a look at what is there."""
        thread = "thread-1" if wanted.kind == "agent" else None
        request = StartRequest(key, owner, wanted, thread)
        had_table = self.has_table
        got = self.database.outcome(fate, partial(self.store.reserve, request, self.mint))
        self.minted += 1
        steps = ["insert", "read"] if had_table else ["miss", "insert", "read"]
        created = False
        for number, step in enumerate(steps):
            what = fate.strikes(number)
            if what == "lost":
                break
            if step == "insert":
                self.has_table = True
                created = key not in self.rows
                if created:
                    self.insert(request, f"run-{self.minted}")
            if what == "unheard" and step != "miss":
                break
        else:
            self.check_reserved(got, request, created)
            return
        assert got == "unreadable", got

    def insert(self, request: StartRequest, run_id: str) -> None:
        """Put a new row into the dict."""
        self.rows[request.key] = {
            "key": request.key,
            "owner_kind": request.owner.kind,
            "owner_id": request.owner.id,
            "target_kind": request.target.kind,
            "target_id": request.target.id,
            "run_id": run_id,
            "thread_id": request.thread_id,
            "state": "reserved",
            "created_at": self.clock.now,
            "updated_at": self.clock.now,
            "start_token": None,
        }

    def check_reserved(self, got: Any, request: StartRequest, created: bool) -> None:
        """Compare the answer of a reservation that was heard; owners are compared first."""
        row = self.rows[request.key]
        if row["owner_id"] != request.owner.id:
            assert isinstance(got, StartReservationOwnerMismatchError), got
        elif (row["target_kind"], row["target_id"]) != (request.target.kind, request.target.id):
            assert isinstance(got, StartReservationTargetMismatchError), got
        else:
            assert got == Reserved(value(row), created), got

    @rule(key=KEYS, run_id=RUNS, age=st.none() | AGES, fate=FATES)
    def claim(self, key: str, run_id: str, age: int | None, fate: Fate) -> None:
        """Claim a row, as it was looked at or as it is."""
        stamp = None if age is None else self.stamp(key, age)

        def does() -> Reservation | None:
            named = {} if stamp is None else {"updated_at": stamp}
            row = self.at(key, run_id, state="reserved", **named)
            return None if row is None else value(self.touch(row, state="started"))

        self.expect(fate, partial(self.store.claim, key, run_id, stamp), does)

    @rule(key=KEYS, run_id=RUNS, fate=FATES)
    def release(self, key: str, run_id: str, fate: Fate) -> None:
        """Give back by key and run."""

        def does() -> bool:
            row = self.at(key, run_id, state="started")
            return row is not None and bool(self.touch(row, state="reserved"))

        self.expect(fate, partial(self.store.release, key, run_id), does)

    @rule(key=KEYS, run_id=RUNS, age=AGES, fate=FATES)
    def release_exact(self, key: str, run_id: str, age: int, fate: Fate) -> None:
        """Give back one claim, which may be one of before, or bound by now."""
        claim = Claim(key, run_id, self.stamp(key, age))

        def does() -> bool:
            row = self.at(key, run_id, state="started", start_token=None, updated_at=claim.stamp)
            return row is not None and bool(self.touch(row, state="reserved"))

        self.expect(fate, partial(self.store.release_exact, claim), does)

    @rule(key=KEYS, run_id=RUNS, age=AGES, token=st.sampled_from(("t1", "t2")))
    def bind(self, key: str, run_id: str, age: int, token: str) -> None:
        """Bind one claim to one execution."""
        if not self.has_table:
            return  # it is bound with a snapshot, and that only after a claim
        claim = Claim(key, run_id, self.stamp(key, age))
        sql, values = self.store.binding(claim, token).statement
        got = self.database.outcome(Fate("fine"), partial(self.database.execute, sql, *values))
        row = self.at(key, run_id, state="started", start_token=None, updated_at=claim.stamp)
        if row is not None:
            self.touch(row, start_token=token)
        assert got.changes == (0 if row is None else 1)

    @rule(run_id=RUNS, fate=FATES)
    def settle(self, run_id: str, fate: Fate) -> None:
        """Spend the rows of a run, whatever they say."""

        def does() -> int:
            found = [
                row
                for row in self.rows.values()
                if row["run_id"] == run_id and row["state"] != "terminal"
            ]
            return len([self.touch(row, state="terminal") for row in found])

        self.expect(fate, partial(self.store.settle_run, run_id), does)

    @rule(key=KEYS)
    def purge(self, key: str) -> None:
        """Forget a row that is spent: its key reads as new."""
        if self.rows.get(key, {"state": None})["state"] == "terminal":
            del self.rows[key]
            self.database.make(f"DELETE FROM {TABLE} WHERE key = '{key}'")

    @rule(key=KEYS, fate=FATES)
    def read(self, key: str, fate: Fate) -> None:
        """Read one row."""
        row = self.rows.get(key)
        self.expect(
            fate, partial(self.store.read, key), lambda: None if row is None else value(row)
        )

    @rule(run_id=RUNS, fate=FATES)
    def read_of_runs(self, run_id: str, fate: Fate) -> None:
        """Read the rows of runs."""
        found = [
            value(self.rows[key])
            for key in sorted(self.rows)
            if self.rows[key]["run_id"] in (run_id, "run-1")
        ]
        self.expect(fate, partial(self.store.for_runs, [run_id, "run-1"]), lambda: found)

    @rule(key=KEYS, owner=OWNERS, field=st.sampled_from(("updated_at", "created_at", "run_id")))
    def damaged(self, key: str, owner: Owner, field: str) -> None:
        """A row that makes no sense is not absent: that would be the answer that starts a run."""
        row = self.rows.get(key)
        if row is None:
            return
        self.database.make(f"UPDATE {TABLE} SET {field} = 'a b' WHERE key = '{key}'")
        request = StartRequest(key, owner, Target("workflow", "order"))
        for asked in (
            partial(self.store.read, key),
            partial(self.store.reserve, request, lambda: "run-other"),
        ):
            assert self.database.outcome(Fate("fine"), asked) == "unreadable"
        right = f"'{row[field]}'" if field == "run_id" else row[field]
        self.database.make(f"UPDATE {TABLE} SET {field} = {right} WHERE key = '{key}'")

    @invariant()
    def table_is_the_dict(self) -> None:
        """What is stored is what the dict says, in every column; and nothing else made a table."""
        expected = [self.rows[key] for key in sorted(self.rows)] if self.has_table else None
        assert self.database.look() == expected


def value(row: Row) -> Reservation:
    """Return a row of the dict as the store would show it."""
    return Reservation(
        row["key"],
        Owner(row["owner_kind"], row["owner_id"]),
        Target(row["target_kind"], row["target_id"]),
        row["run_id"],
        row["thread_id"],
        row["state"],
        row["created_at"],
        row["updated_at"],
        row["start_token"],
    )

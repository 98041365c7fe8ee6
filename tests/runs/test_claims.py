"""From a keyed start to one decision, against a surface that a test moves."""

from typing import Any

import pytest

from durasim.actors.runs.claims import Decision, KeyedStart, begin_idempotent_start
from durasim.actors.runs.errors import (
    IdempotentStartAlreadySettledError,
    IdempotentStartPendingError,
    IdempotentStartUnresolvableError,
    StartReservationUnreadableError,
)
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.giveback import Holder, RouterSide, Sealer
from durasim.actors.runs.reservations import (
    Owner,
    Reservation,
    StartRequest,
    StartReservations,
    Target,
)

from .local import LOCKED, Clock, LocalDatabase, Log, Names, move

ASKED = StartRequest("k", Owner("human", "ann"), Target("workflow", "order"))
TABLE = "flowsafe_start_idempotency"


class Surface:
    """What a run is said to be, by run id; a test sets it, also while it is asked.

    Attributes:
        results: what can be shown again.
        executing: what is live.
        sealed: the stamps that were refused for good.
        asked: what was asked, in order.
    """

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}
        self.executing: set[str] = set()
        self.sealed: list[int] = []
        self.asked: list[str] = []
        self.on_probe: Any = lambda: None

    async def persisted(self, reservation: Reservation) -> Any | None:
        """As `StartSurface.persisted`."""
        self.asked.append("persisted")
        return self.results.get(reservation.run_id)

    async def live(self, reservation: Reservation) -> bool:
        """As `StartSurface.live`."""
        self.asked.append("live")
        is_live = reservation.run_id in self.executing
        self.on_probe()
        return is_live

    async def seal(self, reservation: Reservation) -> bool:
        """As `StartSurface.seal`."""
        self.asked.append("seal")
        self.sealed.append(reservation.updated_at)
        return True


class Keys:
    """Everything that decides keyed starts in one test."""

    def __init__(self, database: LocalDatabase, clock: Clock, log: Log) -> None:
        self.store = StartReservations(database, clock)
        self.fence = ExecutionFence(database, clock)
        self.surface = Surface()
        self.log = log
        self.mint = Names("run")
        self.design: Any = RouterSide(self.store)

    async def begin(self) -> Decision:
        """Decide one start of the key."""
        start = KeyedStart(
            store=self.store,
            surface=self.surface,
            fence=self.fence,
            take_back=self.design.take_back,
            log=self.log,
        )
        return await begin_idempotent_start(start, ASKED, self.mint)

    async def row(self) -> Reservation:
        """Return the row as it is."""
        found = await self.store.read("k")
        assert found is not None
        return found


@pytest.fixture
def keys(database: LocalDatabase, clock: Clock, log: Log) -> Keys:
    """Return the keys of an empty database."""
    return Keys(database, clock, log)


async def test_the_first_call_starts_and_asks_nobody(keys: Keys) -> None:
    """It made the row, so there can be no run."""
    decision = await keys.begin()

    assert (decision.kind, decision.reservation) == ("start", await keys.row())
    assert decision.reservation.run_id == "run-1"
    assert keys.surface.asked == []
    assert keys.log.lines == [
        ("start-decided", {"key": "k", "runId": "run-1", "stamp": decision.reservation.updated_at})
    ]


async def test_cases_3_and_l1_a_row_that_nobody_claimed_starts_under_its_own_id(
    keys: Keys,
) -> None:
    """Whoever made it died: the next caller's candidate is dropped."""
    await keys.store.reserve(ASKED, keys.mint)
    decision = await keys.begin()

    assert (decision.kind, decision.reservation.run_id) == ("start", "run-1")


@pytest.mark.parametrize("state", ["reserved", "started", "terminal"])
async def test_case_5_what_is_persisted_is_shown_whatever_the_row_says(
    keys: Keys, database: LocalDatabase, state: str
) -> None:
    """A stale row does not stand in the way of a result."""
    await keys.begin()
    database.make(f"UPDATE {TABLE} SET state = '{state}'")
    keys.surface.results["run-1"] = {"status": "success"}

    decision = await keys.begin()

    assert (decision.kind, decision.result) == ("replay", {"status": "success"})


async def test_case_6_a_run_that_executes_is_pending(keys: Keys) -> None:
    """With the time of its claim."""
    claimed = (await keys.begin()).reservation
    keys.surface.executing.add("run-1")
    with pytest.raises(IdempotentStartPendingError) as raised:
        await keys.begin()
    assert raised.value.reason == {
        "code": "IDEMPOTENT_START_PENDING",
        "runId": "run-1",
        "pendingSince": claimed.updated_at,
    }


async def test_case_7_a_run_that_left_nothing_is_unresolvable(keys: Keys) -> None:
    """It is never started again by itself, however long ago it was claimed."""
    await keys.begin()
    with pytest.raises(IdempotentStartUnresolvableError) as raised:
        await keys.begin()
    assert raised.value.reason == {"code": "IDEMPOTENT_START_UNRESOLVABLE", "runId": "run-1"}
    assert (await keys.row()).state == "started"


async def test_no_time_makes_a_claim_void(keys: Keys, clock: Clock) -> None:
    """There is no timer anywhere: a claim of long ago is a claim."""
    await keys.begin()
    clock.now += 100 * 24 * 3_600_000
    with pytest.raises(IdempotentStartUnresolvableError):
        await keys.begin()


async def test_case_8_a_spent_key_whose_result_is_gone_is_settled(keys: Keys) -> None:
    """A fresh key starts a fresh run; this one starts none."""
    await keys.begin()
    await keys.store.settle_run("run-1")
    with pytest.raises(IdempotentStartAlreadySettledError):
        await keys.begin()


async def test_case_43_what_was_refused_may_still_be_on_its_way_out(keys: Keys) -> None:
    """A row that is free again is claimed only once nothing of it is live."""
    await keys.begin()
    await keys.store.release("k", "run-1")
    keys.surface.executing.add("run-1")
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()
    assert (await keys.row()).state == "reserved"
    keys.surface.executing.clear()
    assert (await keys.begin()).kind == "start"


async def test_case_43_a_row_that_came_back_once_more_meanwhile_is_not_claimed(
    keys: Keys, database: LocalDatabase
) -> None:
    """Somebody claimed it behind the question and was refused: that one may still be live."""
    await keys.begin()
    await keys.store.release("k", "run-1")
    keys.surface.on_probe = lambda: database.make(f"UPDATE {TABLE} SET updated_at = updated_at + 2")
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()
    assert (await keys.row()).state == "reserved"


async def test_case_19_a_creator_is_no_creator_once_the_row_was_touched(
    keys: Keys, database: LocalDatabase
) -> None:
    """Somebody claimed and released it before it was read back: the run is asked for first."""

    def touched(label: str) -> None:
        if label == f"INSERT {TABLE}" or label.startswith("batch CREATE"):
            database.make(f"UPDATE {TABLE} SET updated_at = updated_at + 2")

    database.after = touched
    keys.surface.executing.add("run-1")
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()
    assert keys.surface.asked == ["persisted", "live"]


@pytest.mark.parametrize(
    ("rival", "outcome"),
    [
        ("state = 'started'", IdempotentStartPendingError),
        ("state = 'terminal'", IdempotentStartAlreadySettledError),
    ],
)
async def test_cases_2_and_17_a_lost_claim_is_looked_at_again(
    keys: Keys, database: LocalDatabase, rival: str, outcome: type[Exception]
) -> None:
    """The winner may live, may have ended, may have left a result: each is answered as it is."""
    await keys.begin()
    await keys.store.release("k", "run-1")

    def won() -> None:
        database.make(f"UPDATE {TABLE} SET {rival}, updated_at = updated_at + 1")
        keys.surface.executing.add("run-1")

    keys.surface.on_probe = won
    with pytest.raises(outcome):
        await keys.begin()


async def test_case_17_a_winner_that_has_persisted_is_shown(
    keys: Keys, database: LocalDatabase
) -> None:
    """The result is there before the loser gives any verdict."""
    await keys.begin()
    await keys.store.release("k", "run-1")

    def won() -> None:
        database.make(f"UPDATE {TABLE} SET state = 'terminal', updated_at = updated_at + 1")
        keys.surface.results["run-1"] = "result"

    keys.surface.on_probe = won
    assert (await keys.begin()).result == "result"


async def test_case_2_the_creator_may_lose_the_claim(keys: Keys, database: LocalDatabase) -> None:
    """Somebody was faster: the creator starts nothing."""

    def stolen(label: str) -> None:
        if label == f"SELECT {TABLE}" and len(database.asked) <= 3:
            database.make(f"UPDATE {TABLE} SET state = 'started', updated_at = updated_at + 1")

    database.after = stolen
    keys.surface.executing.add("run-1")
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()


async def test_a_row_that_has_become_another_is_unreadable(
    keys: Keys, database: LocalDatabase
) -> None:
    """Purged and reserved anew between two looks: no verdict about it."""
    await keys.begin()
    await keys.store.release("k", "run-1")
    keys.surface.on_probe = lambda: database.make(f"UPDATE {TABLE} SET run_id = 'run-9'")
    with pytest.raises(StartReservationUnreadableError, match="another one"):
        await keys.begin()


async def test_a_run_that_ends_between_two_questions_is_shown(keys: Keys) -> None:
    """It was live at neither, and its result is there before it ceases to be live."""
    await keys.begin()
    keys.surface.on_probe = lambda: keys.surface.results.update({"run-1": "result"})
    assert (await keys.begin()).result == "result"


async def test_case_49_a_row_that_is_just_changing_gets_no_verdict(
    keys: Keys, database: LocalDatabase
) -> None:
    """A release that lands meanwhile makes it pending, not unresolvable."""
    await keys.begin()
    keys.surface.on_probe = lambda: database.make(
        f"UPDATE {TABLE} SET state = 'reserved', updated_at = updated_at + 1"
    )
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()


async def test_case_38_a_replay_binds_the_proof_run_again(keys: Keys) -> None:
    """A lost binding is restored, for the nominated key alone; its failure is only logged."""
    await keys.begin()
    keys.surface.results["run-1"] = "result"
    await move(keys.fence, FenceState.PROOF_ONLY, "other")
    await keys.begin()
    assert (await keys.fence.read()).proof_run_id is None
    await move(keys.fence, FenceState.PROOF_ONLY, "k")
    await keys.begin()
    assert (await keys.fence.read()).proof_run_id == "run-1"


async def test_case_38_a_binding_that_fails_does_not_stop_the_replay(
    keys: Keys, database: LocalDatabase, log: Log
) -> None:
    """The result is shown all the same."""
    await keys.begin()
    keys.surface.results["run-1"] = "result"
    database.failing = lambda label: LOCKED if "fence" in label else None
    assert (await keys.begin()).result == "result"
    assert log.kinds == ["start-decided", "start-reservation-proof-rebind-failed"]


async def test_a_deployment_without_a_fence_replays(keys: Keys) -> None:
    """There is nothing to bind."""
    await keys.begin()
    keys.surface.results["run-1"] = "result"
    start = KeyedStart(
        store=keys.store,
        surface=keys.surface,
        fence="none",
        take_back=keys.design.take_back,
        log=keys.log,
    )
    assert (await begin_idempotent_start(start, ASKED, keys.mint)).kind == "replay"


async def test_a_sealer_takes_back_what_never_began(keys: Keys) -> None:
    """The claim is refused for good, then the key starts the same run under a new claim."""
    keys.design = Sealer(keys.store, keys.log)
    first = (await keys.begin()).reservation
    second = await keys.begin()

    assert (second.kind, second.reservation.run_id) == ("start", "run-1")
    assert keys.surface.sealed == [first.updated_at]
    assert second.reservation.updated_at > first.updated_at
    assert "claim-sealed" in keys.log.kinds


async def test_a_sealer_leaves_a_bound_row_alone(keys: Keys, database: LocalDatabase) -> None:
    """It may have begun: only a person can tell."""
    keys.design = Sealer(keys.store, keys.log)
    row = (await keys.begin()).reservation
    await database.batch([keys.store.binding(row.claim, "token").statement])
    with pytest.raises(IdempotentStartUnresolvableError):
        await keys.begin()
    assert keys.surface.sealed == []


async def test_of_two_that_seal_one_starts(keys: Keys, database: LocalDatabase) -> None:
    """The other one finds the row changed, and has to wait."""
    keys.design = Sealer(keys.store, keys.log)
    await keys.begin()

    def released(label: str) -> None:
        if label == f"UPDATE {TABLE}":
            database.after = lambda _label: None
            database.make(f"UPDATE {TABLE} SET state = 'started', updated_at = updated_at + 1")

    database.after = released
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()


async def test_of_two_that_claim_what_was_sealed_one_starts(
    keys: Keys, database: LocalDatabase
) -> None:
    """It came back, and somebody else claims it before whoever had it sealed."""
    keys.design = Sealer(keys.store, keys.log)
    await keys.begin()

    def claimed() -> None:
        if keys.surface.sealed:
            database.make(f"UPDATE {TABLE} SET state = 'started', updated_at = updated_at + 1")

    keys.surface.on_probe = claimed
    with pytest.raises(IdempotentStartPendingError):
        await keys.begin()
    assert keys.log.kinds.count("start-decided") == 1


async def test_a_holder_takes_nothing_back_by_being_asked(keys: Keys) -> None:
    """Whether it began is not known where it is asked."""
    keys.design = Holder(keys.store, keys.log)
    await keys.begin()
    with pytest.raises(IdempotentStartUnresolvableError):
        await keys.begin()

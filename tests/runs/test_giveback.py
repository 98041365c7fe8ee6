"""The three designs for giving back."""

import pytest

from durasim.actors.runs.giveback import Holder, RouterSide, Sealer, give_back_of, is_sealed
from durasim.actors.runs.reservations import (
    Claim,
    Owner,
    Reservation,
    StartRequest,
    StartReservations,
    Target,
)

from .local import LOCKED, Clock, LocalDatabase, Log, Names

ASKED = StartRequest("k", Owner("human", "ann"), Target("workflow", "order"))


@pytest.fixture
def store(database: LocalDatabase, clock: Clock) -> StartReservations:
    """Return the reservations of an empty database."""
    return StartReservations(database, clock)


async def claimed(store: StartReservations) -> Reservation:
    """Reserve and claim the key."""
    row = (await store.reserve(ASKED, Names("run"))).reservation
    found = await store.claim("k", row.run_id)
    assert found is not None
    return found


async def state(store: StartReservations) -> str:
    """Return the state of the row."""
    row = await store.read("k")
    assert row is not None
    return row.state


async def sealed(row: Reservation) -> bool:
    """Say that the claim is refused for good."""
    return row.run_id == "run-1"


async def test_the_router_side_releases_by_key_and_carries_nothing(
    store: StartReservations,
) -> None:
    """Who starts the run has no part in it."""
    design = RouterSide(store)
    row = await claimed(store)

    assert design.carried(row) is None
    assert design.binding(row.claim, "token") is None
    await design.refused(row.claim)
    assert await state(store) == "started"
    assert not await design.take_back(row, sealed)
    assert await design.releasing.release("k", "run-1")
    assert await state(store) == "reserved"


@pytest.mark.parametrize("design", [Holder, Sealer])
async def test_whoever_holds_the_claim_gives_exactly_that_back(
    store: StartReservations, log: Log, design: type[Holder]
) -> None:
    """The router side gives nothing back, whatever it is told; the same claim again is nothing."""
    holder = design(store, log)
    row = await claimed(store)

    assert holder.carried(row) == Claim("k", "run-1", row.updated_at)
    assert not await holder.releasing.release("k", "run-1")
    assert await state(store) == "started"
    await holder.refused(row.claim)
    assert await state(store) == "reserved"
    await store.claim("k", "run-1")
    await holder.refused(row.claim)
    assert await state(store) == "started"


async def test_a_start_without_a_claim_binds_and_gives_back_nothing(
    database: LocalDatabase, store: StartReservations, log: Log
) -> None:
    """It has no key."""
    holder = Holder(store, log)
    await holder.refused(None)

    assert holder.binding(None, "token") is None
    assert database.asked == []


async def test_a_giving_back_that_fails_is_found_in_the_log(
    database: LocalDatabase, store: StartReservations, log: Log
) -> None:
    """8.6: by key and run id; whoever refused goes on with its refusal."""
    row = await claimed(store)
    database.failing = lambda _label: LOCKED
    await Holder(store, log).refused(row.claim)

    ((kind, fields),) = log.lines
    assert (kind, fields["key"], fields["runId"]) == (
        "start-reservation-rollback-failed",
        "k",
        "run-1",
    )


async def test_a_sealer_gives_back_only_with_the_proof(store: StartReservations, log: Log) -> None:
    """No seal, no release; and a bound row is not even asked about."""

    async def refused(row: Reservation) -> bool:
        assert row.start_token is None
        return False

    sealer = Sealer(store, log)
    row = await claimed(store)
    assert not await sealer.take_back(row, refused)
    assert await state(store) == "started"
    assert await sealer.take_back(row, sealed)
    assert await state(store) == "reserved"


def test_a_seal_holds_for_its_claim_and_those_before() -> None:
    """A claim that was made later is another one."""
    assert is_sealed(Claim("k", "r", 5), 5)
    assert is_sealed(Claim("k", "r", 4), 5)
    assert not is_sealed(Claim("k", "r", 6), 5)
    assert not is_sealed(Claim("k", "r", 5), None)
    assert not is_sealed(None, 5)


def test_designs_are_known_by_name(store: StartReservations, log: Log) -> None:
    """The wiring says one word."""
    assert isinstance(give_back_of("router", store, log), RouterSide)
    assert type(give_back_of("holder", store, log)) is Holder
    assert type(give_back_of("sealer", store, log)) is Sealer

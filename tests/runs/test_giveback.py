"""The three designs for giving back, and the one function in which a router does it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from durasim.actors.runs import giveback
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
SOURCES = sorted(Path(giveback.__file__).parent.glob("*.py"))


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


# ---- spec/run-claims.md 8.3, on the source


def functions(path: Path) -> Iterator[ast.AsyncFunctionDef]:
    """Yield the coroutine functions of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.AsyncFunctionDef):
            yield node


def called(function: ast.AST, name: str) -> list[ast.Call]:
    """Return the calls of *name*, or of a method of that name, in a function."""
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name
    ]


def callers(name: str) -> list[tuple[str, str]]:
    """Return file and function of everything that calls *name*."""
    return [
        (path.name, function.name)
        for path in SOURCES
        for function in functions(path)
        if called(function, name)
    ]


def test_predicate_and_release_stand_in_one_function() -> None:
    """In the module of the reservation; nothing else releases by key in the router design."""
    where = ("reservations.py", "rollback_fenced_start")
    releases = [
        (path.name, function.name)
        for path in SOURCES
        for function in functions(path)
        for call in called(function, "release")
        if "owners" not in ast.unparse(call.func)
    ]

    assert releases == [where]
    assert where in callers("is_execution_fence_refusal")


def test_that_function_has_two_callers() -> None:
    """The router and the topology of agents; each wraps a start and passes every error on."""
    found = callers("rollback_fenced_start")

    assert sorted(name for name, _ in found) == ["router.py", "threads.py"]


@pytest.mark.parametrize("name", ["router.py", "threads.py"])
def test_each_caller_passes_every_error_of_the_start(name: str) -> None:
    """The handler catches `Exception` whole, and does nothing but give back."""
    path = next(each for each in SOURCES if each.name == name)
    tries = [
        node
        for function in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Try) and called(node, "rollback_fenced_start")
    ]
    (node,) = tries
    (handler,) = node.handlers

    assert handler.type is not None
    assert ast.unparse(handler.type) == "Exception"
    (statement,) = handler.body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Await)
    (body,) = node.body
    assert called(body, "start") or called(body, "_dispatch"), ast.unparse(body)


def test_the_release_swallows_exceptions_alone() -> None:
    """Not a cancellation, and not the death of its host."""
    path = next(each for each in SOURCES if each.name == "reservations.py")
    function = next(each for each in functions(path) if each.name == "rollback_fenced_start")
    handlers = [node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)]

    assert [ast.unparse(each.type) for each in handlers if each.type] == ["Exception"]
    assert len(handlers) == 1

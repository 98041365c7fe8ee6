"""A bot over the routes: what it asks for, how long it asks, and what it tells the ledger."""

from typing import Any

import attrs
import trio

from durasim.actors.fleet.caller import Caller, CallerOrder
from durasim.actors.fleet.outcomes import Granted, Refused
from durasim.sim import World
from durasim.sim.fleet.fleet import BEARERS, Fleet

from .residence import ANN, A
from .told import told
from .whole import whole_fleet


def order(**rest: Any) -> CallerOrder:
    """Return what a bot does, with differences."""
    first = CallerOrder(bearer=BEARERS.operator, resource=A, thread="t1", owner=ANN)
    return attrs.evolve(first, **rest)


async def called(fleet: Fleet, **rest: Any) -> Caller:
    """Run a bot to its end."""
    caller = Caller(order(**rest))
    assert await fleet.world.start(caller, "bot").ended() == "done"
    return caller


def test_a_run_attaches_works_ends_and_detaches() -> None:
    """All of it under permits that are gone afterwards, and the ledger knows the ending."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        caller = await called(fleet, works=("write", "save"))
        assert [path for path, _ in caller.outcomes] == ["/attach", "/exec", "/exec", "/detach"]
        assert all(isinstance(outcome, Granted) for _, outcome in caller.outcomes)
        assert fleet.log.ledger["terminal:r1"]["status"] == "completed"
        assert not fleet.log.permits
        assert "reg:t1" not in fleet.log.resident(A)

    assert told(story).ok


def test_a_run_may_stay_live_or_keep_its_registration() -> None:
    """What is not ended is not detached either."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        caller = await called(fleet, ends=None)
        assert [path for path, _ in caller.outcomes] == ["/attach"]
        assert "live:r1" in fleet.log.ledger
        await called(fleet, detaches=False)
        assert "reg:t1" in fleet.log.resident(A)
        assert fleet.log.ledger["terminal:r1"]["status"] == "completed"

    assert told(story).ok


def test_a_run_that_is_put_off_asks_again() -> None:
    """Every half a minute, until the drain has ended."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        registry = fleet.registry("ops")
        await registry.drain(2, "ops", "")
        caller = await called(fleet)
        codes = [o.code for _, o in caller.outcomes if isinstance(o, Refused)]
        assert codes == ["DRAINING"] * 4
        assert caller.outcomes[-1][0] == "/detach"

    assert told(story).ok


def test_a_run_that_is_refused_for_good_does_nothing() -> None:
    """Nor does one that has waited for an hour."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        caller = await called(fleet, bearer="nobody's")
        ((path, outcome),) = caller.outcomes
        assert path == "/attach"
        assert isinstance(outcome, Refused)
        assert outcome.code == "UNAUTHORIZED"
        await fleet.registry("ops").drain(90, "ops", "")
        began = world.now_s
        caller = await called(fleet)
        assert 3_600 <= world.now_s - began < 3_700
        assert {path for path, _ in caller.outcomes} == {"/attach"}
        await trio.sleep(1)

    assert told(story).ok

"""The checkers of members each reject what they are about."""

from collections.abc import Awaitable, Callable

import pytest
import trio

from durasim.actors.fleet import attempt
from durasim.sim import World
from durasim.sim.fleet.flights import Flights, flights_of
from durasim.sim.fleet.inv_members import MEMBERS
from durasim.sim.fleet.readings import readings_of, says_ended

from .liar import OWNER, REGISTERED, A, Liars, rejected
from .told import told


async def changes_a_registration(liars: Liars) -> None:
    """Nobody asked for it."""
    liars.store(REGISTERED)
    await liars.stub.write({"reg:t1": {**REGISTERED["reg:t1"], "deadlineAt": 5}})


async def removes_outside_of_sweeps(liars: Liars) -> None:
    """A workspace goes, and no watchdog was there."""
    await liars.container.provision("t1")
    await liars.stub.clear("t1")


async def counts_no_registration(liars: Liars) -> None:
    """Fewer runs than registrations."""
    liars.store(REGISTERED)
    await liars.read(runsInFlight=0)


async def stops_over_a_registration(liars: Liars) -> None:
    """With the only copy of its files in it."""
    await liars.container.provision("t1")
    await liars.container.submit("o1", "p1", "t1", "write")
    liars.store(REGISTERED)
    await liars.stub.write({})
    await liars.stub.stop()


async def releases_without_proof(liars: Liars) -> None:
    """The owner is not settled, and nobody was asked."""
    liars.store(REGISTERED)
    await liars.stub.write({"reg:t1": None})


async def removes_private_files(liars: Liars) -> None:
    """The only copy goes."""
    await liars.container.provision("t1")
    await liars.container.submit("o1", "p1", "t1", "write")
    await liars.stub.clear("t1")


async def clears_native_rows_with_an_image(liars: Liars) -> None:
    """One commit about both."""
    liars.store({"native:o1": {"outcome": "pending"}})
    await liars.stub.write({"native:o1": None, "image:progress": {"build": "b1"}})


async def retains_what_nobody_has_ended(liars: Liars) -> None:
    """A registration without an ending."""
    liars.store(REGISTERED)
    await liars.read(retainedRuns=1, unknownRuns=0)


async def says_nothing_of_who_lives(liars: Liars) -> None:
    """Neither executing nor unknown."""
    liars.store(REGISTERED)
    liars.live()
    await liars.read(executingRuns=0, unknownRuns=0)


async def counts_twice(liars: Liars) -> None:
    """More executions than owners and requests."""
    liars.store(REGISTERED)
    await liars.read(executingRuns=2)


@pytest.mark.parametrize(
    ("act", "name"),
    [
        (changes_a_registration, "INV-01"),
        (removes_outside_of_sweeps, "INV-01"),
        (removes_outside_of_sweeps, "INV-04"),
        (counts_no_registration, "INV-02"),
        (stops_over_a_registration, "INV-03"),
        (stops_over_a_registration, "INV-05"),
        (releases_without_proof, "INV-04"),
        (releases_without_proof, "INV-06"),
        (removes_private_files, "INV-05"),
        (clears_native_rows_with_an_image, "INV-07"),
        (retains_what_nobody_has_ended, "INV-13"),
        (says_nothing_of_who_lives, "INV-14"),
        (counts_twice, "INV-15"),
    ],
)
def test_an_offence_is_seen(act: Callable[[Liars], Awaitable[None]], name: str) -> None:
    """By the invariant that forbids it."""
    assert name in rejected(act)


def test_each_checker_of_members_is_tested() -> None:
    """Every one that stands in the tuple has its number once."""
    names = [each.name for each in MEMBERS if each.name.startswith("INV")]
    assert sorted(names) == [f"INV-{n:02}" for n in (1, 2, 3, 4, 5, 6, 7, 13, 14, 15)]


def test_an_honest_member_breaks_nothing() -> None:
    """A fleet that is read and works as it should."""

    async def honest(liars: Liars) -> None:
        liars.live()
        origin = {"request": "1"}
        await liars.stub.attach("t1", "r1", 1, 1, origin)
        await liars.stub.exec("t1", "r1", 1, 1, origin, "write save")
        await liars.read()
        await liars.stub.detach("t1", "r1", 1, 1, origin)
        await liars.stub.watchdog(origin)
        await liars.read()

    assert rejected(honest) == set()


def test_a_flight_lasts_until_its_answer_or_its_end() -> None:
    """A restart of the machine ends what flies there; folds are made once for a world."""

    async def story(world: World) -> None:
        liars = Liars(world)
        flights = flights_of(world)
        assert flights is flights_of(world)
        assert readings_of(world) is readings_of(world)
        assert Flights.sees
        origin = {"request": "1"}
        await liars.stub.attach("t1", "r1", 1, 1, origin)
        assert flights.at(A, "attach") == []
        world.spawn("slow", lambda: ignored(liars, origin))
        await trio.sleep(5)
        assert [each.thread for each in flights.at(A, "exec", thread="t1")] == ["t1"]
        assert flights.at(A, "exec", thread="t2") == []
        liars.live()
        assert flights.live_threads(A) == {"t1"}
        liars.fleet.ground.note("run ends", OWNER)
        assert flights.live_threads(A) == set()
        assert not says_ended(flights.log, "t1", OWNER)
        for name in ("members-1", "members-2"):
            world.machines[name].crash("on purpose")
        assert flights.at(A, "exec") == []

    assert told(story).ok


async def ignored(liars: Liars, origin: dict[str, str]) -> None:
    """Work, and never mind how it ends."""
    await attempt(liars.stub.exec("t1", "r1", 1, 1, origin, "run:30"))

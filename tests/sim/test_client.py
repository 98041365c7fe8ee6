"""Participants that stand outside of all objects."""

import pytest
import trio

from durasim.actors import Address, DurableObject, WebRequest, Worker
from durasim.sim import Job, Ordinary, World, run_once, scenario
from durasim.sim.client import refuse_dead
from durasim.wire import IncarnationGone


class Echo(DurableObject):
    """Answers, soon or never."""

    async def say(self, text: str) -> str:
        """Answer at once."""
        return text

    async def wait(self) -> None:
        """Answer never."""
        await trio.sleep_forever()


class Front(Worker):
    """Has no route."""


def test_a_client_is_made_once_and_calls() -> None:
    """By its name it is the same participant again."""

    @scenario()
    async def story(world: World) -> None:
        alice = world.client("alice")
        assert alice is world.client("alice")
        assert alice.name == "alice"
        assert await alice.get(Echo, "e").say("hello") == "hello"
        assert (await alice.worker(Front).fetch(WebRequest("GET", "/"))).status == 404

    assert run_once(Job(scenario=story, seed=1, source=Ordinary())).failures == ()


async def wait_for(stub: Echo) -> None:
    """Await a call."""
    await stub.wait()


def test_it_tells_whom_it_waits_for() -> None:
    """Only calls that somebody awaits are named, and a deadlock says so."""

    @scenario()
    async def story(world: World) -> None:
        alice = world.client("alice")
        dropped = alice.get(Echo, "dropped").wait()
        assert alice.awaited() == []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_for, alice.get(Echo, "e", deadline_s=5))
            await trio.sleep(1)
            assert alice.awaited() == [Address("Echo", "e")]
            nursery.cancel_scope.cancel()
        del dropped

    assert run_once(Job(scenario=story, seed=1, source=Ordinary())).failures == ()


def test_a_world_that_is_over_refuses_everybody() -> None:
    """Stubs and clients that are kept from it have no effect any more."""
    kept: list[World] = []

    @scenario()
    async def story(world: World) -> None:
        kept.append(world)
        await world.client("alice").get(Echo, "e").say("hello")

    result = run_once(Job(scenario=story, seed=1, source=Ordinary()))
    (world,) = kept

    with pytest.raises(IncarnationGone, match="the world"):
        refuse_dead(world)
    with pytest.raises(IncarnationGone):
        world.client("alice")
    with pytest.raises(IncarnationGone):
        world.clients["alice"].get(Echo, "e")
    with pytest.raises(IncarnationGone):
        world.clients["alice"].worker(Front)
    assert world.trace.digest() == result.digest

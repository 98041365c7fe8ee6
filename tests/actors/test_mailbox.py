"""Delivery: when the next request of an object begins."""

from durasim.actors import Overloaded
from durasim.sim import World

from .slow import Serial, Slow, together
from .stage import tell


def test_a_gated_object_lets_the_next_request_in_while_it_waits() -> None:
    """IG-3."""

    async def story(world: World) -> None:
        slow = world.client("a").get(Slow, "s")
        await together(slow.work("one"), slow.work("two"))
        assert await slow.log() == ["one begins", "two begins", "one ends", "two ends"]

    assert tell(story).virtual_seconds >= 1


def test_a_serial_object_takes_one_request_after_the_other() -> None:
    """Whatever it waits for."""

    async def story(world: World) -> None:
        serial = world.client("a").get(Serial, "s")
        await together(serial.work("one"), serial.work("two"))
        assert await serial.log() == ["one begins", "one ends", "two begins", "two ends"]

    assert tell(story).ok


def test_a_full_mailbox_refuses_and_nothing_ran() -> None:
    """`Overloaded`: it was not delivered."""

    async def story(world: World) -> None:
        serial = world.client("a").get(Serial, "s")
        results = await together(*(serial.work(str(number)) for number in range(5)))
        refused = [result for result in results if isinstance(result, Overloaded)]
        assert len(refused) == 2
        assert refused[0].requests_max == 3
        assert len(await serial.log()) == 6

    assert tell(story).ok


def test_one_request_leaves_nothing_in_the_context_of_the_next() -> None:
    """The resident task of a serial object starts each request afresh."""

    async def story(world: World) -> None:
        serial = world.client("a").get(Serial, "s")
        assert [await serial.context_leaks(value) for value in "xyz"] == ["nothing"] * 3

    assert tell(story).ok

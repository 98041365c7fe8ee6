"""Serial objects that would wait for ever: the call that closes the cycle is refused, no other."""

import pytest

from .objects import Front, Serial
from .places import Embedded, Place, Simulated

Where = Embedded | Simulated

SELF = "Serial/a -> Serial/a"


@pytest.mark.parametrize(
    ("cycle", "method", "arguments"),
    [
        (SELF, "self_cycle", ()),
        (SELF, "await_self_later", ()),
        (SELF, "ask_in_child", ()),
        (SELF, "ask_in_section", ()),
        ("Serial/b -> Serial/a -> Serial/b", "ask", ("b", "a")),
        ("Serial/c -> Serial/a -> Serial/b -> Serial/c", "ask", ("b", "c", "a")),
        ("Serial/b -> Serial/b", "ask", ("b", "b")),
        ("Front/f -> Serial/a -> Front/f", "ask_front", ("f",)),
    ],
    ids=["self", "awaited later", "child", "section", "two", "three", "not the first", "gated"],
)
def test_a_cycle_is_told_to_whoever_closes_it(
    where: Where, cycle: str, method: str, arguments: tuple[str, ...]
) -> None:
    """At once; the refused request has not run, and everybody goes on."""

    async def story(place: Place) -> None:
        assert await getattr(place.get(Serial, "a"), method)(*arguments) == cycle
        for name in "abc":
            assert await place.get(Serial, name).note("fine") == ["fine"]

    where.tell(story)


def test_a_call_that_nobody_awaits_closes_no_cycle(where: Where) -> None:
    """It runs when the object is free."""

    async def story(place: Place) -> None:
        await place.get(Serial, "a").call_self_unawaited()
        assert await place.get(Serial, "a").note("end") == ["later", "end"]

    where.tell(story)


def test_left_over_work_keeps_nobody_waiting(where: Where) -> None:
    """A request that it makes of its own object runs when the object is free."""

    async def story(place: Place) -> None:
        await place.get(Serial, "a").leave_call()
        await place.get(Serial, "a").note("end")
        assert place.stored(Serial, "a") == {"left": 1}

    where.tell(story)


def test_a_gated_object_that_is_asked_meanwhile_closes_no_cycle(where: Where) -> None:
    """The serial object waits for one request of it, another one queues at the serial object."""

    async def story(place: Place) -> None:
        asking = place.get(Serial, "a").ask_slowly("f")
        beside = place.get(Front, "f").ask_beside("a")
        assert await asking == []
        assert await beside == ["beside"]

    where.tell(story)

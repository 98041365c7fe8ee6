"""What every object can rely on, wherever it lives."""

from typing import Any

import pytest
import trio

from durasim.actors import ObjectReset, WebRequest

from ..hosts.waiting import until, until_told
from .objects import Bell, Diary, Door, Serial
from .places import Embedded, Place, Simulated

Where = Embedded | Simulated


async def ended(*calls: Any) -> list[Any]:
    """Await all *calls*, which are under way already; errors are results."""
    results: list[Any] = []
    for call in calls:
        try:
            results.append(await call)
        except Exception as error:
            results.append(error)
    return results


async def has_tried(bell: Bell, tries: list[int]) -> bool:
    """Whether the alarm of *bell* was tried with these counts."""
    return await bell.tries() == tries


@pytest.mark.parametrize("cls", [Diary, Serial])
def test_a_turn_ends_at_every_real_suspension(where: Where, cls: type[Diary]) -> None:
    """What was written before it stands, what comes after is lost with the reset."""

    async def story(place: Place) -> None:
        with pytest.raises(ObjectReset):
            await place.get(cls, "d").two_turns()
        await place.get(cls, "d").keep("after")
        assert place.stored(cls, "d") == {"first": 1, "second": 2, "after": 1}

    where.tell(story)


@pytest.mark.parametrize("cls", [Diary, Serial])
def test_each_step_of_a_child_is_a_turn(where: Where, cls: type[Diary]) -> None:
    """A nursery's children commit by themselves."""

    async def story(place: Place) -> None:
        with pytest.raises(ObjectReset):
            await place.get(cls, "d").children()
        await place.get(cls, "d").keep("after")
        assert sorted(place.stored(cls, "d")) == ["a one", "a two", "after", "b one", "b two"]

    where.tell(story)


def test_a_reply_tells_of_durable_writes(where: Where) -> None:
    """As soon as it is there."""

    async def story(place: Place) -> None:
        for number in range(5):
            await place.get(Diary, "d").keep(str(number))
            assert len(place.stored(Diary, "d")) == number + 1

    where.tell(story)


def test_a_call_leaves_when_the_write_before_it_is_durable(where: Where) -> None:
    """OG-1."""

    async def story(place: Place) -> None:
        assert await place.get(Diary, "d").write_and_tell("other") is True

    where.tell(story)


@pytest.mark.parametrize("cls", [Diary, Serial])
def test_calls_of_a_stub_arrive_in_order(where: Where, cls: type[Diary]) -> None:
    """Awaited or not."""

    async def story(place: Place) -> None:
        stub = place.get(cls, "d")
        for number in range(20):
            _ = stub.note(str(number))
        assert await stub.note("20") == [str(number) for number in range(21)]

    where.tell(story)


@pytest.mark.parametrize(
    ("cls", "log"),
    [
        (Diary, ["one begins", "two begins", "one ends", "two ends"]),
        (Serial, ["one begins", "one ends", "two begins", "two ends"]),
    ],
)
def test_the_next_request_enters_as_the_class_says(
    where: Where, cls: type[Diary], log: list[str]
) -> None:
    """While the object waits, or after it has ended."""

    async def story(place: Place) -> None:
        stub = place.get(cls, "d")
        await ended(stub.work("one"), stub.work("two"))
        assert await stub.note("end") == [*log, "end"]

    where.tell(story)


def test_a_critical_section_keeps_other_requests_out(where: Where) -> None:
    """IG-6."""

    async def story(place: Place) -> None:
        stub = place.get(Diary, "d")
        await ended(stub.section("one"), stub.work("two"), stub.section("three"))
        assert await stub.note("end") == [
            "one begins", "one ends", "two begins", "three begins", "three ends", "two ends", "end",
        ]  # fmt: skip

    where.tell(story)


def test_a_reset_breaks_the_stubs_that_were_in_use(where: Where) -> None:
    """RPC-11: a new stub, and one that was never used, work; the unfinished turn is lost."""

    async def story(place: Place) -> None:
        used, unused = place.get(Diary, "d"), place.get(Diary, "d")
        await used.keep("kept")
        waiting = used.work("one", 5)
        with pytest.raises(ObjectReset, match="on purpose"):
            await used.abort_after("lost")
        results = await ended(waiting, used.note("again"))
        assert [type(result) for result in results] == [ObjectReset] * 2
        assert await unused.note("fresh") == ["fresh"]
        assert place.stored(Diary, "d") == {"kept": 1}
        assert await place.get(Diary, "d").note("new") == ["fresh", "new"]

    where.tell(story)


def test_an_evicted_object_comes_back_with_its_storage(where: Where) -> None:
    """Memory is lost; the stub keeps working; one that is busy does not go."""

    async def story(place: Place) -> None:
        stub = place.get(Diary, "d")
        await stub.keep("kept")
        await stub.note("gone")
        busy = stub.work("busy", 0.5)
        await stub.note("after it")
        assert not place.evict(Diary, "d")
        await busy
        assert place.evict(Diary, "d")
        assert not place.evict(Diary, "d")
        assert await stub.note("fresh") == ["fresh"]
        assert place.stored(Diary, "d") == {"kept": 1}

    where.tell(story)


def test_left_over_work_goes_on_and_may_fail(where: Where) -> None:
    """RS-6."""

    async def story(place: Place) -> None:
        stub = place.get(Diary, "d")
        await stub.leave()
        assert place.stored(Diary, "d") == {}
        assert not place.evict(Diary, "d")
        await until(lambda: place.stored(Diary, "d") == {"left": 1})
        assert await stub.note("still here") == ["still here"]

    where.tell(story)


def test_a_worker_answers_for_objects(where: Where) -> None:
    """By its table; each request has one of its own."""

    async def story(place: Place) -> None:
        door = place.worker(Door)
        asked = [("POST", "/d/one"), ("POST", "/d/two"), ("GET", "/d/two"), ("POST", "/nowhere")]
        answers = [await door.fetch(WebRequest(*each)) for each in asked]
        assert [answer.status for answer in answers] == [200, 200, 405, 404]
        assert answers[1].body == ["one", "two"]

    where.tell(story)


def test_an_alarm_rings_and_is_gone(where: Where) -> None:
    """Once, if its handler succeeds."""

    async def story(place: Place) -> None:
        bell = place.get(Bell, "b")
        await bell.set(0.3)
        assert await bell.alarm_time()
        await until_told(lambda: has_tried(bell, [0]))
        assert not await bell.alarm_time()

    where.tell(story)


def test_an_alarm_that_fails_is_tried_again(where: Where) -> None:
    """After 2 to 2.5 s, with its count (AL-7); it stays set meanwhile."""

    async def story(place: Place) -> None:
        bell = place.get(Bell, "b")
        await bell.set(0.0, failures=1)
        began = trio.current_time()
        await until_told(lambda: has_tried(bell, [0]))
        assert await bell.alarm_time()
        await until_told(lambda: has_tried(bell, [0, 1]))
        assert trio.current_time() - began >= 2
        assert not await bell.alarm_time()

    where.tell(story)


def test_an_alarm_may_be_taken_back(where: Where) -> None:
    """By another time, too."""

    class Taking(Bell):
        async def take_back(self) -> None:
            """No alarm."""
            await self.storage.delete_alarm()

    async def story(place: Place) -> None:
        bell = place.get(Taking, "b")
        await bell.set(0.5)
        await bell.set(60)
        await trio.sleep(0.6)
        assert await bell.tries() == []
        await bell.set(0.5)
        await bell.take_back()
        await trio.sleep(0.6)
        assert await bell.tries() == []

    where.tell(story)


def test_a_gated_object_may_call_itself(where: Where) -> None:
    """While it waits, its own call enters as any other."""

    async def story(place: Place) -> None:
        assert await place.get(Diary, "d").call_self() == ["from myself"]

    where.tell(story)

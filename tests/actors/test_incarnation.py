"""One incarnation: its constructor, left-over work, resets, its end."""

from datetime import timedelta
from typing import Any

import pytest
import trio

from durasim.actors import AlarmInfo, DurableObject, ObjectReset
from durasim.sim import AmbiguousCommit, FailWrite, World

from .slow import together
from .stage import kinds, tell


class Failing(DurableObject):
    """Its constructor fails as often as it is told."""

    left = 0

    def __init__(self) -> None:
        if type(self).left:
            type(self).left -= 1
            self.storage.put("lost", 1)
            raise LookupError("not today")
        self.storage.put("made", 1)

    async def ping(self) -> str:
        """Answer."""
        return "pong"


def test_a_constructor_that_fails_takes_its_writes_and_its_callers_with_it() -> None:
    """LC-3, LC-4; the next request, on a new stub, constructs anew."""
    Failing.left = 1

    async def story(world: World) -> None:
        client = world.client("a")
        stub = client.get(Failing, "f")
        results = await together(stub.ping(), stub.ping())
        assert [type(result.error) for result in results] == [LookupError, LookupError]
        assert world.stored(Failing, "f") == {}
        assert await client.get(Failing, "f").ping() == "pong"
        assert world.stored(Failing, "f") == {"made": 1}

    assert tell(story).ok


def test_an_abort_in_the_constructor_ends_the_incarnation() -> None:
    """As any other reset."""

    class Aborting(DurableObject):
        def __init__(self) -> None:
            self.abort()

        async def ping(self) -> None:
            """Never reached."""

    async def story(world: World) -> None:
        with pytest.raises(ObjectReset, match="Application called abort"):
            await world.client("a").get(Aborting, "x").ping()

    assert tell(story).ok


class Leftover(DurableObject):
    """Leaves work behind."""

    async def start(self, *, fail: bool = False) -> str:
        """Reply at once; the work goes on."""

        async def work() -> None:
            await self.sleep(2)
            if fail:
                raise ValueError("nobody hears this")
            await self.storage.put("done", self.now().isoformat())

        self.wait_until(work)
        return "started"

    async def chance(self) -> list[Any]:
        """What it is given of chance and time."""
        return [self.uuid().version, 0 <= self.random() < 1, len(self.token_bytes(40))]


def test_left_over_work_goes_on_after_the_reply_and_may_fail() -> None:
    """RS-6; an object with left-over work is not idle (LC-8)."""

    async def story(world: World) -> None:
        left = world.client("a").get(Leftover, "l")
        assert await left.start() == "started"
        assert await left.start(fail=True) == "started"
        assert world.stored(Leftover, "l") == {}
        await trio.sleep(3)
        assert list(world.stored(Leftover, "l")) == ["done"]

    assert kinds(tell(story), "left-over failed") == ["left-over failed"]


def test_chance_is_drawn_from_the_host() -> None:
    """UUIDs, numbers and bytes."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Leftover, "l").chance() == [4, True, 40]

    assert tell(story).ok


def test_an_idle_object_is_evicted_after_ten_seconds_and_comes_back() -> None:
    """LC-7: memory is lost, storage stays, the stub keeps working."""

    class Memory(DurableObject):
        def __init__(self) -> None:
            self.count = 0

        async def count_up(self) -> int:
            self.count += 1
            return self.count

    async def story(world: World) -> None:
        memory = world.client("a").get(Memory, "m")
        assert [await memory.count_up(), await memory.count_up()] == [1, 2]
        await trio.sleep(11)
        assert await memory.count_up() == 1

    assert kinds(tell(story), "evict")[0] == "evict"


class Bell(DurableObject):
    """Notes when it rings."""

    async def wind(self) -> None:
        """Ring in a minute."""
        await self.storage.set_alarm(timedelta(seconds=60))

    async def alarm(self, info: AlarmInfo) -> None:
        """Note how often it was tried before."""
        ledger: Any = self.env["ledger"]
        ledger.note("rang", info.retry_count)


@pytest.mark.parametrize(
    ("fault", "option", "rings"), [(AmbiguousCommit, "ambiguous", 1), (FailWrite, "fails", 0)]
)
def test_what_is_stored_rings_though_nobody_could_say(
    fault: type[AmbiguousCommit | FailWrite], option: str, rings: int
) -> None:
    """An alarm whose commit is said to have failed rings if, and only if, it is stored."""

    async def story(world: World) -> None:
        with pytest.raises(ObjectReset):
            await world.client("a").get(Bell, "b").wind()
        await trio.sleep(120)
        assert world.ledger.count("rang") == rings

    assert tell(story, ("commit 1 of Bell/b in wind", option), faults=[fault()]).ok


def test_an_alarm_that_is_done_is_not_tried_again_though_nobody_could_say() -> None:
    """Its deletion is stored: what rang is over."""

    async def story(world: World) -> None:
        await world.client("a").get(Bell, "b").wind()
        await trio.sleep(600)
        assert world.ledger.count("rang") == 1

    deviation = ("commit 1 of Bell/b in alarm", "ambiguous")
    assert tell(story, deviation, faults=[AmbiguousCommit()]).ok

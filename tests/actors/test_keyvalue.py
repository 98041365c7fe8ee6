"""Keys that are no text, and alarms that are no time, are refused before a store sees them."""

from datetime import timedelta
from typing import Any

import pytest

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import World

from .stage import tell

CALLS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("get", (...,), {}),
    ("get_many", ([...],), {}),
    ("delete", (...,), {}),
    ("delete_many", ([...],), {}),
    ("put", (..., 1), {}),
    ("list", (), {"start": ...}),
    ("list", (), {"start_after": ...}),
    ("list", (), {"end": ...}),
    ("list", (), {"prefix": ...}),
)
"""Every operation with a key, which ... stands for."""


class Shelf(DurableObject):
    """Keeps one thing."""

    async def try_all(self, key: object) -> list[str]:
        """Return what each operation says of *key*."""
        self.storage.kv.put("é", 1)
        said: list[str] = []
        for name, arguments, bounds in CALLS:
            given = [[key] if each == [...] else key if each is ... else each for each in arguments]
            with pytest.raises((TypeError, ValueError)) as raised:
                getattr(self.storage, name)(*given, **dict.fromkeys(bounds, key))
            said.append(f"{type(raised.value).__name__}: {raised.value}")
        assert await self.storage.get_many(["é"]) == await self.storage.list(start="é") == {"é": 1}
        return said

    async def wake_late(self) -> None:
        """Set an alarm that no calendar knows."""
        with pytest.raises(ValueError, match="after the year 9999: no alarm was set"):
            self.storage.set_alarm(timedelta.max)
        assert await self.storage.get_alarm() is None

    async def alarm(self, info: AlarmInfo) -> None:
        """Never ring."""
        raise AssertionError(info)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (5, "TypeError: a key is a str, not int: nothing was "),
        (("a",), "TypeError: a key is a str, not tuple: nothing was "),
        ("surrogate", "ValueError: the key '\\ud800' is no text: nothing was "),
    ],
)
def test_a_key_that_is_no_text_is_refused_by_every_operation(key: object, said: str) -> None:
    """A store would order it, call its file damaged, or find nothing, each in its own way."""

    class Asked(Shelf):
        async def ask(self) -> list[str]:
            return await self.try_all("\ud800" if key == "surrogate" else key)

    async def story(world: World) -> None:
        answers = await world.client("a").get(Asked, "s").ask()
        assert {each.rpartition(" ")[0] + " " for each in answers} == {said}
        assert [each.rpartition(" ")[2] for each in answers] == [
            "read", "read", "deleted", "deleted", "written", "read", "read", "read", "read",
        ]  # fmt: skip

    assert tell(story).ok


def test_an_alarm_after_the_last_year_is_refused() -> None:
    """It could be stored nowhere, and be told to nobody."""

    async def story(world: World) -> None:
        await world.client("a").get(Shelf, "s").wake_late()

    assert tell(story).ok

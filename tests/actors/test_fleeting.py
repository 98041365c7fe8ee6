"""Objects that keep nothing: everything is gone with the incarnation."""

import pytest

from durasim.actors import AlarmInfo, Commit, DurableObject, ObjectReset
from durasim.actors.fleeting import FleetingStore
from durasim.sim import World

from .stage import tell


class Scratch(DurableObject, durable=False):
    """Keeps notes in memory only."""

    async def note(self, key: str, value: int) -> dict[str, int]:
        """Write, and return all notes."""
        await self.storage.put(key, value)
        return await self.storage.list()

    async def alarm(self, info: AlarmInfo) -> None:
        """Nothing to do."""

    async def leave(self) -> None:
        """Reset."""
        self.abort()


def test_a_fleeting_object_forgets_everything_at_a_reset() -> None:
    """Nothing of it ever reaches the disk."""

    async def story(world: World) -> None:
        client = world.client("a")
        scratch = client.get(Scratch, "s")
        await scratch.note("a", 1)
        assert await scratch.note("b", 2) == {"a": 1, "b": 2}
        with pytest.raises(ObjectReset):
            await scratch.leave()
        assert await client.get(Scratch, "s").note("c", 3) == {"c": 3}
        assert world.stored(Scratch, "s") == {}

    assert tell(story).ok


def test_its_store_applies_commits_at_once() -> None:
    """Writes, deletions, the alarm, and clearing all."""
    store = FleetingStore()
    told: list[Exception | None] = []
    store.commit(Commit(1, {"a": b"1", "b": b"2"}, 5), told.append)
    store.commit(Commit(2, {"a": None, "z": None}), told.append)
    assert (store.get("a"), store.get("b"), store.alarm()) == (None, b"2", 5)
    store.commit(Commit(3, {"c": b"3"}, clears=True), told.append)

    assert list(store.scan(None, None, reverse=False)) == [("c", b"3")]
    assert store.alarm() is None
    assert told == [None, None, None]
    store.close()
    assert store.get("c") is None

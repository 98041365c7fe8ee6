"""What a member keeps of its threads."""

from typing import Any

from durasim.actors import DurableObject
from durasim.actors.fleet.owners import Owner
from durasim.actors.fleet.workspaces import Workspaces
from durasim.sim import World

from .told import told

ANN = Owner("r1", 1, 1)


class Keeper(DurableObject):
    """Has threads."""

    async def live(self) -> list[Any]:
        """Go through the life of a thread."""
        rows = Workspaces(self.storage)
        found: list[Any] = [rows.is_evicted("t1"), rows.workspace("t1"), rows.threads()]
        rows.register("t1", ANN, "ann", 5)
        found += [rows.registration("t1", 6).owner == ANN, rows.accepted("t1"), rows.registered()]
        rows.set_deadline("t1", 9)
        found.append(self.storage.kv.get("reg:t1"))
        rows.release("t1")
        found += [rows.registered(), rows.accepted("t1"), rows.last_owner("t1"), rows.threads()]
        rows.release("t2")
        found.append(rows.threads())
        found += [rows.remove("t1"), rows.is_evicted("t1"), rows.workspace("t1")]
        rows.register("t1", ANN, "ann", 7)
        found += [rows.remove("t1"), rows.workspace("t1"), rows.registered()]
        return found


def test_a_thread_is_registered_released_and_evicted() -> None:
    """A release forgets the owner in all three rows; no workspace has the name of a removed one."""

    async def story(world: World) -> None:
        found = await world.client("test").get(Keeper, "one").live()
        assert found[:3] == [True, "t1", []]
        assert found[3:6] == [True, ANN.wire(), ["t1"]]
        assert found[6] == {"thread": "t1", "registeredAt": 5, "deadlineAt": 9, **ANN.wire()}
        assert found[7:11] == [[], None, None, ["t1"]]
        assert found[11] == ["t1"]
        assert found[12:] == ["t1", True, "t1#1", "t1#1", "t1#2", []]

    assert told(story).ok

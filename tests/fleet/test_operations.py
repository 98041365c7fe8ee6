"""What runs on a member, and what became of what it has submitted."""

from typing import Any

from durasim.actors import DurableObject
from durasim.actors.fleet.operations import InFlight, NativeRows
from durasim.sim import World

from .told import told


def test_operations_are_counted_while_they_run() -> None:
    """By thread, with steps apart, and also when one of them fails."""
    flight = InFlight()
    with flight.on("t1"), flight.on("t1"), flight.step():
        assert (flight.count(), flight.threads()) == (3, ["t1"])
        assert flight.is_on("t1")
        assert flight.others_on("t1")
        assert not flight.others_on("t2")
    try:
        with flight.on("t1"):
            raise ValueError("on purpose")
    except ValueError:
        assert flight.count() == 0
    assert flight.begun_on("t1") == 3
    assert not flight.is_on("t1")


class Submitter(DurableObject):
    """Has native rows."""

    async def live(self) -> list[Any]:
        """Go through the life of some rows."""
        rows = NativeRows(self.storage)
        rows.submitted("o1", "p1", "t1", 5)
        found: list[Any] = [rows.is_open_on("t1"), rows.is_open_on("t2")]
        found += [rows.note("o1", "unknown"), rows.is_open_on("t1")]
        found += [rows.note("o1", "completed"), rows.is_open_on("t1")]
        found += [rows.note("o1", "unknown"), rows.note("o2", "completed")]
        rows.submitted("o3", "p3", "t1", 6)
        rows.withdrawn("o3")
        found.append(rows.is_open_on("t1"))
        self.storage.kv.put("native:o4", "rubbish")
        found.append(rows.is_open_on("t2"))
        return [found, self.storage.kv.get("native:o1")]


def test_a_native_outcome_is_what_was_told_of_it() -> None:
    """Completed is the last word; what is unknown or unreadable counts as open."""

    async def story(world: World) -> None:
        found, row = await world.client("test").get(Submitter, "one").live()
        assert found == [True, False, True, True, True, False, False, False, False, True]
        assert row == {
            "opId": "o1",
            "permitId": "p1",
            "thread": "t1",
            "submittedAt": 5,
            "outcome": "completed",
        }

    assert told(story).ok

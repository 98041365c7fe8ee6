"""What may be read of the fleet."""

from typing import Any

from durasim.actors.fleet.fleet_reads import standing
from durasim.actors.fleet.registry import Registry
from durasim.sim import World

from .told import told
from .whole import attach, code_of, drained, fenced, granted, whole_fleet


def test_residents_shows_every_member_and_the_drain_and_changes_nothing() -> None:
    """Retained and live registrations count as in flight."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await attach(fleet)
        before = dict(fleet.log.registry)
        said = granted(await fleet.ask("r", "GET", "/residents", scope="read"))
        assert said["count"] == len(said["residents"]) == 2
        assert [view["live"]["runsInFlight"] for view in said["residents"]] == [1, 0]
        assert said["draining"] is said["maintenance"] is said["riskWindow"] is None
        assert said["deployDiagnostic"]["fence"] == {"status": "absent"}
        assert fleet.log.registry == before

    assert told(story).ok


def test_residents_names_the_fence_that_stands() -> None:
    """As the drain was read."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await drained(fleet)
        verdict = await fenced(fleet)
        said = granted(await fleet.ask("r", "GET", "/residents", scope="read"))
        fence_id = verdict["draining"]["fenceId"]
        assert said["draining"]["fenceId"] == fence_id
        assert said["deployDiagnostic"]["fence"] == {"status": "standing", "fenceId": fence_id}

    assert told(story).ok


def test_an_unreadable_registry_is_no_answer() -> None:
    """No list is invented."""

    class Forgetful(Registry, name="Registry"):
        async def list_members(self) -> list[Any]:
            raise RuntimeError("unreadable")

    async def story(world: World) -> None:
        fleet = whole_fleet(world, registry=Forgetful)
        assert code_of(await fleet.ask("r", "GET", "/residents", scope="read")) == "?"

    assert told(story).ok


def test_a_drain_without_a_fence_has_none_standing() -> None:
    """Absent is a fact, as standing is."""
    assert standing(None)[1].status == "absent"
    assert standing({"swapFence": False})[0] is None
    assert standing({"swapFence": True, "fenceId": "f"})[0] == "f"

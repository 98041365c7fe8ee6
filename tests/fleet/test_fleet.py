"""A fleet in a world: what runs where, and what an upload changes over."""

from durasim.actors.fleet import Granted, Refused
from durasim.sim import World
from durasim.sim.fleet.fleet import BEARERS

from .small import NEW, OLD, small_fleet
from .told import told


def test_a_router_says_the_version_that_runs() -> None:
    """An upload changes its build, version and time; a rollback is one more version."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        first = await fleet.ask("ann", "GET", "/healthz")
        assert isinstance(first, Granted)
        uploaded = fleet.upload(fleet.artifact(NEW))
        second = await fleet.ask("ann", "GET", "/healthz")
        assert isinstance(second, Granted)
        assert second.value["version"] == uploaded.id != first.value["version"]
        assert second.value["at"] == uploaded.at
        assert second.value["build"] != first.value["build"]
        fleet.upload(fleet.artifact(OLD))
        assert fleet.code is OLD

    assert told(story).ok


def test_an_upload_to_some_machines_leaves_the_others_old() -> None:
    """A swap is not one moment: levels are those of the machines."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        fleet.upload(fleet.artifact(NEW), machines=["members-1", "members-2"])
        assert fleet.log.level_of("Resident/repo:o/a") == 5
        assert fleet.log.level_of("Registry/registry") == 4
        assert fleet.log.level_of("FleetRouter") == 4

    assert told(story).ok


def test_every_member_is_there_active_and_warm() -> None:
    """The Registry has its row, the member its state, the ground its container."""

    async def story(world: World) -> None:
        fleet = small_fleet(world, resources=("repo:o/a", "repo:o/b", "repo:o/c"))
        rows = fleet.log.rows("resident:")
        assert {r["physicalMember"] for r in rows.values()} == {"member-1", "member-2", "member-3"}
        assert {r["activation"] for r in rows.values()} == {"active"}
        assert fleet.log.resident("repo:o/c")["state"] == "warm"
        assert set(fleet.ground.containers) == set(fleet.members.values())

    assert told(story).ok


def test_what_is_not_there_is_refused() -> None:
    """The answer of the table is a certain no."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        assert await fleet.ask("ann", "POST", "/none", {}, scope="admin") == Refused("NOT_FOUND")

    assert told(story).ok


def test_every_scope_has_a_credential_of_its_own() -> None:
    """A token covers one scope."""
    assert len({BEARERS.admin, BEARERS.drain, BEARERS.read, BEARERS.operator}) == 4

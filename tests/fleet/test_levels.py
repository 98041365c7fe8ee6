"""The levels of the fleet's Worker: what each has and has not."""

from typing import Any

import pytest

from durasim.actors.fleet import Granted, Refused
from durasim.sim import World
from durasim.sim.fleet.acting import Run, begun, deploy, ended
from durasim.sim.fleet.fleet import CodeLevel
from durasim.sim.fleet.levels import L0, L1, L2, L3, L4, L5, LEVELS, set_fleet
from durasim.sim.fleet.old_registry import old_drain

from .told import told


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: f"L{level.number}")
def test_a_fleet_of_any_level_serves_a_run(level: CodeLevel) -> None:
    """Attach, work, end: with permits of the level's own kind, all of which end."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        run = Run("run-1", "t")
        assert isinstance(await begun(fleet, run, work="write save"), Granted)
        await ended(fleet, run)
        assert not fleet.log.permits
        assert fleet.log.resident("repo:o/a")["reg:t"]["runId"] == "run-1"

    result = told(story)
    assert result.ok, result.failures


def test_older_levels_lack_the_routes_of_newer_ones() -> None:
    """An older side answers that there is no such thing."""
    routes = {level.number: {route.path for route in level.router.routes} for level in LEVELS}
    assert "/deploy-fence" not in routes[0]
    assert "/deploy-fence" in routes[1]
    assert "/recover-quoted-admission" not in routes[2]
    assert "/recover-quoted-admission" in routes[3]
    assert "begin_keyed" not in L1.registry.methods
    assert "begin_keyed" in L2.registry.methods
    assert "recover_quoted" not in L2.registry.methods
    assert "recover_quoted" in L3.registry.methods
    assert "set_fence" not in L0.registry.methods


def test_every_level_keeps_the_stored_names() -> None:
    """The same objects, whatever code runs them."""
    for level in LEVELS:
        assert level.registry.stored_name == L5.registry.stored_name == "Registry"
        assert level.resident.stored_name == L5.resident.stored_name == "Resident"
        assert level.router.stored_name == L5.router.stored_name == "FleetRouter"
    assert L4.number == 4


def test_an_old_drain_names_nothing() -> None:
    """Neither the drain nor its fence nor its holds have an id of their own."""
    row: dict[str, Any] = {
        "drainId": "d", "since": 1, "until": 2, "by": "", "reason": "", "swapFence": True,
        "swapVersion": "v", "fenceId": "f", "owner": {}, "holds": [{"resource": "r", "token": "t"}],
    }  # fmt: skip
    assert old_drain(row) == {
        "since": 1, "until": 2, "by": "", "reason": "", "swapFence": True, "swapVersion": "v",
        "holds": [{"resource": "r"}],
    }  # fmt: skip


def test_a_deploy_of_the_newest_level_gets_through() -> None:
    """Drain, quiet read, upload, target, lift."""

    async def story(world: World) -> None:
        fleet = set_fleet(world)
        report = await deploy(fleet, fleet.artifact(image="image:2")).report()
        assert (report["outcome"], report["target"]["image"]) == ("ready", "image:2")
        assert fleet.log.drain is None

    result = told(story)
    assert result.ok, result.failures


def test_a_refusal_of_the_old_inventory_names_no_hash() -> None:
    """An old producer ignores the query."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L1)
        answer = await fleet.ask(
            "op", "GET", "/deploy-admissions", scope="admin", query={"id": "x"}
        )
        assert isinstance(answer, Granted)
        assert answer.value == {"ok": True, "admissions": []}
        asked = {"id": "x"}
        refused = await fleet.ask("op", "POST", "/recover-quoted-admission", asked, scope="admin")
        assert isinstance(refused, Refused)

    result = told(story)
    assert result.ok, result.failures

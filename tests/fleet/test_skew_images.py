"""Reconcile caller, producer and member of different levels (H.5): a test for each cell."""

from typing import Any

from durasim.actors.fleet import Granted, Outcome, Refused
from durasim.sim import World
from durasim.sim.fleet.acting import begun, deploy
from durasim.sim.fleet.fleet import CodeLevel, Fleet
from durasim.sim.fleet.levels import L1, L2, L3, L4, L5, set_fleet
from durasim.sim.fleet.plane import APPLICATION

from .skew import RUN, drained, every, holds

COMMIT = "0" * 39 + "1"
MEMBER = "repo:o/a"


def order(fleet: Fleet) -> dict[str, Any]:
    """Return a whole order for the newest build and the application as it is."""
    stamp = fleet.ground.versions[-1].artifact.stamp
    target = fleet.ground.application(APPLICATION).wire()
    build = {"build": stamp.artifact_id, "commit": stamp.commit}
    return {"protocol": 2, **build, "target": target}


async def reconciled(fleet: Fleet, body: dict[str, Any]) -> Outcome[Any]:
    """Return how a reconcile ended."""
    return await fleet.ask("runner", "POST", "/reconcile", body, scope="drain")


async def rows_of(fleet: Fleet) -> dict[str, Any]:
    """Reconcile, and return what each member said."""
    said = await reconciled(fleet, order(fleet))
    assert isinstance(said, Granted), said
    return {row["resource"]: row for row in said.value["reconciled"]}


def test_an_old_runner_is_incompatible_with_the_new_producer() -> None:
    """Without a target nothing is started, and no older path is taken."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        said = await reconciled(fleet, {"build": COMMIT})
        assert isinstance(said, Refused)
        assert said.code == "RECONCILE_CALLER_INCOMPATIBLE"
        assert not fleet.log.permits
        assert "image:progress" not in fleet.log.resident(MEMBER)

    holds(story)


@every(L1, L2, L3, L4)
def test_a_new_runner_is_not_ready_on_an_old_producer(level: CodeLevel) -> None:
    """Its reply has no target: not ready at the deadline, and nothing else is tried."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        report = await deploy(fleet, fleet.artifact(level, image="image:2")).report()
        assert (report["outcome"], report["code"]) == ("failed", "READBACK_MISMATCH"), report

    holds(story)


@every(L1, L4)
def test_a_member_that_still_runs_old_code_is_not_verified(level: CodeLevel) -> None:
    """Its row lacks build and target."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, "repo:o/a", "repo:o/b", level=level, machines=2)
        old = fleet.machine_of("repo:o/b").name
        new = [name for name in fleet.machines if name != old]
        assert fleet.machine_of("repo:o/a").name != old
        await begun(fleet, RUN)
        uploaded = fleet.upload(fleet.artifact(L5), machines=new)
        stamp = uploaded.artifact.stamp
        body = {**order(fleet), "build": stamp.artifact_id, "commit": stamp.commit}
        said = await reconciled(fleet, body)
        assert isinstance(said, Granted), said
        rows = {row["resource"]: row for row in said.value["reconciled"]}
        assert (rows["repo:o/a"]["build"], rows["repo:o/a"]["target"]) == (
            stamp.artifact_id,
            body["target"],
        )
        assert rows["repo:o/b"]["verified"] is False
        assert (rows["repo:o/b"]["build"], rows["repo:o/b"]["target"]) == (None, None)

    holds(story)


def test_legacy_completed_progress_starts_anew() -> None:
    """It never yields verified by itself: a report for exactly this pair comes first."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        legacy = {"build": COMMIT, "cycleIssued": True}
        fleet.store("Resident", MEMBER, {"image:progress": legacy})
        await begun(fleet, RUN)
        rows = await rows_of(fleet)
        assert (rows[MEMBER]["result"], rows[MEMBER]["verified"]) == ("deferred", False)
        progress = fleet.log.resident(MEMBER)["image:progress"]
        assert progress["target"] == order(fleet)["target"]
        assert "image:pending" in fleet.log.resident(MEMBER)

    holds(story)


def test_a_legacy_debt_is_a_conflict_until_its_own_report() -> None:
    """PENDING_WITHOUT_TARGET, nothing written; a new boot reports, and then it starts."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        legacy = {
            "image:progress": {"build": COMMIT, "cycleIssued": False},
            "image:pending": {"resource": MEMBER},
        }
        fleet.store("Resident", MEMBER, legacy)
        rows = await rows_of(fleet)
        assert (rows[MEMBER]["result"], rows[MEMBER]["code"]) == ("error", "PENDING_WITHOUT_TARGET")
        stored = fleet.log.resident(MEMBER)
        assert {key: stored[key] for key in legacy} == legacy
        origin = {"actor": "engine", "request": "refresh"}
        await fleet.resident("engine", MEMBER).refresh(origin)
        assert "image:pending" not in fleet.log.resident(MEMBER)
        rows = await rows_of(fleet)
        assert rows[MEMBER]["result"] in ("restarted", "deferred")
        assert fleet.log.resident(MEMBER)["image:progress"]["target"] == order(fleet)["target"]

    holds(story)


def test_after_a_rollback_old_code_decides_for_itself() -> None:
    """It sees another build than its own, and begins a cycle: outside of the contract."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        rows = await rows_of(fleet)
        assert rows[MEMBER]["verified"] is True
        fleet.upload(fleet.artifact(L4))
        await drained(fleet)
        said = await reconciled(fleet, {"build": COMMIT})
        assert isinstance(said, Granted), said
        assert "target" not in said.value
        progress = fleet.log.resident(MEMBER)["image:progress"]
        assert progress == {"build": COMMIT, "cycleIssued": False}

    holds(story)

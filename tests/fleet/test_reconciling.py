"""`POST /reconcile`: what it takes, whom it asks, and who is held from outside."""

from typing import Any

import attrs
import pytest

from durasim.actors.fleet import ImageTarget
from durasim.actors.fleet.codes import FleetRefused
from durasim.actors.fleet.reconciling import ReconcileOrder, reports_of, row_of
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.resident import Resident
from durasim.sim import World

from .told import told
from .whole import MEMBER, asked, code_of, drained, granted, order_of, target_of, whole_fleet

WHOLE: dict[str, Any] = {
    "protocol": 2,
    "build": "b",
    "commit": "c" * 40,
    "target": {"application": "pool", "version": 0, "image": "i"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": 1},
        {"protocol": None},
        {"build": ""},
        {"build": 3},
        {"commit": "c" * 39},
        {"target": None},
        {"target": {"application": "pool", "version": -1, "image": "i"}},
        {"target": {"application": "pool", "image": "i"}},
    ],
)
def test_nothing_starts_without_a_complete_build_and_target(change: dict[str, Any]) -> None:
    """There is no older behaviour to fall back to (G102)."""
    assert ReconcileOrder.parse(WHOLE).target == ImageTarget("pool", 0, "i")
    with pytest.raises(FleetRefused) as no:
        ReconcileOrder.parse({**WHOLE, **change})
    assert no.value.code == "RECONCILE_CALLER_INCOMPATIBLE"


def test_a_row_says_which_member_and_only_what_it_said() -> None:
    """Verified is true or it is not; a code is there only if there was one."""
    member = {"resource": "a", "physicalMember": "m", "activation": "active"}
    row = row_of(member, {"result": "current", "verified": True, "build": "b", "code": None})

    assert row == {
        "resource": "a",
        "physicalMember": "m",
        "result": "current",
        "verified": True,
        "build": "b",
        "target": None,
    }
    odd = row_of(member, {"result": "error", "verified": "yes", "code": "FENCED"})
    assert (odd["verified"], odd["code"]) == (False, "FENCED")


def test_reports_are_compared_by_the_clock_of_the_registry() -> None:
    """What makes no sense is no report."""
    assert reports_of(None) == {}
    assert reports_of({"reportedAt": {"a": 5, "b": "x"}}) == {"a": 5}


def test_members_come_to_a_target_and_are_then_verified() -> None:
    """The first answer says what was done, a later one that it is so."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        artifact = fleet.ground.versions[-1].artifact
        order = order_of(artifact, target_of(fleet))
        await fleet.resident("bot", MEMBER).refresh({"request": "1"})
        first = granted(await asked(fleet, "POST", "/reconcile", order))["reconciled"]
        assert [row["result"] for row in first] == ["restarted", "inactive"]
        await fleet.resident("bot", MEMBER).refresh({"request": "2"})
        again = granted(await asked(fleet, "POST", "/reconcile", order))
        assert (again["build"], again["target"]) == (order["build"], order["target"])
        assert [(r["result"], r["verified"]) for r in again["reconciled"]] == [
            ("current", True)
        ] * 2
        assert not fleet.log.permits

    assert told(story).ok


def test_another_build_and_a_fence_before_its_upload_are_refused() -> None:
    """No member is touched by either."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        artifact = fleet.ground.versions[-1].artifact
        order = order_of(artifact, target_of(fleet))
        other = {**order, "build": "another"}
        assert code_of(await asked(fleet, "POST", "/reconcile", other)) == "BUILD_MISMATCH"
        assert (
            code_of(await asked(fleet, "POST", "/reconcile", {**order, "commit": "f" * 40}))
            == "BUILD_MISMATCH"
        )
        await drained(fleet)
        granted(await fleet.ask("d", "POST", "/deploy-fence", {}, scope="drain"))
        assert code_of(await asked(fleet, "POST", "/reconcile", order)) == "RECONCILE_BEFORE_UPLOAD"
        assert not any("image:progress" in rows for rows in fleet.log.residents.values())

    assert told(story).ok


class Silent(Resident, name="Resident"):
    """Does not answer a reconcile if it is the first."""

    async def reconcile_for_deploy(self, resource: str, build: str, target: Any) -> dict[str, Any]:
        """Fail, or not."""
        if resource == MEMBER:
            raise RuntimeError("unreachable")
        return await super().reconcile_for_deploy(resource, build, target)


class Refusing(Resident, name="Resident"):
    """Answers with rubbish if it is the first, and refuses otherwise."""

    async def reconcile_for_deploy(self, resource: str, build: str, target: Any) -> dict[str, Any]:
        """Refuse, or worse."""
        del build
        if resource == MEMBER:
            return {"result": "whatever"}
        return await super().reconcile_for_deploy(resource, "", target)


@pytest.mark.parametrize(("resident", "held"), [(Silent, 1), (Refusing, 2)])
def test_a_member_that_did_not_answer_keeps_the_drain(resident: type[Resident], held: int) -> None:
    """Only a member whose call failed is held from outside, without a token."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world, resident=resident)
        await drained(fleet)
        order = order_of(fleet.ground.versions[-1].artifact, target_of(fleet))
        rows = granted(await fleet.ask("d", "POST", "/reconcile", order, scope="drain"))
        assert rows["reconciled"][0]["result"] == "error"
        assert not rows["reconciled"][0]["verified"]
        drain = await fleet.registry("a").draining()
        assert [hold["token"] for hold in drain["holds"]] == [None] * held

    assert told(story).ok


def test_a_member_that_has_reported_since_is_not_held_again() -> None:
    """The instants are all the Registry's own (G93)."""

    class Reporting(Resident, name="Resident"):
        async def reconcile_for_deploy(self, resource: str, build: str, target: Any) -> Any:
            del build, target
            await self.objects.get(Registry, "registry").report_image_current(resource, None)
            raise RuntimeError("the reply is lost")

    async def story(world: World) -> None:
        fleet = whole_fleet(world, resident=Reporting)
        await drained(fleet)
        order = order_of(fleet.ground.versions[-1].artifact, target_of(fleet))
        granted(await fleet.ask("d", "POST", "/reconcile", order, scope="drain"))
        assert "holds" not in await fleet.registry("a").draining()

    assert told(story).ok


def test_an_unreadable_registry_touches_no_member() -> None:
    """The permit is ended all the same."""

    class Forgetful(Registry, name="Registry"):
        async def list_members(self) -> list[Any]:
            raise RuntimeError("unreadable")

    async def story(world: World) -> None:
        fleet = whole_fleet(world, registry=Forgetful)
        order = order_of(fleet.ground.versions[-1].artifact, target_of(fleet))
        assert code_of(await fleet.ask("d", "POST", "/reconcile", order, scope="drain")) == "?"
        assert not fleet.log.permits

    assert told(story).ok


def test_orders_are_values() -> None:
    """Two orders are equal if all parts are."""
    order = ReconcileOrder.parse(WHOLE)

    assert attrs.evolve(order) == order != attrs.evolve(order, build="d")

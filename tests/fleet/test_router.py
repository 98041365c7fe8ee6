"""The routes of the fleet: who may ask what, and what the plain ones answer."""

import pytest

from durasim.actors import Route
from durasim.actors.fleet import Refused
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.router import FleetRouter, covers
from durasim.actors.fleet.wiring import Bearers, Scope
from durasim.sim import World
from durasim.sim.fleet.fleet import BEARERS

from .told import told
from .whole import code_of, drained, fenced, granted, whole_fleet

SCOPES: tuple[Scope, ...] = ("admin", "drain", "read", "operator")


def test_a_credential_covers_its_scope_and_an_admin_covers_all() -> None:
    """No other bearer, no bare token, no empty one is enough."""
    for scope in SCOPES:
        for bearer in SCOPES:
            token = f"Bearer {getattr(BEARERS, bearer)}"
            assert covers(BEARERS, scope, token) is (bearer in (scope, "admin"))
        assert not covers(BEARERS, scope, getattr(BEARERS, scope))
        assert not covers(BEARERS, scope, "")
    assert not covers(Bearers("", "", "", ""), "drain", "Bearer ")


@pytest.mark.parametrize("route", [r for r in FleetRouter.routes if r.scope])
def test_every_guarded_route_refuses_whoever_has_no_credential(route: Route) -> None:
    """The credential is looked at before anything else: nothing is read, nothing written."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        method, path = route.method, route.path
        assert code_of(await fleet.ask("eve", method, path, {})) == "UNAUTHORIZED"
        before = dict(fleet.log.registry)
        wrong: Scope = "read" if route.scope != "read" else "operator"
        assert code_of(await fleet.ask("eve", method, path, {}, scope=wrong)) == "UNAUTHORIZED"
        assert fleet.log.registry == before

    assert told(story).ok


def test_a_drain_is_asked_for_and_lifted() -> None:
    """Its bounds are refused and not cut; lifting twice does nothing the second time."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        odd = ({"minutes": 91}, {"minutes": 0}, {"minutes": None}, {"by": "x" * 81}, {"reason": 3})
        for body in odd:
            assert code_of(await fleet.ask("a", "POST", "/drain", body, scope="drain")) == (
                "BAD_REQUEST"
            )
        drain = (await drained(fleet, 30))["draining"]
        assert drain["until"] - drain["since"] == 30 * 60_000
        lift = [granted(await fleet.ask("a", "POST", "/undrain", {}, scope="drain"))["cleared"]]
        lift += [granted(await fleet.ask("a", "POST", "/undrain", {}, scope="admin"))["cleared"]]
        assert lift == [True, False]

    assert told(story).ok


def test_a_lift_may_name_its_drain() -> None:
    """Then no other one is lifted; a name that is none is refused."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        first = (await drained(fleet))["draining"]["drainId"]
        second = (await drained(fleet))["draining"]["drainId"]
        bodies = [{"drainId": first}, {"drainId": second}]
        said = [await fleet.ask("a", "POST", "/undrain", each, scope="drain") for each in bodies]
        assert [granted(each)["cleared"] for each in said] == [False, True]
        odd = await fleet.ask("a", "POST", "/undrain", {"drainId": 7}, scope="drain")
        assert code_of(odd) == "BAD_REQUEST"

    assert told(story).ok


def test_what_the_registry_refuses_the_router_refuses_by_the_same_code() -> None:
    """A second drain under a fence, and a lift by the Worker that set it."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await drained(fleet)
        await fenced(fleet)
        assert code_of(await fleet.ask("a", "POST", "/drain", {}, scope="drain")) == "DRAIN_FENCED"
        lift = await fleet.ask("a", "POST", "/undrain", {}, scope="drain")
        assert isinstance(lift, Refused)
        assert lift.code == "PRE_UPLOAD_WORKER"

    assert told(story).ok


def test_an_unanswered_registry_is_an_answer_without_our_body() -> None:
    """Whoever asked knows nothing then: no code, no document."""

    class Failing(Registry, name="Registry"):
        async def drain(self, minutes: int | None = None, by: str = "", reason: str = "") -> None:  # type: ignore[override]
            del minutes, by, reason
            raise RuntimeError("the disk is full")

    async def story(world: World) -> None:
        fleet = whole_fleet(world, registry=Failing)
        assert code_of(await fleet.ask("a", "POST", "/drain", {}, scope="drain")) == "?"

    assert told(story).ok


def test_health_needs_no_credential_and_touches_no_object() -> None:
    """It names the build, the Worker version and what the Worker can do, each for itself."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        said = granted(await fleet.ask("anyone", "GET", "/healthz"))
        stamp = fleet.ground.versions[-1].artifact.stamp
        assert said["build"] == stamp.wire()
        assert said["workerVersion"] == fleet.ground.versions[-1].id
        assert said["capabilities"] == ["fence", "keyed", "quoted", "target"]
        assert not fleet.machines["registry"].host.incarnations

    assert told(story).ok

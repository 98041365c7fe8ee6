"""Recovery tool and service of different levels (H.2): a test for each cell."""

from typing import Any

from durasim.actors.fleet import Granted, Outcome, Refused
from durasim.actors.fleet.operator import OperatorRecovery, Quote
from durasim.actors.fleet.permit_rows import record_sha
from durasim.sim import World
from durasim.sim.fleet.fleet import BEARERS, CodeLevel, Fleet
from durasim.sim.fleet.levels import L1, L2, L3, L4, L5, set_fleet

from .skew import (
    drained,
    every,
    holds,
    legacy_permit,
)


async def old_tool(fleet: Fleet, permit: str) -> Outcome[Any]:
    """Recover as the old tool does: by an id."""
    return await fleet.ask("admin", "POST", "/recover-admission", {"id": permit}, scope="admin")


async def new_tool(fleet: Fleet, permit: str, quote: Quote | None = None) -> Any:
    """Recover as the new tool does; returns its report."""
    tool = OperatorRecovery(BEARERS.admin, permit, f"https://evidence.example/{permit}", quote)
    await fleet.world.start(tool, "admin").ended()
    return tool.report


def quote_by_hand(fleet: Fleet, permit: str) -> Quote:
    """Return the quote of a row as somebody with the whole of it would make it."""
    row = fleet.log.permits[permit]
    return Quote(permit, row["startedAt"], record_sha(permit, row))


@every(L1, L2)
def test_the_old_tool_deletes_unchecked_at_old_services(level: CodeLevel) -> None:
    """The hazard that quoted recovery removes."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        assert isinstance(await old_tool(fleet, permit), Granted)
        assert not fleet.log.permits
        assert not fleet.log.rows("deploy:recovered:")

    holds(story)


@every(L3, L4, L5)
def test_the_old_tool_is_refused_by_new_services(level: CodeLevel) -> None:
    """LEGACY_RECOVERY_REFUSED, and the row is kept."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        said = await old_tool(fleet, permit)
        assert isinstance(said, Refused)
        assert said.code == "LEGACY_RECOVERY_REFUSED"
        assert permit in fleet.log.permits

    holds(story)


@every(L1, L2)
def test_the_new_tool_stops_at_old_services(level: CodeLevel) -> None:
    """The route is unknown, the row is kept, and nothing else is tried."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        await drained(fleet)
        report = await new_tool(fleet, permit, quote_by_hand(fleet, permit))
        assert (report.outcome, report.code) == ("refused", "NOT_FOUND")
        assert permit in fleet.log.permits

    holds(story)


@every(L1, L2)
def test_the_new_tool_finds_no_quote_in_an_old_inventory(level: CodeLevel) -> None:
    """An old service answers its compact list: there is no quote, so the tool stops."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        await drained(fleet)
        report = await new_tool(fleet, permit)
        assert report.outcome == "refused"
        assert permit in fleet.log.permits

    holds(story)


@every(L1, L2)
def test_a_new_router_is_refused_by_an_old_registry(level: CodeLevel) -> None:
    """Mixed in a swap: the method is unknown, no fence is left, the row is kept."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        await drained(fleet)
        fleet.upload(fleet.artifact(L5), machines=["router", "members-1", "members-2"])
        report = await new_tool(fleet, permit, quote_by_hand(fleet, permit))
        assert (report.outcome, report.code) == ("refused", "NOT_FOUND")
        assert fleet.log.fence is None
        assert permit in fleet.log.permits

    holds(story)


@every(L3, L4, L5)
def test_the_new_tool_recovers_at_new_services(level: CodeLevel) -> None:
    """The row goes, an audit comes, and the recovery's own fence is gone."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        await drained(fleet)
        report = await new_tool(fleet, permit)
        assert report.outcome == "recovered", report
        assert not fleet.log.permits
        audit = fleet.log.rows("deploy:recovered:")[permit]
        assert (audit["requestEnd"], audit["nativeOutcome"]) == ("operator-attested", "unverified")
        assert fleet.log.fence is None

    holds(story)


def test_after_a_rollback_audits_are_inert_rows() -> None:
    """Old code begins and ends under other ids, and has no route for a quote."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L3)
        permit = await legacy_permit(fleet)
        await drained(fleet)
        assert (await new_tool(fleet, permit)).outcome == "recovered"
        audits = fleet.log.rows("deploy:recovered:")
        fleet.upload(fleet.artifact(L1))
        other = await legacy_permit(fleet)
        assert other != permit
        assert (await new_tool(fleet, other)).outcome == "refused"
        await fleet.registry("old").end_deploy_admission(other)
        assert fleet.log.rows("deploy:recovered:") == audits

    holds(story)

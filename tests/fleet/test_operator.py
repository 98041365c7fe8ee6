"""The admin's tool: it quotes, sends once, and never falls back."""

from typing import Any

import attrs

from durasim.actors import WebRequest, WebResponse
from durasim.actors.fleet import FleetRouter, Granted, Refused, Uncertain
from durasim.actors.fleet.operator import (
    OperatorRecovery,
    Quote,
    RecoveryReport,
    quote_of,
    why_none,
)
from durasim.sim import World
from durasim.sim.fleet.fleet import BEARERS, Fleet

from .told import told
from .whole import CODE, STATE, drained, whole_fleet

PERMIT = "11111111-1111-4111-8111-111111111111"
LINK = "https://example.com/runs/1"
SHA = "a" * 64


async def recovered(fleet: Fleet, quote: Quote | None = None) -> RecoveryReport | None:
    """Leave a debt, and recover it by the tool."""
    producer = fleet.deployment(fleet.ground.versions[-1]).producer.wire()
    await fleet.registry("gone").begin_keyed(PERMIT, "b" * 64, "exec", producer)
    await drained(fleet)
    tool = OperatorRecovery(BEARERS.admin, PERMIT, LINK, quote)
    assert await fleet.world.start(tool, "admin").ended() == "done"
    return tool.report


def test_a_quote_is_taken_from_its_reply_or_there_is_none() -> None:
    """A list without quotes, another permit's quote, and half a quote are no quote (G58)."""
    quote = {"id": PERMIT, "startedAt": 5, "recordSha256": SHA}

    assert quote_of({"quote": quote}, PERMIT) == Quote(PERMIT, 5, SHA)
    assert quote_of({"admissions": [{"id": PERMIT, "startedAt": 5}]}, PERMIT) is None
    for change in ({"id": "q"}, {"startedAt": None}, {"recordSha256": "short"}):
        assert quote_of({"quote": {**quote, **change}}, PERMIT) is None


def test_the_tool_recovers_what_it_quoted() -> None:
    """One quote, one recovery."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        report = await recovered(fleet)
        assert report == RecoveryReport(outcome="recovered")
        assert not fleet.log.permits

    assert told(story).ok


def test_an_outdated_quote_is_refused_and_not_renewed() -> None:
    """The admin has to look again."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        report = await recovered(fleet, Quote(PERMIT, 5, SHA))
        assert report == RecoveryReport(outcome="refused", code="QUOTE_MISMATCH")
        assert PERMIT in fleet.log.permits

    assert told(story).ok


def old_router(answers: dict[str, Any]) -> type[FleetRouter]:
    """Return a router that answers some routes so."""

    class Old(FleetRouter, name="FleetRouter"):
        async def fetch(self, request: WebRequest) -> WebResponse:
            scripted = answers.get(request.path)
            return scripted or await super().fetch(request)

    return Old


def test_a_service_without_quotes_stops_the_tool() -> None:
    """It neither makes a quote itself nor asks the older route (G51, G58)."""

    async def story(world: World) -> None:
        compact = WebResponse(200, {"ok": True, "admissions": [{"id": PERMIT, "startedAt": 5}]})
        router = old_router({"/deploy-admissions": compact})
        fleet = Fleet(world, attrs.evolve(CODE, router=router), STATE)
        report = await recovered(fleet)
        assert report == RecoveryReport(outcome="refused", code="NOT_FOUND")
        assert PERMIT in fleet.log.permits

    assert told(story).ok


def test_a_lost_answer_is_unknown_and_is_looked_up_by_reading() -> None:
    """Nothing is sent a second time; what the inventory shows is told."""

    async def story(world: World) -> None:
        lost = WebResponse(502)
        router = old_router({"/recover-quoted-admission": lost})
        fleet = Fleet(world, attrs.evolve(CODE, router=router), STATE)
        report = await recovered(fleet)
        assert report is not None
        assert (report.outcome, report.code) == ("unknown", "RECOVERY_OUTCOME_UNKNOWN")
        assert report.seen is not None
        assert report.seen["quote"]["id"] == PERMIT

    assert told(story).ok


def test_an_answer_about_another_permit_is_not_known_to_be_this_one() -> None:
    """And one that cannot be looked up is told as that."""

    async def story(world: World) -> None:
        other = WebResponse(200, {"ok": True, "recovered": "another"})
        router = old_router({"/recover-quoted-admission": other})
        fleet = Fleet(world, attrs.evolve(CODE, router=router), STATE)
        report = await recovered(fleet)
        assert report == RecoveryReport(outcome="unknown")

    assert told(story).ok


def test_nothing_can_be_quoted_from_what_cannot_be_read() -> None:
    """The tool stops before it sends anything."""

    async def story(world: World) -> None:
        both = {
            "/deploy-admissions": WebResponse(502),
            "/recover-quoted-admission": WebResponse(502),
        }
        fleet = Fleet(world, attrs.evolve(CODE, router=old_router(both)), STATE)
        report = await recovered(fleet)
        assert report == RecoveryReport(outcome="refused", code="UNDELIVERED")
        tool = OperatorRecovery(BEARERS.admin, PERMIT, LINK, Quote(PERMIT, 5, SHA))
        await world.start(tool, "admin").ended()
        assert tool.report == RecoveryReport(outcome="unknown", code="RECOVERY_OUTCOME_UNKNOWN")

    assert told(story).ok


def test_why_there_is_no_quote_is_told() -> None:
    """No such permit, no such interface, no credential, no answer: four different things."""
    assert why_none(Granted({"quote": None, "admission": None})) == "ADMISSION_NOT_FOUND"
    assert why_none(Granted({"admissions": []})) == "NOT_FOUND"
    assert why_none(Refused("UNAUTHORIZED")) == "UNAUTHORIZED"
    assert why_none(Uncertain("lost")) == "UNDELIVERED"

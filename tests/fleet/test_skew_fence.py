"""Preflight and fence producer of different levels (H.3): a test for each cell."""

from typing import Any

import pytest

from durasim.actors import Program
from durasim.actors.fleet import Granted, Refused
from durasim.actors.fleet.preflight import NotReady, Verdict, preflight
from durasim.sim import World
from durasim.sim.fleet.acting import begun, ended
from durasim.sim.fleet.fleet import BEARERS, CodeLevel, Fleet
from durasim.sim.fleet.levels import L0, L1, L2, L3, L4, L5, LEVELS, set_fleet

from .skew import (
    RUN,
    drained,
    every,
    holds,
    legacy_permit,
)


class Asker(Program):
    """One fence preflight."""

    def __init__(self) -> None:
        self.found: Verdict | NotReady | None = None

    async def run(self) -> None:
        """Read the fence once."""
        self.found = await preflight(self, BEARERS.drain)


async def fence_preflight(fleet: Fleet) -> Any:
    """Return what the new consumer makes of the producer's reply."""
    asker = Asker()
    await fleet.world.start(asker, "preflight").ended()
    return asker.found


async def count_preflight(fleet: Fleet) -> bool:
    """Return whether the old consumer, which counts runs in flight, would upload."""
    said = await fleet.ask("old preflight", "GET", "/residents", scope="read")
    assert isinstance(said, Granted)
    views = said.value["residents"]
    return all(view["live"]["runsInFlight"] == view["live"]["inFlight"] == 0 for view in views)


@every(*LEVELS)
def test_the_old_count_refuses_too_much_and_never_too_little(level: CodeLevel) -> None:
    """A run that goes on is refused, and so is a workspace that is only retained."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        assert await count_preflight(fleet)
        await begun(fleet, RUN, work="write")
        assert not await count_preflight(fleet)
        await ended(fleet, RUN)
        assert not await count_preflight(fleet)

    holds(story)


def test_a_producer_without_a_fence_needs_a_separate_bootstrap() -> None:
    """FENCE_ENDPOINT_MISSING ends the deploy: there is no fallback to a count."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L0)
        await drained(fleet)
        found = await fence_preflight(fleet)
        assert isinstance(found, NotReady)
        assert (found.code, found.is_final) == ("FENCE_ENDPOINT_MISSING", True)

    holds(story)


def test_the_first_fence_answers_without_a_diagnostic() -> None:
    """Its version is that of the drain, and permits are counted as they lie there."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L1)
        await legacy_permit(fleet)
        await drained(fleet)
        said = await fleet.ask("runner", "POST", "/deploy-fence", {}, scope="drain")
        assert isinstance(said, Granted)
        assert "deployDiagnostic" not in said.value
        assert (said.value["fenceReady"], said.value["activeAdmissions"]) == (False, 1)
        assert fleet.log.fence is None

    holds(story)


@every(L1, L2, L3, L4, L5)
def test_the_fence_preflight_accepts_a_quiet_producer_of_any_level(level: CodeLevel) -> None:
    """Ready, by the version in the drain; a retained workspace keeps nobody waiting."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        await begun(fleet, RUN, work="write")
        await ended(fleet, RUN)
        await drained(fleet)
        found = await fence_preflight(fleet)
        assert isinstance(found, Verdict), found
        assert found.is_ready
        assert found.worker_version == fleet.ground.versions[-1].id

    holds(story)


@every(L2, L3, L4, L5)
@pytest.mark.parametrize("is_busy", [False, True])
def test_newer_producers_say_what_became_of_the_fence(level: CodeLevel, is_busy: bool) -> None:
    """The diagnostic names the producer, and the fence as the storage has it."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        if is_busy:
            await begun(fleet, RUN)
        await drained(fleet)
        said = await fleet.ask("runner", "POST", "/deploy-fence", {}, scope="drain")
        assert isinstance(said, Granted)
        diagnostic = said.value["deployDiagnostic"]
        assert diagnostic["producer"]["workerVersion"] == fleet.ground.versions[-1].id
        expected = "withdrawn" if is_busy else "standing"
        assert (diagnostic["fence"]["status"], diagnostic["readback"]) == (expected, "matched")
        assert (fleet.log.fence is None) is is_busy

    holds(story)


@every(*LEVELS)
def test_a_claim_finds_no_route_where_there_are_no_windows(level: CodeLevel) -> None:
    """The controller stops."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        said = await fleet.ask("controller", "POST", "/claim-window", {}, scope="drain")
        assert said == Refused("NOT_FOUND")

    holds(story)

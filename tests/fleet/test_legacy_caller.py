"""A stack on old code: its permit is named by the Registry and ends by that name alone."""

from typing import Any

from durasim.actors.fleet.legacy_caller import LegacyCaller
from durasim.actors.fleet.outcomes import Refused, Uncertain
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.requests import value_of
from durasim.sim import LoseReply, World

from .told import told
from .whole import whole_fleet


async def called(world: World, **rest: Any) -> Any:
    """Run one old stack to its end; returns how its work ended."""
    fleet = rest.pop("fleet")
    permits: list[Any] = []

    async def work(caller: LegacyCaller, permit: str) -> str:
        assert caller is program
        permits.append(dict(fleet.log.permits))
        if rest.get("fails"):
            raise ValueError("on purpose")
        return permit

    program = LegacyCaller(work)
    assert await world.start(program, "old").ended() == "done"
    return program.outcome, permits


def test_old_work_has_a_row_without_provenance_while_it_runs() -> None:
    """It is gone afterwards, also when the work fails, and leaves no receipt."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        outcome, (rows,) = await called(world, fleet=fleet)
        permit = value_of(outcome)
        assert set(rows) == {permit}
        assert "provenanceSha256" not in rows[permit]
        failed, _ = await called(world, fleet=fleet, fails=True)
        assert isinstance(failed, Uncertain)
        assert not fleet.log.permits
        assert not fleet.log.rows("deploy:receipt:")

    assert told(story).ok


def test_old_work_does_not_begin_under_a_fence() -> None:
    """The refusal goes on to whoever asked."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        registry = fleet.registry("ops")
        await registry.drain(60, "ops", "")
        worker = fleet.deployment(fleet.ground.versions[-1]).producer.wire()
        await registry.set_fence({"kind": "preflight", "ref": "x"}, worker, [])
        outcome, permits = await called(world, fleet=fleet)
        assert isinstance(outcome, Refused)
        assert (outcome.code, permits) == ("FENCED", [])

    assert told(story).ok


def test_an_old_begin_whose_answer_is_lost_is_debt() -> None:
    """Nobody can name the row, and no work is begun."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        outcome, permits = await called(world, fleet=fleet)
        assert isinstance(outcome, Uncertain)
        assert permits == []
        assert len(fleet.log.permits) == 1

    lost = ("reply 1 of Registry/registry.begin_deploy_admission to old", "lost")
    assert told(story, faults=(LoseReply(Registry),), deviations=(lost,)).ok

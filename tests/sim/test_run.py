"""One run: what it says, and how Ctrl-C ends it."""

import gc
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
import trio

from durasim.actors import DurableObject
from durasim.sim import Job, Ordinary, Recorded, RunResult, World, always, run_once, scenario
from durasim.sim.run import draw_parameters, run_jobs

from ..tidy import ROOT

PLACES = "constructor handler finally property scenario waiting yielding running between".split()


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt_ends_worlds_quietly(place: str) -> None:
    """Wherever Ctrl-C strikes, KeyboardInterrupt comes out once, with no noise, all put back."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.sim.endless", place],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )

    assert done.stderr == ""
    assert done.stdout == "interrupted, None before it\n"
    assert done.returncode == 0


def run(story: Callable[[World], Awaitable[None]]) -> RunResult:
    """Run *story* once, ordinarily."""
    return run_once(Job(scenario=scenario(name="story")(story), seed=1, source=Ordinary()))


def test_what_ends_the_process_ends_the_worlds() -> None:
    """SystemExit of a scenario comes out as it is, and garbage collection is as before."""
    was_on = gc.isenabled()

    async def story(world: World) -> None:
        del world
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        run(story)
    assert caught.value.code == 3
    assert gc.isenabled() == was_on


def test_an_error_of_the_scenario_is_a_failure_of_its_own_name() -> None:
    """A group of one is told as the one."""

    async def story(world: World) -> None:
        del world
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 1)
            raise LookupError("nothing here")

    (failure,) = run(story).failures

    assert failure.property == "scenario"
    assert failure.message.startswith("LookupError: nothing here")


def test_the_scenario_cleans_up_without_effects_when_the_world_is_over() -> None:
    """A deadlocked scenario is ended; what it then tries is refused and fails nothing."""
    refused: list[str] = []

    async def story(world: World) -> None:
        client = world.client("alice")
        try:
            await trio.sleep_forever()
        finally:
            ways: tuple[Callable[[], object], ...] = (
                lambda: world.client("bob"),
                lambda: client.get(DurableObject, "x"),
                lambda: world.machine("new"),
                lambda: world.ledger.note("paid"),
                world.end_faults,
            )
            for way in ways:
                with pytest.raises(BaseException, match="the world") as caught:
                    way()
                refused.append(type(caught.value).__name__)
            world.fail("too late", "it is over")
            with trio.CancelScope(shield=True):
                await trio.sleep(100)

    result = run(story)

    assert refused == ["IncarnationGone"] * 5
    assert [failure.property for failure in result.failures] == ["no deadlock"]
    assert result.virtual_seconds == 0


def test_properties_are_asked_before_anybody_is_killed() -> None:
    """At the end they see the world as it came to rest."""
    seen: list[bool] = []

    class Kept(DurableObject):
        async def hold(self) -> None:
            self.wait_until(trio.sleep_forever)

    @always
    def alive(world: World) -> None:
        seen.append(any(machine.host.incarnations for machine in world.machines.values()))

    @scenario(properties=(alive,))
    async def story(world: World) -> None:
        await world.client("alice").get(Kept, "k").hold()

    assert run_once(Job(scenario=story, seed=1, source=Ordinary())).ok
    assert seen == [True]


def test_parameters_are_drawn_by_seed_and_can_be_given() -> None:
    """Each value comes up, the same for the same seed."""

    @scenario(parameters={"clients": (2, 3, 5), "slow": (False, True)})
    async def story(world: World, clients: int, slow: bool) -> None:
        world.ledger.note("drawn", (clients, slow))

    drawn = [draw_parameters(story, seed) for seed in range(50)]

    assert drawn == [draw_parameters(story, seed) for seed in range(50)]
    assert {each["clients"] for each in drawn} == {2, 3, 5}
    assert {each["slow"] for each in drawn} == {False, True}
    given = {"clients": 7, "slow": True}
    result = run_once(Job(scenario=story, seed=1, source=Ordinary(), parameters=given))
    assert result.parameters == given
    assert ("drawn", "(7, True)") in {row.detail for row in result.rows}


def test_a_planned_choice_that_does_not_come_up_is_told() -> None:
    """An option that is not there is unknown, and nothing deviates."""

    async def story(world: World) -> None:
        del world
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 1)
            nursery.start_soon(trio.sleep, 1)

    told = scenario(name="story")(story)
    source = Recorded([("wake 1 of scenario", "sideways")])
    result = run_once(Job(scenario=told, seed=1, source=source))

    assert result.unknown == ("wake 1 of scenario",)
    assert result.deviations == ()


def test_many_jobs_share_one_trio_run_and_one_that_fails_spoils_none() -> None:
    """A world that breaks is followed by one that does not."""
    results: list[RunResult] = []

    async def breaks(world: World) -> None:
        world.kernel.ending.append(None)  # type: ignore[arg-type]
        await trio.sleep(1)

    async def holds(world: World) -> None:
        del world
        await trio.sleep(1)

    stories = [scenario(name="a")(breaks), scenario(name="b")(holds)] * 3

    def following(result: RunResult | None) -> Job | None:
        if result is not None:
            results.append(result)
        if len(results) == len(stories):
            return None
        return Job(scenario=stories[len(results)], seed=1, source=Ordinary())

    run_jobs(following)

    assert [result.ok for result in results] == [False, True] * 3
    assert {result.failures[0].property for result in results if not result.ok} == {"world"}

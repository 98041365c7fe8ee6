"""The fires of schedules as runs: started as their owner's, and found again."""

import pytest
import trio

from durasim.actors.runs import OPERATIONS, Operations, Schedules
from durasim.sim import World

from .stage import Stage, Topology, play, told

MINUTE_MS = 60_000


async def tick(stage: Stage) -> dict[str, int]:
    """Do one pass of whoever keeps time."""
    return await stage.world.client("cron").get(Operations, OPERATIONS).tick()


@pytest.mark.parametrize("topology", ["objects", "process"])
def test_a_fire_is_a_run_of_the_schedules_owner(topology: Topology) -> None:
    """Case 32: a pass behind a shut fence claims nothing, so that no fire is lost."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, "router").open()
        asked = {"workflowId": "order", "everyMs": MINUTE_MS, "input": {"n": 1}}
        status, made = told(await stage.send("POST", "/schedules", asked))
        assert status == 200, made
        await trio.sleep(61)
        stage.put_fence("draining")
        assert set((await tick(stage)).values()) == {0}
        stage.put_fence("open")
        assert (await tick(stage))["started"] == 1
        (run,) = stage.query("SELECT * FROM flowsafe_runs")
        assert '"requester": ["human", "ann"]' in run["body"]
        assert stage.executions() == 1
        assert (await tick(stage))["started"] == 0
        stage.world.database.prepare("UPDATE flowsafe_schedule_triggers SET state = 'deferred'")
        assert (await tick(stage))["started"] == 1
        assert stage.executions() == 1

    play(story)


@pytest.mark.parametrize("topology", ["objects", "process"])
def test_a_fire_of_a_deleted_schedule_goes_on(topology: Topology) -> None:
    """It was made before, for the owner that the schedule had."""

    async def another(*_args: object) -> bool:
        return False

    async def story(world: World) -> None:
        stage = await Stage(world, topology, "router").open()
        asked = {"workflowId": "order", "everyMs": MINUTE_MS, "input": {"n": 1}}
        _, made = told(await stage.send("POST", "/schedules", asked))
        await trio.sleep(61)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Schedules, "send", another)
            assert (await tick(stage))["claimed"] == 1
        assert (await stage.send("DELETE", f"/schedules/{made['id']}")).status == 200
        assert (await tick(stage))["started"] == 1
        (run,) = stage.query("SELECT * FROM flowsafe_runs")
        assert (run["status"], '"requester": ["human", "ann"]' in run["body"]) == ("success", True)

    play(story)

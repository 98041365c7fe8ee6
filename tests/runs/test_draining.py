"""The operator's sequence, step by step as `docs/runs.md` has it."""

from typing import Any

import pytest
import trio

from durasim.actors.runs import OPERATIONS, Operations, Services, Task
from durasim.sim import World

from .stage import ADMIN, Stage, Topology, play, told


async def do(services: Services, task: Task) -> None:
    """Do a background task."""
    assert services.deployment.tasks
    assert task.kind == "mail"


async def queue(services: Services) -> None:
    """Leave something for later."""
    await services.tasks.enqueue("mail-1", "mail", None)


async def outstanding(stage: Stage) -> dict[str, int]:
    """Return how much work each category still has, if any."""
    status, sweep = told(await stage.send("GET", "/admin/inventory", who=ADMIN))
    assert (status, sweep["empty"]) == (200, not any(work_in(sweep).values()))
    return {name: count for name, count in work_in(sweep).items() if count}


def work_in(sweep: Any) -> dict[str, int]:
    """Return how much each category of work has."""
    categories = sweep["categories"].items()
    return {name: each["count"] for name, each in categories if each["class"] == "work"}


@pytest.mark.parametrize("topology", ["objects", "process"])
def test_a_deployment_is_drained_locked_tried_and_opened(topology: Topology) -> None:
    """What is outstanding completes, nothing begins, one proof runs, and the refused key runs."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, "sealer", tasks={"mail": do}).open()
        operations = world.client("op").get(Operations, OPERATIONS)
        _, parked = await stage.start("k1", "ask")
        (approval,) = parked["approvals"]
        await stage.work(queue)
        before = {"runs": 1, "start-reservations": 1, "approvals": 1, "background-tasks": 1}
        assert await outstanding(stage) == before

        assert await stage.move("open", "draining") == 200
        status, body = await stage.start("k2")
        assert (status, body["reason"]["code"]) == (503, "EXECUTION_FENCED")
        assert await operations.work() == {"done": 1, "parked": 0, "again": 0, "failed": 0}
        path = f"/approvals/{approval['id']}/decision"
        assert (await stage.send("POST", path, {"decision": "approved"})).status == 200
        for _ in range(2):
            assert await outstanding(stage) == {"start-reservations": 1}
            await trio.sleep(61)
        row = stage.row("k2")
        assert row is not None
        assert row["state"] == "reserved"

        assert await stage.move("draining", "migration-locked") == 200
        assert (await stage.send("GET", f"/runs/ask/{parked['runId']}")).status == 200
        assert await stage.move("migration-locked", "proof-only", "only-we-know") == 200
        assert (await stage.start("k2"))[0] == 503
        assert (await stage.start("only-we-know"))[0] == 200
        assert await stage.move("proof-only", "open") == 200
        status, summary = await stage.start("k2")
        assert (status, summary["runId"]) == (200, row["run_id"])
        assert await outstanding(stage) == {}
        assert world.ledger.count("charged") == 2

    play(story)

"""Starts under a key, through the router, on every topology and with every design."""

from typing import Any

import pytest

from durasim.sim import World

from .stage import WAYS, Stage, Topology, play

each_way = pytest.mark.parametrize(("topology", "design"), WAYS)


@each_way
def test_a_run_is_started_once_under_its_key(topology: Topology, design: str) -> None:
    """The first call starts it, the next one is shown the same; a payload makes no difference."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, design).open()
        status, first = await stage.start("k1")
        assert (status, first["status"]) == (200, "success"), first
        assert await stage.start("k1", payload={"other": 1}) == (200, first)
        assert stage.executions() == 1
        row = stage.row("k1")
        assert row is not None
        assert (row["state"], row["run_id"]) == ("terminal", first["runId"])

    play(story)


@each_way
def test_case_20_and_21_a_fence_that_closes_between_claim_and_start(
    topology: Topology, design: str
) -> None:
    """The claim goes back, and after the reopening the same run id runs exactly once."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, design).open()
        stage.close_between_claim_and_start()
        status, refused = await stage.start("k1")
        assert (status, refused["reason"]["code"]) == (503, "EXECUTION_FENCED"), refused
        assert refused["reason"]["state"] == "draining"
        row = stage.row("k1")
        assert row is not None
        assert row["state"] == "reserved"
        assert stage.executions() == 0

        stage.log.hooks.clear()
        assert await stage.move("draining", "open") == 200
        status, summary = await stage.start("k1")
        assert (status, summary["runId"]) == (200, row["run_id"])
        assert stage.executions(row["run_id"]) == stage.executions() == 1

    play(story)


@each_way
def test_every_key_of_a_drain_starts_once_after_the_reopening(
    topology: Topology, design: str
) -> None:
    """8.8: N starts are refused while the deployment drains; each retry runs its first id."""

    async def story(world: World) -> None:
        stage = await Stage(world, topology, design).open()
        assert await stage.move("open", "draining") == 200
        keys = [f"k{number}" for number in range(4)]
        for key in keys:
            assert (await stage.start(key))[0] == 503
        first: dict[str, Any] = {key: stage.row(key) for key in keys}
        assert {row["state"] for row in first.values()} == {"reserved"}
        assert await stage.move("draining", "open") == 200
        for key in keys:
            status, summary = await stage.start(key)
            assert (status, summary["runId"]) == (200, first[key]["run_id"])
            assert stage.executions(summary["runId"]) == 1

    play(story)

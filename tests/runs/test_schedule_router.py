"""Schedules over HTTP: their owner's, made and changed behind the fence."""

from typing import Any

import pytest

from durasim.sim import World

from .stage import Stage, play, told

MINUTE = 60_000


async def made(stage: Stage, **more: Any) -> str:
    """Make a schedule; returns its name."""
    body = {"workflowId": "order", "everyMs": MINUTE, "input": {"n": 1}, **more}
    status, answer = told(await stage.send("POST", "/schedules", body))
    assert status == 200, answer
    return str(answer["id"])


def test_a_schedule_is_made_changed_paused_resumed_and_deleted() -> None:
    """It is its maker's."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        name = await made(stage)
        path = f"/schedules/{name}"
        status, shown = told(await stage.send("GET", path))
        assert (status, shown["state"], shown["input"]) == (200, "active", {"n": 1})
        status, changed = told(await stage.send("PATCH", path, {"everyMs": 2 * MINUTE}))
        assert (status, changed["everyMs"], changed["input"]) == (200, 2 * MINUTE, {"n": 1})
        for _ in range(2):
            status, paused = told(await stage.send("POST", f"{path}/pause"))
            assert (status, paused["state"]) == (200, "paused")
        status, resumed = told(await stage.send("POST", f"{path}/resume"))
        assert (status, resumed["state"]) == (200, "active")
        assert resumed["nextFireAt"] > shown["nextFireAt"]
        assert [
            each["id"] for each in told(await stage.send("GET", "/schedules"))[1]["schedules"]
        ] == [name]
        assert told(await stage.send("DELETE", path)) == (200, {"deleted": True})
        assert (await stage.send("GET", path)).status == 404

    play(story)


def test_a_schedule_is_hidden_from_others() -> None:
    """As if it were not there."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        name = await made(stage)
        for method, verb in (
            ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"),
        ):  # fmt: skip
            answer = await stage.send(method, f"/schedules/{name}{verb}", {}, who="bob")
            assert answer.status == 404
        assert told(await stage.send("GET", "/schedules", who="bob")) == (200, {"schedules": []})
        assert (await stage.send("POST", "/schedules", {}, who="eve")).status == 403

    play(story)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"workflowId": 5}, 400),
        ({"workflowId": "nothing"}, 404),
        ({"everyMs": 999}, 400),
        ({"everyMs": "often"}, 400),
        ({"everyMs": True}, 400),
        ({"firstAt": 1 << 60}, 400),
        ({"firstAt": 0}, 400),
    ],
)
def test_a_schedule_that_makes_no_sense_is_not_made(change: dict[str, Any], status: int) -> None:
    """The message names the field."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        body = {"workflowId": "order", "everyMs": MINUTE, **change}
        assert (await stage.send("POST", "/schedules", body)).status == status
        assert told(await stage.send("GET", "/schedules")) == (200, {"schedules": []})

    play(story)


@pytest.mark.parametrize("state", ["draining", "migration-locked", "proof-only"])
def test_a_shut_fence_refuses_authoring_and_nothing_else(state: str) -> None:
    """503 for making, changing and resuming; looking, pausing and deleting stay open."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        name = await made(stage)
        path = f"/schedules/{name}"
        stage.put_fence(state)
        for method, where in (("POST", "/schedules"), ("PATCH", path), ("POST", f"{path}/resume")):
            status, body = told(
                await stage.send(method, where, {"workflowId": "order", "everyMs": MINUTE})
            )
            assert (status, body["reason"]) == (
                503, {"code": "EXECUTION_FENCED", "state": state},
            )  # fmt: skip
        for method, where in (("GET", path), ("POST", f"{path}/pause"), ("DELETE", path)):
            assert (await stage.send(method, where)).status == 200

    play(story)

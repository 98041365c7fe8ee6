"""Objectives: set and changed behind the fence, cleared in every state, always audited."""

from typing import Any

import pytest

from durasim.actors.runs.objectives import TEXT_MAX
from durasim.sim import World

from .stage import Stage, play, told

PATH = "/threads/t1/objective"


def outcomes(stage: Stage) -> list[tuple[str, str]]:
    """Return what the audit says."""
    return [
        (kind, fields["outcome"])
        for kind, fields in stage.log.lines
        if kind.startswith("objective")
    ]


def test_an_objective_is_set_changed_shown_and_cleared() -> None:
    """Each change counts a revision and is audited with who did it."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        assert (await stage.send("GET", PATH)).status == 404
        assert (await stage.send("PATCH", PATH, {"text": "b"})).status == 404
        for method, text, revision in (("PUT", "a", 1), ("PUT", "b", 2), ("PATCH", "c", 3)):
            wanted = {"threadId": "t1", "text": text, "revision": revision}
            assert told(await stage.send(method, PATH, {"text": text})) == (200, wanted)
        assert told(await stage.send("DELETE", PATH)) == (200, {"cleared": True})
        assert told(await stage.send("DELETE", PATH)) == (200, {"cleared": False})
        assert outcomes(stage) == [
            ("objective-set", "done"), ("objective-set", "done"), ("objective-update", "done"),
            ("objective-clear", "done"), ("objective-clear", "done"),
        ]  # fmt: skip
        assert stage.log.lines[0][1]["principal"] == "human:ann"

    play(story)


@pytest.mark.parametrize("state", ["draining", "migration-locked", "proof-only"])
def test_a_shut_fence_refuses_authoring_and_the_audit_says_so(state: str) -> None:
    """503; looking and clearing stay open."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        await stage.send("PUT", PATH, {"text": "a"})
        stage.put_fence(state)
        for method in ("PUT", "PATCH"):
            status, body = told(await stage.send(method, PATH, {"text": "b"}))
            assert (status, body["reason"]["code"]) == (503, "EXECUTION_FENCED")
        assert told(await stage.send("GET", PATH))[1]["text"] == "a"
        assert [outcome[:7] for _, outcome in outcomes(stage)] == ["done", "refused", "refused"]
        assert (await stage.send("DELETE", PATH)).status == 200

    play(story)


def test_the_role_is_asked_before_the_fence() -> None:
    """403 for a caller without it, whatever the state; nothing is audited of them."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open("migration-locked")
        for method in ("PUT", "PATCH", "DELETE"):
            assert (await stage.send(method, PATH, {"text": "b"}, who="eve")).status == 403
        assert outcomes(stage) == []

    play(story)


@pytest.mark.parametrize(
    "body", [{}, {"text": ""}, {"text": " "}, {"text": 5}, {"text": "x" * (TEXT_MAX + 1)}]
)
def test_a_text_that_is_none_is_refused(body: Any) -> None:
    """400, nothing is stored."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        assert (await stage.send("PUT", PATH, body)).status == 400
        assert (await stage.send("PUT", "/threads/a b/objective", {"text": "a"})).status == 400
        assert (await stage.send("GET", PATH)).status == 404

    play(story)

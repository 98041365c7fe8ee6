"""The public routes of agents: a prompt and no key, and of failures only what says why."""

from durasim.sim import World

from .agents import AgentStage
from .stage import play, told


def test_the_public_route_takes_a_prompt_and_nothing_else() -> None:
    """No key, no run id; what a thread's own failure says is not passed on."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        body = {"prompt": "hi", "idempotencyKey": "k1"}
        assert (await stage.send("POST", "/agents/helper/runs", body)).status == 400

        started = told(await stage.send("POST", "/agents/helper/runs", {"prompt": "hi"}))
        assert started[0] == 200
        path = f"/agents/helper/threads/{started[1]['threadId']}/runs"
        shown = told(await stage.send("GET", f"{path}/{started[1]['runId']}"))
        assert shown == started
        assert (await stage.send("GET", f"{path}/nothing")).status == 404
        assert (await stage.send("POST", path, {}, who="bob")).status == 403

        stage.put_fence("migration-locked")
        status, refused = told(await stage.send("POST", path, {"prompt": "hi"}))
        assert (status, refused["reason"]["code"]) == (503, "EXECUTION_FENCED")
        stage.put_fence("open")
        stage.world.database.prepare("ALTER TABLE flowsafe_runs RENAME COLUMN body TO soul")
        status, failed = told(await stage.send("POST", path, {"prompt": "hi"}))
        assert (status, failed) == (500, {"error": "the request failed"})

    play(story)


def test_the_public_signal_route_keeps_and_wakes() -> None:
    """Of a kind that there is."""

    async def story(world: World) -> None:
        stage = await AgentStage(world).open()
        await stage.ask(agent="chatter", thread="t1")
        path = "/threads/t1/signals"
        assert (await stage.send("POST", f"{path}/shout", {})).status == 400
        kept = told(await stage.send("POST", f"{path}/message", {"message": 1}))
        assert kept == (200, {"kept": True, "woken": None})
        status, woken = told(await stage.send("POST", f"{path}/wake", {"message": 2}))
        assert (status, woken["woken"]["status"]) == (200, "success")
        assert woken["woken"]["result"] == {"signals": [1, 2]}

    play(story)

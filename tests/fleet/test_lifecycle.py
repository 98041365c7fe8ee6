"""A member's container: booted, hydrated, warm."""

import trio

from durasim.actors.fleet.outcomes import Granted, attempt

from .residence import BOB, Residence, reside


def test_a_container_that_comes_up_is_hydrated_once() -> None:
    """Two who need it at once wait for the same boot."""

    async def story(here: Residence) -> None:
        here.container.hydrate_s = 20

        async def attach() -> None:
            await here.attach(BOB, "t2")

        here.world.spawn("bot 2", attach)
        assert isinstance(await here.attach(), Granted)
        await trio.sleep(30)
        assert here.container.boots == 1
        assert {"reg:t1", "reg:t2"} <= set(here.stored)
        assert here.stored["state"] == "warm"
        assert here.stored["lastRestoreAt"] > 0

    reside(story)


def test_a_container_that_does_not_become_whole_leaves_the_member_degraded() -> None:
    """Whoever needed it is told, and no registration is written; the next try may do better."""

    async def story(here: Residence) -> None:
        here.container.hydrate_s = 20

        async def stop() -> None:
            await trio.sleep(10)
            here.fleet.ground.stop("member-1", "platform")

        here.world.spawn("platform", stop)
        assert not isinstance(await attempt(here.stub.refresh(here.origin())), Granted)
        await trio.sleep(60)
        assert here.stored["state"] == "degraded"
        assert await here.stub.refresh(here.origin()) == {"state": "warm"}

    reside(story)


def test_a_member_that_nobody_has_set_up_is_down() -> None:
    """Its state is that of a container that never ran."""

    async def story(here: Residence) -> None:
        stub = here.fleet.resident("ops", "repo:o/none")
        assert (await stub.deploy_info())["state"] == "down"

    reside(story)

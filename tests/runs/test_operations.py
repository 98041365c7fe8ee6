"""What operators ask for from inside of the deployment."""

import pytest

from durasim.actors import RunRouteError
from durasim.actors.runs import OPERATIONS, Operations
from durasim.sim import World

from .stage import Stage, play


def test_a_deployment_is_provisioned_once() -> None:
    """Again changes nothing; it is born open or locked, and with no pass to make."""

    async def story(world: World) -> None:
        stage = Stage(world, "objects", "router")
        operations = world.client("op").get(Operations, OPERATIONS)
        with pytest.raises(RunRouteError, match="is born"):
            await operations.provision("draining")
        await operations.provision("migration-locked")
        await operations.provision("open")
        assert (await stage.start("k1"))[0] == 503
        assert set((await operations.tick()).values()) == {0}

    play(story)


def test_what_is_old_is_purged_as_the_deployment_says() -> None:
    """A run of an hour is kept; when it goes its key is spent, and goes as late again."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router", run_retention_days=1).open()
        operations = world.client("op").get(Operations, OPERATIONS)
        assert (await stage.start("k1"))[0] == 200
        kept = {"runs": 0, "spent": 0, "reservations": 0}
        assert await operations.purge() == kept

        age = "SET updated_at = updated_at - 90000000"
        world.database.prepare(f"UPDATE flowsafe_runs {age}")
        assert await operations.purge() == {**kept, "runs": 1}
        assert (await stage.start("k1"))[1]["reason"]["code"] == "IDEMPOTENT_START_ALREADY_SETTLED"
        world.database.prepare(f"UPDATE flowsafe_start_idempotency {age}")
        assert await operations.purge() == {**kept, "reservations": 1}
        assert (await stage.start("k1"))[0] == 200
        assert stage.executions() == 2

    play(story)

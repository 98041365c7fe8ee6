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

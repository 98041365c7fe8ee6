"""The registry of owners: whoever has the token, and nobody else."""

import pytest
import trio

from durasim.actors import RemoteError
from durasim.actors.runs import REGISTRY, RunOwners
from durasim.sim import World

from .stage import play


def test_a_run_is_reserved_settled_and_released_by_its_token() -> None:
    """Again by the same attempt is once; a settled owner stays."""

    async def story(world: World) -> None:
        owners = world.client("a").get(RunOwners, REGISTRY)
        assert await owners.owner("w:r") is None
        for _ in range(2):
            await owners.reserve("w:r", "t", "human", "ann")
        assert await owners.owner("w:r") == {"kind": "human", "id": "ann"}
        assert not await owners.release("w:r", "t2")
        assert not await owners.settle("w:r", "t2")
        assert await owners.release("w:r", "t")
        assert not await owners.release("w:r", "t")
        await owners.reserve("w:r", "t3", "human", "bob")
        assert await owners.settle("w:r", "t3")
        assert not await owners.release("w:r", "t3")
        assert await owners.owner("w:r") == {"kind": "human", "id": "bob"}

    play(story)


def test_a_run_is_not_reserved_over_another_attempt() -> None:
    """Nothing changes."""

    async def story(world: World) -> None:
        owners = world.client("a").get(RunOwners, REGISTRY)
        await owners.reserve("w:r", "t", "human", "ann")
        with pytest.raises(RemoteError, match="has an owner already"):
            await owners.reserve("w:r", "t2", "human", "ann")
        assert world.stored(RunOwners, REGISTRY)["run/w:r"]["token"] == "t"

    play(story)


def test_a_reservation_that_comes_behind_its_release_is_refused() -> None:
    """Nobody would release it: late or sent twice, it changes nothing; then it is forgotten."""

    async def story(world: World) -> None:
        owners = world.client("a").get(RunOwners, REGISTRY)
        await owners.reserve("w:r", "t", "human", "ann")
        assert await owners.release("w:r", "t")
        assert not await owners.release("w:r", "late")
        for token in ("t", "late"):
            with pytest.raises(RemoteError, match="is over"):
                await owners.reserve("w:r", token, "human", "ann")
        assert await owners.owner("w:r") is None
        await owners.reserve("w:r", "t2", "human", "ann")
        assert await owners.settle("w:r", "t2")
        await trio.sleep(300)
        assert not await owners.release("w:s", "later")
        await trio.sleep(301)
        assert sorted(world.stored(RunOwners, REGISTRY)) == ["over/later", "run/w:r"]
        await trio.sleep(601)
        assert sorted(world.stored(RunOwners, REGISTRY)) == ["run/w:r"]

    play(story)

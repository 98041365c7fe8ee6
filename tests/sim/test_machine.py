"""One simulated host: what a deploy changes over, and what it leaves."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from durasim.actors import DurableObject, OutcomeUnknown
from durasim.sim import Job, Ordinary, Property, RunResult, World, run_once, scenario


class Old(DurableObject, name="Teller"):
    """Says what it is bound to, and counts."""

    async def told(self) -> Any:
        """Count, and say what the env has."""
        count = await self.storage.get("count", 0) + 1
        await self.storage.put("count", count)
        return [count, "old", self.env.get("bound"), self.env.get("shared")]

    async def wait(self) -> None:
        """Wait for an hour."""
        await self.sleep(3_600)


class New(Old, name="Teller"):
    """The next version."""

    async def told(self) -> Any:
        """Say so."""
        count, _, bound, shared = await super().told()
        return [count, "new", bound, shared]


def ran(story: Callable[[World], Awaitable[None]], *properties: Property[Any]) -> RunResult:
    """Run *story* once; everything held."""
    made = scenario(properties=properties)(story)
    result = run_once(Job(scenario=made, seed=1, source=Ordinary()))
    assert not result.failures
    return result


def test_a_deploy_brings_code_and_bindings_and_keeps_what_is_stored() -> None:
    """New classes, new env before the world's, the same storage; a swap goes back and on."""

    async def story(world: World) -> None:
        world.env["shared"] = "all"
        machine = world.machine("here", (Old,), env={"bound": 1})
        stub = world.client("ann").get(Old, "t")
        assert await stub.told() == [1, "old", 1, "all"]
        machine.deploy((New,), {"bound": 2, "shared": "mine"})
        assert await world.client("ann").get(Old, "t").told() == [2, "new", 2, "mine"]
        machine.swap()
        assert await world.client("ann").get(Old, "t").told() == [3, "old", 1, "all"]
        machine.swap()
        assert await world.client("ann").get(Old, "t").told() == [4, "new", 2, "mine"]

    ran(story)


def test_a_call_under_way_at_a_deploy_ends_uncertain() -> None:
    """Everything restarts: nobody can say what had run."""

    async def story(world: World) -> None:
        machine = world.machine("here", (Old,))
        stub = world.client("ann").get(Old, "t")

        async def deploy() -> None:
            machine.deploy((New,))

        world.spawn("deployer", deploy)
        with pytest.raises(OutcomeUnknown):
            await stub.wait()

    result = ran(story)
    assert [row.detail for row in result.rows if row.kind == "swap"] == [(2,)]


def test_a_property_is_told_of_its_world_at_the_beginning() -> None:
    """It may watch by other means than its kinds of events."""
    seen: list[Any] = []

    class Attached(Property[int]):
        name = "attached"
        kinds = ()

        def init(self) -> int:
            return 7

        def attached(self, state: int, world: World) -> None:
            seen.append((state, world.now_s))

        def holds(self, state: int, world: World) -> bool:
            return state == 7 and not world.failures

    async def story(world: World) -> None:
        assert seen == [(7, 0.0)]
        assert world.now_s == 0

    ran(story, Attached())

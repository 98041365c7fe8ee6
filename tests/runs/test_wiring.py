"""A deployment, and what one actor makes of it."""

from typing import Any

import attrs
import pytest

from durasim.actors.runs import RunsDeployment, Secrets, Services, Workflow, provision
from durasim.actors.runs.fence import ExecutionFence
from durasim.actors.runs.wiring import by_id, quiet, undelivered
from durasim.sim import World

from .stage import CALLERS, IDENTITY, Stage, charge, play

WIRED: dict[str, Any] = {
    "workflows": (Workflow("w", (charge,)),),
    "secrets": Secrets(identity=IDENTITY),
    "fence": "database",
    "reservations": "database",
    "authenticate": CALLERS.get,
}


@pytest.mark.parametrize("missing", ["fence", "reservations"])
def test_1_8_absence_has_to_be_written_down(missing: str) -> None:
    """No default: opting out of either is a word in the wiring."""
    with pytest.raises(TypeError, match=missing):
        RunsDeployment(**{name: value for name, value in WIRED.items() if name != missing})


def test_a_deployment_is_a_value_that_shows_no_secret() -> None:
    """Workflows are kept by id, however they were given."""
    deployment = RunsDeployment(**WIRED)

    assert list(deployment.workflows) == ["w"]
    assert by_id(deployment.workflows) is deployment.workflows
    assert attrs.evolve(deployment, design="holder").workflows == deployment.workflows
    assert IDENTITY not in repr(deployment)
    quiet("kind", {})
    assert deployment.log is quiet


def test_an_actor_without_a_deployment_is_told_so() -> None:
    """The host gives it, or there is nothing to serve."""

    async def story(world: World) -> None:
        stage = Stage(world, "objects", "router")
        del world.env["runs"]

        async def nothing(_services: Services) -> None:
            """Never begun."""

        with pytest.raises(AssertionError, match="gives no RunsDeployment"):
            await stage.work(nothing)

    play(story)


def test_everything_of_an_actor_shares_its_ports() -> None:
    """One fence, one store; ids that differ; a clock in milliseconds."""

    async def look(services: Services) -> None:
        assert isinstance(services.fence, ExecutionFence)
        assert services.fence is services.fence
        assert services.reservations is services.store
        assert services.mint() != services.mint()
        assert services.now_ms() == 1_767_225_600_000
        with pytest.raises(LookupError, match="nobody handles"):
            await undelivered(services, attrs.make_class("Odd", {"provider": attrs.field()})("p"))

    async def absent(services: Services) -> None:
        assert (services.fence, services.reservations) == ("none", "none")
        await provision(services.context, "open")

    async def story(world: World) -> None:
        await Stage(world, "objects", "router").work(look)
        stage = Stage(world, "process", "router", fence="none", reservations="none")
        await stage.work(absent)
        assert stage.query("SELECT * FROM flowsafe_execution_fence") == []

    play(story)

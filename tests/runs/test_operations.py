"""What operators ask for from inside of the deployment."""

from typing import Any

import pytest

from durasim.actors import RunRouteError
from durasim.actors.runs import OPERATIONS, Notification, Operations, Page, Services, Task
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


class Feed:
    """A provider with one item."""

    async def poll(self, cursor: str | None) -> Page:
        """Return it once."""
        return Page([] if cursor else ["news"], "1")


def test_notifications_tasks_and_providers_are_served_by_passes() -> None:
    """What an item asks for is queued, what a task has to say is sent; each once."""
    sent: list[tuple[str, Any]] = []

    async def on_item(services: Services, provider: str, item: Any) -> None:
        await services.tasks.enqueue(f"{provider}-{item}", "tell", item)

    async def tell(services: Services, task: Task) -> None:
        await services.notifications.add(task.id, "ann", task.payload, services.now_ms())

    async def send(services: Services, notification: Notification) -> None:
        assert services.deployment.topology == "objects"
        sent.append((notification.recipient, notification.message))

    async def story(world: World) -> None:
        stage = await Stage(
            world, "objects", "router", providers={"feed": Feed()}, on_item=on_item,
            tasks={"tell": tell}, send=send,
        ).open()  # fmt: skip
        operations = world.client("op").get(Operations, OPERATIONS)
        assert await operations.poll() == {"providers": 1, "items": 1, "failed": 0}
        stage.put_fence("migration-locked")
        assert set((await operations.poll()).values()) == {0}
        assert set((await operations.notify()).values()) == {0}
        with pytest.raises(RunRouteError, match="background task is refused"):
            await operations.work()
        stage.put_fence("draining")
        assert await operations.work() == {"done": 1, "parked": 0, "again": 0, "failed": 0}
        assert await operations.notify() == {"sent": 1, "again": 0, "failed": 0}
        assert sent == [("ann", "news")]
        assert set((await operations.poll()).values()) == {0, 1}
        assert set((await operations.work()).values()) == {0}
        assert set((await operations.notify()).values()) == {0}
        assert sent == [("ann", "news")]

    play(story)


def test_a_deployment_that_does_nothing_with_them_says_so() -> None:
    """Nothing is lost: what could not be sent or handed on is tried again, and logged."""

    async def add(services: Services) -> None:
        await services.notifications.add("n", "ann", "hello", services.now_ms())

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router", providers={"feed": Feed()}).open()
        operations = world.client("op").get(Operations, OPERATIONS)
        await stage.work(add)
        assert await operations.notify() == {"sent": 0, "again": 1, "failed": 0}
        assert await operations.poll() == {"providers": 1, "items": 0, "failed": 1}
        said = [(kind, fields["error"]) for kind, fields in stage.log.lines]
        assert said == [
            ("notification-not-sent", "nobody sends notifications, nor this one to ann"),
            ("provider-poll-failed", "nobody handles the items of feed"),
        ]

    play(story)

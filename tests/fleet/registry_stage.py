"""A Registry in a world, and whoever asks it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from durasim.actors import Address
from durasim.actors.fleet import Granted, Outcome, Refused
from durasim.actors.fleet.outcomes import attempt
from durasim.actors.fleet.registry import Registry
from durasim.sim import Fault, World, scenario, simulate
from durasim.wire import encode

HASH = "a" * 64
OTHER_HASH = "b" * 64
ID = "11111111-1111-4111-8111-111111111111"
OTHER_ID = "22222222-2222-4222-8222-222222222222"
START_MS = 1_767_225_600_000
"""When a world begins."""
PREFLIGHT = {"kind": "preflight", "ref": "attempt-1"}
RECOVERY = {"kind": "recovery", "ref": ID}


def producer(number: int = 1, uploaded_at: int | None = START_MS - 1) -> dict[str, Any]:
    """Return the document of a Worker version."""
    version = f"00000000-0000-4000-8000-{number:012}"
    return {
        "workerVersion": version, "uploadedAt": uploaded_at, "artifactId": f"build-{number}",
        "commit": "c" * 40,
    }  # fmt: skip


OLD = producer(1)
NEW = producer(2, START_MS + 3_600_000)


class Stage:
    """One Registry in one world."""

    def __init__(self, world: World) -> None:
        """Talk to it as one client."""
        self.world = world
        self.registry = world.client("ann").get(Registry, "registry")

    def store(self, rows: Mapping[str, Any]) -> None:
        """Put *rows* into the storage before the Registry starts: those of another level."""
        stored = self.world.disk.stored(Address("Registry", "registry"))
        for key, row in rows.items():
            stored.keys[key] = encode(row)

    @property
    def stored(self) -> dict[str, Any]:
        """What is durable of the Registry."""
        return self.world.stored(Registry, "registry")

    async def code(self, call: Awaitable[Any]) -> str:
        """Return the code by which *call* was refused; nothing was written."""
        before = self.stored
        outcome: Outcome[Any] = await attempt(call)
        assert isinstance(outcome, Refused), outcome
        assert self.stored == before
        return outcome.code

    async def granted(self, call: Awaitable[Any]) -> Any:
        """Return what *call* was granted."""
        outcome: Outcome[Any] = await attempt(call)
        assert isinstance(outcome, Granted), outcome
        return outcome.value

    async def fence(self, owner: Mapping[str, Any] = PREFLIGHT, by: Any = OLD) -> str:
        """Set a fence in a new drain; returns its id."""
        await self.registry.drain(90)
        fence = await self.registry.set_fence(owner, by, [])
        return str(fence["fenceId"])


def staged(
    story: Callable[[Stage], Awaitable[None]],
    *faults: Fault,
    deviations: Sequence[tuple[str, str]] = (),
) -> None:
    """Run *story* in a world of its own, with just these faults; what it asserts has to hold."""

    async def tell(world: World) -> None:
        await story(Stage(world))

    tell.__name__ = story.__name__
    report = simulate(scenario(faults=faults)(tell), deviations=list(deviations))
    assert report.ok, report.failures

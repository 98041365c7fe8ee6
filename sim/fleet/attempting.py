"""Stories of attempts to find a fleet quiet: retained work, busy and silent members, slow readings.

The names are those of the races that they tell (spec/deploy-fence.md G.1).
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import trio

from ...actors import WebRequest, WebResponse
from ...actors.fleet import RunLedger, StateWorker
from ..faults import CorruptReply, DuplicateRequest, LoseReply, LoseRequest
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, deploy, ended
from .deploying import ANYTHING, closing, run_a_while
from .fleet import Fleet, StateCode
from .invariants import EVERYWHERE
from .levels import L5, set_fleet

__all__ = [
    "BEHIND_US",
    "IMAGE",
    "RETAINED",
    "STORIES",
    "SlowState",
    "g01_retained_workspace",
    "g02_retained_over_image",
    "g03_reattach_after_reading",
    "g04_attach_among_reads",
    "g08_silent_member",
    "g09_slow_reading",
    "g10_late_withdrawal",
    "g11_refused_attempt",
    "g12_last_minute_run",
    "g13_dead_runner",
    "g16_clocks_apart",
    "g126_lost_withdrawal",
    "newcomers",
    "retained",
    "slow_fleet",
]

IMAGE: Final = "registry.example/fleet:2"
RETAINED: Final = Run("ended", "done")
BEHIND_US: Final = 600_000_000
"""Ten minutes, in microseconds."""


class SlowState(StateWorker, name="StateWorker"):
    """The state Worker on a bad day: every answer takes 25 s."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer late."""
        await self.sleep(25)
        return await super().fetch(request)


def slow_fleet(world: World) -> Fleet:
    """Set up a fleet in which reading a member with a registration takes 25 s."""
    return Fleet(world, L5, StateCode(RunLedger, SlowState), ("repo:o/a", "repo:o/b"))


async def retained(fleet: Fleet, work: str = "write") -> None:
    """Leave the workspace of an ended run behind."""
    await run_a_while(fleet, RETAINED, 0, work)


async def newcomers(fleet: Fleet, seconds: int = 60, pause_s: float = 2) -> None:
    """Let new runs ask to attach, one after the other, each of which ends at once."""
    for number in range(int(seconds / pause_s)):
        await trio.sleep(pause_s)
        run = Run(f"new-{number}", f"new-{number}")
        await begun(fleet, run, who="newcomer")
        await ended(fleet, run, who="newcomer")


async def beside(fleet: Fleet, first: Callable[[], Awaitable[Any]], *rest: Any) -> None:
    """Do *first* while the *rest* goes on; then end the faults and wait for the end."""
    async with trio.open_nursery() as nursery:
        for each in rest:
            nursery.start_soon(each)
        await first()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g01_retained_workspace(world: World) -> None:
    """G01: the unsaved workspace of an ended run keeps no deploy of the Worker waiting."""
    fleet = set_fleet(world)
    await retained(fleet)
    await deploy(fleet, fleet.artifact()).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g02_retained_over_image(world: World) -> None:
    """G02: a new image never stops the container of an unsaved workspace."""
    fleet = set_fleet(world)
    await retained(fleet)
    await deploy(fleet, fleet.artifact(image=IMAGE)).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g03_reattach_after_reading(world: World) -> None:
    """G03: whoever wants to attach between the reading and the upload waits."""
    fleet = set_fleet(world)
    await retained(fleet)

    async def act() -> None:
        await deploy(fleet, fleet.artifact()).report()

    await beside(fleet, act, lambda: newcomers(fleet))


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g04_attach_among_reads(world: World) -> None:
    """G04: an attach between two member reads is refused, or counted."""
    fleet = set_fleet(world, "repo:o/a", "repo:o/b", "repo:o/c")
    await begun(fleet, Run("live", "t", "repo:o/b"))

    async def act() -> None:
        await trio.sleep(90)
        await ended(fleet, Run("live", "t", "repo:o/b"))

    async def attempt() -> None:
        await deploy(fleet, fleet.artifact()).report()

    await beside(fleet, attempt, act, lambda: newcomers(fleet, 150, 5))


@scenario(
    faults=(
        LoseReply("Resident.deploy_info", at_most=3), CorruptReply("Resident.deploy_info"),
        LoseRequest("Resident.deploy_info", at_most=3),
    ),
    properties=EVERYWHERE, settle_s=8_000,
)  # fmt: skip
async def g08_silent_member(world: World) -> None:
    """G08: a member that cannot be read is no quiet member."""
    fleet = set_fleet(world)
    await retained(fleet)
    await deploy(fleet, fleet.artifact()).report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g09_slow_reading(world: World) -> None:
    """G09: a fence that had the reserve before the reading is verified again after it."""
    fleet = slow_fleet(world)
    await retained(fleet)
    world.default().skew_us -= BEHIND_US

    async def prepare() -> None:
        await trio.sleep(70 * 60 - 10)

    await deploy(fleet, fleet.artifact(), prepare=prepare).report()
    await closing(fleet)


@scenario(
    faults=(DuplicateRequest("Registry.withdraw_fence", at_most=3), *ANYTHING),
    properties=EVERYWHERE, settle_s=8_000,
)  # fmt: skip
async def g10_late_withdrawal(world: World) -> None:
    """G10: a withdrawal that comes late names its own fence, and takes no other one away."""
    fleet = slow_fleet(world)
    await retained(fleet)
    await begun(fleet, Run("live", "t", "repo:o/b"))
    old: list[str] = []

    async def end() -> None:
        await trio.sleep(90)
        await ended(fleet, Run("live", "t", "repo:o/b"))

    async def repeat() -> None:
        for _ in range(40):
            await trio.sleep(5)
            fence = fleet.log.fence
            if fence is not None and fence["fenceId"] not in old:
                for fence_id in old:
                    # Only the way there and back matters, not what is answered.
                    with suppress(Exception):
                        await fleet.ledger("stranger").owner("nobody")
                    fleet.registry("stranger").withdraw_fence(fence_id)
                old.append(fence["fenceId"])

    async def attempt() -> None:
        await deploy(fleet, fleet.artifact()).report()

    await beside(fleet, attempt, end, repeat)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, parameters={"minutes": [1, 4]}, settle_s=8_000
)  # fmt: skip
async def g11_refused_attempt(world: World, minutes: int) -> None:
    """G11: a refused attempt takes its own fence back and leaves the drain to the next one."""
    fleet = set_fleet(world)

    async def attempt() -> None:
        await trio.sleep(10)
        await deploy(fleet, fleet.artifact()).report()

    async def work() -> None:
        await run_a_while(fleet, Run("busy", "t"), minutes, "write save")

    await beside(fleet, attempt, work, lambda: newcomers(fleet, 200, 20))


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g12_last_minute_run(world: World) -> None:
    """G12: a run that ends in the last minute of the wait still leaves room for the upload."""
    fleet = set_fleet(world)
    await begun(fleet, Run("long", "t"), work="write save")
    started = deploy(fleet, fleet.artifact())
    await trio.sleep(59 * 60)
    await ended(fleet, Run("long", "t"))
    await started.report()
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g13_dead_runner(world: World) -> None:
    """G13: the fence of a runner that dies after its verdict ends with its drain."""
    fleet = set_fleet(world)
    await retained(fleet)
    fleet.ground.upload_s = 20_000
    started = deploy(fleet, fleet.artifact())
    await trio.sleep(30)
    started.run.kill()
    await trio.sleep(100 * 60)
    await newcomers(fleet, 20)
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g16_clocks_apart(world: World) -> None:
    """G16: a runner whose clock is behind does not decide alone how much is left."""
    fleet = set_fleet(world)
    await retained(fleet)
    world.default().skew_us -= BEHIND_US

    async def prepare() -> None:
        await trio.sleep(74 * 60)

    await deploy(fleet, fleet.artifact(), prepare=prepare).report()
    await closing(fleet)


@scenario(
    faults=(
        LoseRequest("Registry.withdraw_fence", at_most=3),
        LoseReply("Registry.withdraw_fence", at_most=2),
    ),
    properties=EVERYWHERE, settle_s=8_000,
)  # fmt: skip
async def g126_lost_withdrawal(world: World) -> None:
    """G126: a fence is called withdrawn only after it was seen gone."""
    fleet = set_fleet(world)
    await begun(fleet, Run("busy", "t"))
    started = deploy(fleet, fleet.artifact())
    await trio.sleep(150)
    await ended(fleet, Run("busy", "t"))
    await started.report()
    await closing(fleet)


STORIES: Final = (
    g01_retained_workspace, g02_retained_over_image, g03_reattach_after_reading,
    g04_attach_among_reads, g08_silent_member, g09_slow_reading, g10_late_withdrawal,
    g11_refused_attempt, g12_last_minute_run, g13_dead_runner, g16_clocks_apart,
    g126_lost_withdrawal,
)  # fmt: skip
"""All of them."""

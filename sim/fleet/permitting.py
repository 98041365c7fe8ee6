"""Stories of callers and their permits: begins and ends that are lost, late, doubled or forgotten.

Source: spec/deploy-fence.md G.2 (G24 to G36).
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Final

import trio

from ...actors import Program
from ...actors.fleet import Granted, Outcome, Registry, attempt, with_permit
from ..faults import (
    CorruptReply,
    Crash,
    DuplicateRequest,
    FailWrite,
    Fault,
    LoseReply,
    LoseRequest,
    Restart,
)
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, deploy, ended
from .deploying import closing
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import set_fleet
from .log import Call, Seen
from .plane import NativeContainer
from .stacks import STRANGER

__all__ = [
    "BEGIN_LOST",
    "END_LOST",
    "STORIES",
    "Overheard",
    "absent_is_not_refused",
    "asked_again_after_restart",
    "begin_reply_lost",
    "begin_twice",
    "caller_dies_at_work",
    "end_and_recovery",
    "end_of_many",
    "hash_is_fixed",
    "late_begin",
    "one_read",
    "receipt_with_its_row",
    "row_of_another",
    "settled_in_one",
    "work_fails",
]

BEGIN: Final = "Registry.begin_keyed"
END: Final = "Registry.end_keyed"
BEGIN_LOST: Final[tuple[Fault, ...]] = (
    LoseRequest(BEGIN, at_most=1), LoseReply(BEGIN, at_most=1), CorruptReply(BEGIN, at_most=1),
    DuplicateRequest(BEGIN, at_most=1), Crash(Registry, at=("before commit",), at_most=1),
    FailWrite(Registry, at_most=1),
)  # fmt: skip
"""Every way in which a begin ends uncertain: never there, there, or there later."""
END_LOST: Final[tuple[Fault, ...]] = (
    LoseRequest(END, at_most=1), LoseReply(END, at_most=1), CorruptReply(END, at_most=1),
    DuplicateRequest(END, at_most=1), Crash(Registry, at=("after commit",), at_most=1),
)  # fmt: skip
RUN: Final = Run("worker", "t-1")
OTHER: Final = Run("other", "t-2", "repo:o/b")
HASH: Final = "f" * 64


class Overheard:
    """Everybody who begins a request, as whoever listens on the wire knows it."""

    name: str = "overheard"
    sees: tuple[str, ...] = ("call Registry.begin_keyed",)
    level: int = 1

    def __init__(self, fleet: Fleet) -> None:
        """Listen to *fleet*."""
        self.begins: list[tuple[Any, ...]] = []
        fleet.log.watch(self, None)

    def see(self, seen: Seen[None]) -> None:
        """Remember who begins what."""
        call: Call = seen.entry.data
        if not call.caller.startswith(STRANGER):
            self.begins.append(call.arguments)

    async def begin_of(self, kind: str) -> tuple[Any, ...]:
        """Return what the next begin of *kind* says; looks every second for a few minutes."""
        for _ in range(200):
            found = [each for each in self.begins if each[2] == kind]
            if found:
                return found[-1]
            await trio.sleep(1)
        return ("none", HASH, kind, {})


class Busy(Program):
    """Another caller, whose requests are short and many."""

    def __init__(self, name: str, times: int) -> None:
        self.name = name
        self.times = times

    async def run(self) -> None:
        """Ask for a permit and settle it, time after time."""
        for number in range(self.times):
            origin = {"actor": self.name, "request": str(number)}
            await with_permit(self, "op", origin, self.work)

    async def work(self, permit: str) -> None:
        """Do nothing that takes time."""
        del permit


async def one_request(fleet: Fleet, run: Run = RUN, work: str = "write run:5 save") -> None:
    """Let *run* attach, work and end."""
    await begun(fleet, run, work=work)
    await ended(fleet, run)


async def told(call: Awaitable[Any]) -> Any:
    """Return what *call* was granted, or None."""
    outcome: Outcome[Any] = await attempt(call)
    return outcome.value if isinstance(outcome, Granted) else None


async def one_deploy(fleet: Fleet) -> dict[str, Any]:
    """Deploy, and return the report."""
    return await deploy(fleet, fleet.artifact()).report()


def busy(fleet: Fleet, name: str, times: int) -> Any:
    """Start another caller."""
    fleet.world.env["fleet"] = fleet.deployment(fleet.ground.versions[-1])
    return fleet.world.start(Busy(name, times), name)


@scenario(
    faults=(Crash("Resident", at_most=1), Crash(NativeContainer, at_most=1)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def caller_dies_at_work(world: World) -> None:
    """A caller dies between submission and its end; its permit stays, whatever comes (G24)."""
    fleet = set_fleet(world)
    await one_request(fleet, work="write run:60 save")
    await fleet.ask("operator", "POST", "/drain", {"minutes": 20}, scope="drain")
    await trio.sleep(25 * 60)
    await one_deploy(fleet)
    await closing(fleet)


@scenario(
    faults=(LoseReply("Registry.begin_deploy_admission", at_most=1), *BEGIN_LOST),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def begin_reply_lost(world: World) -> None:
    """The reply of a begin is lost: the caller knows the id that it made itself (G25)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_deploy(fleet)
    await closing(fleet)


@scenario(faults=BEGIN_LOST, properties=EVERYWHERE, settle_s=8_000)
async def late_begin(world: World) -> None:
    """A begin comes later than its caller waits: it is read once, and never sent again (G26)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_request(fleet, OTHER)
    await closing(fleet)


@scenario(faults=BEGIN_LOST, properties=EVERYWHERE, settle_s=8_000)
async def absent_is_not_refused(world: World) -> None:
    """A row that is not there yet is no refusal: the request is not begun anew (G27)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_deploy(fleet)
    await closing(fleet)


@scenario(
    faults=(LoseRequest(BEGIN, at_most=2), *BEGIN_LOST[1:]), properties=EVERYWHERE, settle_s=8_000
)
async def row_of_another(world: World) -> None:
    """A copier's row stands under the id of a begin that was lost: another hash (G28)."""
    fleet = set_fleet(world)
    heard = Overheard(fleet)

    async def copy() -> None:
        permit, _, kind, producer = await heard.begin_of("exec")
        await trio.sleep(2)
        registry = fleet.registry(f"{STRANGER} who copies")
        await told(registry.begin_keyed(permit, HASH, kind, producer))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(copy)
        await one_request(fleet)
    await closing(fleet)


@scenario(faults=BEGIN_LOST, properties=EVERYWHERE, settle_s=8_000)
async def one_read(world: World) -> None:
    """After an uncertain begin the row is read once; nobody waits for it to come (G29)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await closing(fleet)


@scenario(
    faults=(Crash("Resident", at=("await",), at_most=2), Restart("Resident", at_most=1)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def asked_again_after_restart(world: World) -> None:
    """A caller restarts, and the same request is delivered again: it is a new one (G30)."""
    fleet = set_fleet(world)
    for _ in range(3):
        await begun(fleet, RUN, work="write run:5 save")
    await ended(fleet, RUN)
    await closing(fleet)


@scenario(
    faults=(DuplicateRequest(BEGIN, weight=3), LoseReply(BEGIN), CorruptReply(BEGIN)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def begin_twice(world: World) -> None:
    """A begin arrives twice, and what is heard first is that the id exists (G31)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await closing(fleet)


@scenario(faults=(*BEGIN_LOST, *END_LOST), properties=EVERYWHERE, settle_s=8_000)
async def hash_is_fixed(world: World) -> None:
    """The hash of a request is made once, before its first call (G32)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await closing(fleet)


@scenario(faults=END_LOST, properties=EVERYWHERE, settle_s=8_000)
async def end_and_recovery(world: World) -> None:
    """An end never arrives, and an operator recovers the row: absence is no receipt (G33)."""
    fleet = set_fleet(world)
    heard = Overheard(fleet)

    async def recover_it() -> None:
        permit, *_ = await heard.begin_of("exec")
        await trio.sleep(12)
        await fleet.ask("operator", "POST", "/drain", {"minutes": 90}, scope="drain")
        await recovered(fleet, permit)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(recover_it)
        await begun(fleet, RUN)
        await ended(fleet, RUN)
        await told(
            fleet.resident("bot", RUN.resource).exec(
                RUN.thread, *RUN.triple, {"actor": "bot", "request": "late"}, "save"
            )
        )
    await closing(fleet)


async def recovered(fleet: Fleet, permit: str) -> Mapping[str, Any] | None:
    """Recover *permit* by its quote at the Registry, in the operator's own hand."""
    registry = fleet.registry("operator")
    quote = await told(registry.quote_admission(permit))
    if quote is None or quote["quote"] is None:
        return None
    body = {
        "id": permit, "evidence": f"https://evidence.example/{permit}",
        "expectedStartedAt": quote["quote"]["startedAt"],
        "expectedRecordSha256": quote["quote"]["recordSha256"], "disposition": "request-ended",
    }  # fmt: skip
    await fleet.ask("operator", "POST", "/recover-quoted-admission", body, scope="admin")
    return body


@scenario(
    faults=(Crash(Registry, at=("after commit", "before commit"), at_most=2), *END_LOST[:4]),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def settled_in_one(world: World) -> None:
    """The Registry dies around an end: row and receipt have changed places, or not (G34)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_request(fleet, OTHER)
    await one_deploy(fleet)
    await closing(fleet)


@scenario(
    faults=(Crash(Registry, at=("after commit", "before commit"), at_most=2), *END_LOST[:4]),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def receipt_with_its_row(world: World) -> None:
    """The Registry dies around an end: no receipt stands beside its row (G35)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_request(fleet, OTHER)
    await one_deploy(fleet)
    await closing(fleet)


@scenario(
    faults=(LoseReply(END, caller="Resident/repo:o/a", at_most=2), LoseRequest(END, at_most=1)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def end_of_many(world: World) -> None:
    """So many requests end that the receipt of one is gone before it is read (G36)."""
    fleet = set_fleet(world, machines=1)
    heard = Overheard(fleet)

    async def crowd() -> None:
        await heard.begin_of("exec")
        await trio.sleep(5)
        await busy(fleet, "busy", 135).ended()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(crowd)
        await one_request(fleet, work="write run:2 save")
    await closing(fleet)


@scenario(
    faults=(FailWrite("Resident", at_most=1), CorruptReply(NativeContainer, at_most=2)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def work_fails(world: World) -> None:
    """What is done under a permit fails: the permit is ended all the same (LIV-05)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN)
    stranger = Run("nobody", RUN.thread)
    await told(
        fleet.resident("bot", RUN.resource).exec(
            stranger.thread, *stranger.triple, {"actor": "bot", "request": "1"}, "write"
        )
    )
    await ended(fleet, RUN)
    await closing(fleet)


STORIES: Final = (
    caller_dies_at_work,
    begin_reply_lost,
    late_begin,
    absent_is_not_refused,
    row_of_another,
    one_read,
    asked_again_after_restart,
    begin_twice,
    hash_is_fixed,
    end_and_recovery,
    settled_in_one,
    receipt_with_its_row,
    end_of_many,
    work_fails,
)
"""Every story told here, in order."""

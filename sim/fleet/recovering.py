"""Stories of quoted recoveries: what an admin may retire, on what evidence, and what stays unknown.

The names are those of the races that they tell (spec/deploy-fence.md G.3).
"""

from collections.abc import Mapping
from typing import Any, Final

import trio

from ...actors.fleet import Granted, Quote, attempt, quote_of
from ...wire import content_hash
from ..faults import CorruptReply, LoseReply, LoseRequest
from ..scenario import scenario
from ..world import World
from .acting import recover, surely
from .attempting import retained, slow_fleet
from .deploying import ANYTHING, closing
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import L2, set_fleet

__all__ = [
    "STORIES",
    "g44_row_rewritten",
    "g46_lost_commit",
    "g47_second_recovery",
    "g48_late_commit",
    "g49_no_receipt",
    "g50_words_of_a_recovery",
    "g51_old_service",
    "g52_old_tool",
    "g53_abandonment",
    "g55_late_end",
    "g56_member_that_refreshes",
    "g57_audit_of_another",
]

PERMIT: Final = "33333333-3333-4333-8333-333333333333"
HASH: Final = "e" * 64
DRAIN: Final = {"minutes": 90}
LINK: Final = f"https://evidence.example/{PERMIT}"
OTHER_LINK: Final = "https://evidence.example/of/somebody/else"
COMMIT: Final = "Registry.recover_quoted"
ROUTE: Final = "/recover-quoted-admission"
COMMIT_LOST: Final = (
    LoseReply(COMMIT, at_most=2), CorruptReply(COMMIT, at_most=1), LoseRequest(COMMIT, at_most=1),
)  # fmt: skip


def producer_of(fleet: Fleet) -> dict[str, Any]:
    """Return the Worker that runs, as the Registry is told it."""
    return fleet.deployment(fleet.ground.versions[-1]).producer.wire()


async def debt(fleet: Fleet) -> None:
    """Leave a permit behind whose stack is gone, and drain the fleet."""
    registry = fleet.registry("stranger")
    await surely(lambda: registry.begin_keyed(PERMIT, HASH, "exec", producer_of(fleet)))
    await surely(lambda: fleet.registry("stranger").drain(90, "admin", "recovery"))


async def quoted(fleet: Fleet, who: str = "admin") -> Quote | None:
    """Read the quote of the permit."""
    read = await fleet.ask(
        who, "GET", "/deploy-admissions", {}, scope="admin", query={"id": PERMIT}
    )
    return quote_of(read.value, PERMIT) if isinstance(read, Granted) else None


async def post(fleet: Fleet, quote: Quote, who: str = "admin", **change: Any) -> Any:
    """Ask for a recovery; *change* replaces fields of the body, None leaves one out."""
    body: dict[str, Any] = {
        "id": quote.id, "evidence": LINK, "expectedStartedAt": quote.started_at,
        "expectedRecordSha256": quote.record_sha256, "disposition": "request-ended", **change,
    }  # fmt: skip
    body = {key: value for key, value in body.items() if value is not None}
    return await fleet.ask(who, "POST", ROUTE, body, scope="admin")


def rewritten(fleet: Fleet, change: Mapping[str, Any]) -> None:
    """Let something rewrite the row of the permit, behind everybody's back."""
    row = fleet.log.permits.get(PERMIT)
    if row is not None:
        fleet.store("Registry", "registry", {f"deploy:admission:{PERMIT}": {**row, **change}})
        fleet.machines["registry"].crash("to read it again")


async def fence_of(fleet: Fleet, kind: str) -> str:
    """Wait until a fence of *kind* stands, for a minute, and return its id."""
    for _ in range(600):
        fence = fleet.log.fence
        if fence is not None and fence["owner"]["kind"] == kind:
            return str(fence["fenceId"])
        await trio.sleep(0.1)
    return "none"


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000,
    parameters={"change": ["kind", "start"]},
)  # fmt: skip
async def g44_row_rewritten(world: World, change: str) -> None:
    """G44, G45: a row that changes between quote and deletion stays, whatever has changed."""
    fleet = slow_fleet(world)
    await retained(fleet)
    await debt(fleet)
    row = fleet.log.permits.get(PERMIT, {"startedAt": 0})
    changed = {"kind": "op"} if change == "kind" else {"startedAt": row["startedAt"] + 1}

    async def rewrite() -> None:
        await fence_of(fleet, "recovery")
        await trio.sleep(10)
        rewritten(fleet, changed)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(rewrite)
        await recover(fleet, PERMIT)
    await closing(fleet)


@scenario(faults=COMMIT_LOST, properties=EVERYWHERE, settle_s=8_000)
async def g46_lost_commit(world: World) -> None:
    """G46: a deletion of which no answer comes buys one read, and is not sent again."""
    fleet = set_fleet(world)
    await debt(fleet)
    await recover(fleet, PERMIT)
    await quoted(fleet)
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g47_second_recovery(world: World) -> None:
    """G47: a second recovery with other evidence leaves the first one's audit as it is."""
    fleet = set_fleet(world)
    await debt(fleet)
    quote = await quoted(fleet)
    await recover(fleet, PERMIT)
    if quote is not None:
        await post(fleet, quote, evidence=OTHER_LINK)
        await late_deletion(fleet, quote, OTHER_LINK)
    await closing(fleet)


async def late_deletion(fleet: Fleet, quote: Quote, link: str) -> None:
    """Send a deletion under a recovery's fence, as one that was on its way for long arrives."""
    registry = fleet.registry("stranger")
    owner = {"kind": "recovery", "ref": "late"}
    fence = await attempt(registry.set_fence(owner, producer_of(fleet), []))
    if isinstance(fence, Granted):
        await attempt(deletion(fleet, quote, link, fence.value["fenceId"]))
        await attempt(registry.withdraw_fence(fence.value["fenceId"]))


def deletion(fleet: Fleet, quote: Quote, link: str, fence_id: str) -> Any:
    """Return the call of the Registry that deletes the permit."""
    return fleet.registry("stranger").recover_quoted(
        quote.id, quote.started_at, quote.record_sha256, content_hash(link), fence_id,
        producer_of(fleet),
    )  # fmt: skip


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g48_late_commit(world: World) -> None:
    """G48: a deletion that arrives when another fence stands deletes nothing."""
    fleet = slow_fleet(world)
    await retained(fleet)
    await debt(fleet)
    quote = await quoted(fleet)

    async def arrive_late() -> None:
        await fence_of(fleet, "preflight")
        if quote is not None:
            await attempt(deletion(fleet, quote, LINK, "of-long-ago"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(arrive_late)
        await fleet.ask("runner", "POST", "/deploy-fence", {}, scope="drain")
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g49_no_receipt(world: World) -> None:
    """G49: that everything is idle is no evidence that a request ended."""
    fleet = set_fleet(world)
    await debt(fleet)
    quote = await quoted(fleet)
    if quote is not None:
        await post(fleet, quote, evidence=None)
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g50_words_of_a_recovery(world: World) -> None:
    """G50, G54: a recovery says what a person attested, and changes nothing but the permit."""
    fleet = set_fleet(world)
    await retained(fleet)
    await debt(fleet)
    await fleet.ask("admin", "GET", "/deploy-admissions", {}, scope="admin")
    await recover(fleet, PERMIT)
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g51_old_service(world: World) -> None:
    """G51, G58: where no quote is given, the tool stops."""
    fleet = set_fleet(world, level=L2)
    await debt(fleet)
    await recover(fleet, PERMIT)
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g52_old_tool(world: World) -> None:
    """G52: the route of older tools is there, and deletes nothing."""
    fleet = set_fleet(world)
    registry = fleet.registry("stranger")
    begun = await attempt(registry.begin_deploy_admission("exec"))
    await debt(fleet)
    named = begun.value["id"] if isinstance(begun, Granted) else PERMIT
    body = {"id": named, "evidence": LINK}
    await fleet.ask("old tool", "POST", "/recover-admission", body, scope="admin")
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g53_abandonment(world: World) -> None:
    """G53: no flag, no version and no count of processes abandons a request."""
    fleet = set_fleet(world)
    await debt(fleet)
    quote = await quoted(fleet)
    if quote is not None:
        await post(fleet, quote, abandoned=True, newVersion="v", processes=0)
        await post(fleet, quote, disposition="abandoned")
    await closing(fleet)


@scenario(faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000)
async def g55_late_end(world: World) -> None:
    """G55: a caller that was thought dead ends its permit after it was recovered."""
    fleet = set_fleet(world)
    await debt(fleet)
    await recover(fleet, PERMIT)
    await attempt(fleet.registry("stranger").end_keyed(PERMIT, HASH, producer_of(fleet)))
    await closing(fleet)


@scenario(
    faults=ANYTHING, properties=EVERYWHERE, settle_s=8_000,
    parameters={"state": ["refreshing", "restoring", "onboarding"]},
)  # fmt: skip
async def g56_member_that_refreshes(world: World, state: str) -> None:
    """G56: a recovery does not meet a member that is on its way, as a deploy may."""
    fleet = set_fleet(world)
    fleet.store("Resident", "repo:o/b", {"state": state, "physicalMember": "member-2"})
    await debt(fleet)
    await recover(fleet, PERMIT)
    await closing(fleet)


@scenario(faults=COMMIT_LOST, properties=EVERYWHERE, settle_s=8_000)
async def g57_audit_of_another(world: World) -> None:
    """G57: an audit that another recovery wrote meanwhile is no proof of one's own."""
    fleet = slow_fleet(world)
    await retained(fleet)
    await debt(fleet)
    quote = await quoted(fleet)
    if quote is None:
        return

    async def overtake() -> None:
        fence_id = await fence_of(fleet, "recovery")
        await post(fleet, quote, "other admin", evidence=OTHER_LINK)
        await attempt(deletion(fleet, quote, OTHER_LINK, fence_id))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(overtake)
        await post(fleet, quote)
    await closing(fleet)


STORIES: Final = (
    g44_row_rewritten, g46_lost_commit, g47_second_recovery, g48_late_commit, g49_no_receipt,
    g50_words_of_a_recovery, g51_old_service, g52_old_tool, g53_abandonment, g55_late_end,
    g56_member_that_refreshes, g57_audit_of_another,
)  # fmt: skip
"""All of them."""

"""Stories of strangers at the permits: who ends, reuses or quotes what is not theirs; rollback.

Source: spec/deploy-fence.md G.2 (G37 to G43), L (scenarios added).
"""

from typing import Any, Final

import trio

from ...actors import WebRequest
from ...actors.fleet import Registry
from ..faults import Crash, LoseReply, LoseRequest
from ..scenario import scenario
from ..world import World
from .acting import Run, begun, ended
from .deploying import closing
from .fleet import Fleet
from .invariants import EVERYWHERE
from .levels import L1, set_fleet
from .permitting import (
    END_LOST,
    HASH,
    OTHER,
    RUN,
    Overheard,
    busy,
    one_deploy,
    one_request,
    recovered,
    told,
)
from .plane import NativeContainer
from .stacks import STRANGER

__all__ = [
    "STORIES",
    "abandoned_and_alive",
    "begin_after_eviction",
    "end_by_a_stranger",
    "end_by_old_code",
    "end_is_not_done",
    "end_lost",
    "gate_and_row_in_one",
    "permit_gives_no_right",
    "retired_id",
    "rollback_with_debt",
    "second_end",
    "two_debts",
]

DEBT = "99999999-9999-4999-8999-999999999999"
OLDER = "88888888-8888-4888-8888-888888888888"
DRAIN = {"minutes": 90}


def debt_row(fleet: Fleet, provenance: str | None = HASH) -> dict[str, object]:
    """Return the row of a permit whose caller is long dead."""
    row: dict[str, object] = {"startedAt": fleet.ground.now_ms - 3_600_000, "kind": "exec"}
    return row if provenance is None else {**row, "provenanceSha256": provenance, "schema": 2}


@scenario(properties=EVERYWHERE, settle_s=8_000)
async def end_by_a_stranger(world: World) -> None:
    """Somebody ends an id that the inventory showed: the hash is not theirs to name (G37)."""
    fleet = set_fleet(world)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_request, fleet, RUN, "write run:20 save")
        await trio.sleep(15)
        registry = fleet.registry(f"{STRANGER} with a list")
        listed: Any = await told(registry.list_admissions())
        for row in listed["admissions"]:
            await told(registry.end_keyed(row["id"], HASH, {}))
    await closing(fleet)


@scenario(properties=EVERYWHERE, settle_s=8_000)
async def end_by_old_code(world: World) -> None:
    """An old isolate ends a keyed permit as it ends its own: the row stays (G38)."""
    fleet = set_fleet(world)
    heard = Overheard(fleet)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_request, fleet, RUN, "write run:20 save")
        permit, *_ = await heard.begin_of("exec")
        await trio.sleep(1)
        registry = fleet.registry(f"{STRANGER} of old code")
        await told(registry.end_deploy_admission(permit))
    await closing(fleet)


@scenario(
    faults=(Crash(NativeContainer, at=("await",), at_most=2), LoseRequest(NativeContainer.submit)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def end_is_not_done(world: World) -> None:
    """A permit ends while nobody knows what became of its work: the outcome stays open (G39)."""
    fleet = set_fleet(world)
    await begun(fleet, RUN, work="write run:30 save")
    await one_deploy(fleet)
    await ended(fleet, RUN)
    await closing(fleet)


@scenario(
    parameters={"after": [0, 0.5, 1, 2, 3]}, properties=EVERYWHERE, settle_s=8_000,
)  # fmt: skip
async def gate_and_row_in_one(world: World, after: float) -> None:
    """A begin and a fence meet at the Registry: whichever is first, the other sees it (G40)."""
    fleet = set_fleet(world)

    async def come() -> None:
        for number in range(30):
            await trio.sleep(after + 1)
            await begun(fleet, Run(f"r-{number}", f"t-{number}"))
            await ended(fleet, Run(f"r-{number}", f"t-{number}"))

    await one_request(fleet, work="write save")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(come)
        await trio.sleep(5)
        await one_deploy(fleet)
    await closing(fleet)


@scenario(properties=EVERYWHERE, settle_s=8_000)
async def retired_id(world: World) -> None:
    """An id that was recovered is begun again: it is spent for ever (G41)."""
    fleet = set_fleet(world)
    fleet.store("Registry", "registry", {f"deploy:admission:{DEBT}": debt_row(fleet)})
    await fleet.ask("operator", "POST", "/drain", DRAIN, scope="drain")
    await recovered(fleet, DEBT)
    registry = fleet.registry(f"{STRANGER} who is late")
    await told(registry.begin_keyed(DEBT, HASH, "exec", {}))
    await one_deploy(fleet)
    await closing(fleet)


@scenario(properties=EVERYWHERE, settle_s=8_000)
async def permit_gives_no_right(world: World) -> None:
    """A request without a credential quotes a live permit: that is no right (G42)."""
    fleet = set_fleet(world)
    fleet.store("Registry", "registry", {f"deploy:admission:{DEBT}": debt_row(fleet)})
    router = world.client(f"{STRANGER} without a bearer").worker(fleet.code.router)
    for path in ("/deploy-admissions", "/drain", "/undrain"):
        method = "GET" if path == "/deploy-admissions" else "POST"
        headers = {"x-permit": DEBT}
        await told(router.fetch(WebRequest(method, path, headers=headers, body={"permit": DEBT})))
    await closing(fleet)


@scenario(faults=END_LOST, properties=EVERYWHERE, settle_s=8_000)
async def second_end(world: World) -> None:
    """The reply of an end is lost: there is one end, and one read of its receipt (G43)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_request(fleet, OTHER)
    await closing(fleet)


@scenario(
    faults=(LoseReply("Registry.recover_quoted", at_most=1), Crash(Registry, at_most=1)),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def two_debts(world: World) -> None:
    """Two debts block a deploy; each is recovered by itself, whatever the other is (LIV-06)."""
    fleet = set_fleet(world)
    rows = {
        f"deploy:admission:{DEBT}": debt_row(fleet),
        f"deploy:admission:{OLDER}": debt_row(fleet, None),
    }
    fleet.store("Registry", "registry", rows)
    await one_deploy(fleet)
    for permit in (DEBT, OLDER):
        await fleet.ask("operator", "POST", "/drain", DRAIN, scope="drain")
        await recovered(fleet, permit)
    await one_deploy(fleet)
    await closing(fleet)


# ---- added by section L


@scenario(faults=END_LOST[:2], properties=EVERYWHERE, settle_s=8_000)
async def begin_after_eviction(world: World) -> None:
    """A copy of a begin comes after its receipt was evicted: debt, and never work (L)."""
    fleet = set_fleet(world, machines=1)
    heard = Overheard(fleet)
    await one_request(fleet, work="write save")
    await busy(fleet, "busy", 135).ended()
    begin = heard.begins[0]
    await told(fleet.registry(f"{STRANGER}: the network").begin_keyed(*begin))
    await one_deploy(fleet)
    await closing(fleet)


@scenario(
    faults=(LoseRequest(Registry.end_keyed, at_most=2), *END_LOST),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def end_lost(world: World) -> None:
    """An end request is lost: the permit is debt, and blocks until it is recovered (L)."""
    fleet = set_fleet(world)
    await one_request(fleet)
    await one_deploy(fleet)
    await closing(fleet)
    for permit in sorted(fleet.log.permits):
        await fleet.ask("operator", "POST", "/drain", {"minutes": 90}, scope="drain")
        await recovered(fleet, permit)
    await one_deploy(fleet)
    await closing(fleet)


@scenario(faults=END_LOST, properties=EVERYWHERE, settle_s=8_000)
async def abandoned_and_alive(world: World) -> None:
    """A caller is given up and recovered, and lives: its late end finds no permit (L)."""
    fleet = set_fleet(world)
    heard = Overheard(fleet)

    async def give_up() -> None:
        permit, *_ = await heard.begin_of("exec")
        await trio.sleep(60)
        await fleet.ask("operator", "POST", "/drain", DRAIN, scope="drain")
        await recovered(fleet, permit)
        await trio.sleep(600)
        await recovered(fleet, permit)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(give_up)
        await one_request(fleet, RUN, "write run:400 save")
    await closing(fleet)


@scenario(
    faults=(Crash("Resident", at=("await",), at_most=1), *END_LOST[:2]),
    properties=EVERYWHERE,
    settle_s=8_000,
)
async def rollback_with_debt(world: World) -> None:
    """Old code comes back over keyed permits, and new code after it: what stands is debt (L)."""
    fleet = set_fleet(world)
    new = fleet.code
    await one_request(fleet, RUN, "write run:5 save")
    fleet.store("Registry", "registry", {f"deploy:admission:{DEBT}": debt_row(fleet)})
    fleet.upload(fleet.artifact(L1))
    await one_request(fleet, OTHER, "write save")
    fleet.upload(fleet.artifact(new))
    await fleet.ask("operator", "POST", "/drain", DRAIN, scope="drain")
    await recovered(fleet, DEBT)
    await one_deploy(fleet)
    await closing(fleet)


STORIES: Final = (
    end_by_a_stranger,
    end_by_old_code,
    end_is_not_done,
    gate_and_row_in_one,
    retired_id,
    permit_gives_no_right,
    second_end,
    two_debts,
    begin_after_eviction,
    end_lost,
    abandoned_and_alive,
    rollback_with_debt,
)
"""Every story told here, in order."""

"""Drain records across versions (H.7): written by one level, read by another, mixed, rolled back.

Only since, until, by and reason are asked for; an older fence without an id is named by its drain
and its Worker, so that fence and closure survive the swap. A test for each cell.
"""

from typing import Any

import attrs
import pytest
import trio

from durasim.actors.fleet import Granted, Refused, attempt
from durasim.sim import World
from durasim.sim.fleet.acting import begun
from durasim.sim.fleet.fleet import CodeLevel, Fleet
from durasim.sim.fleet.levels import L1, L2, L5, set_fleet
from durasim.wire import content_hash

from .skew import RUN, drained, fenced, holds

SWAPS = ("upload", "registry only", "router only", "rolled back")
"""How the reader's code comes: to all machines, to some, or away again after the writer's."""
RECORDS = ("drain", "fence", "withdrawn fence", "hold")


@attrs.frozen
class Cell:
    """One cell of the table."""

    writer: CodeLevel
    reader: CodeLevel
    record: str
    swap: str

    def __str__(self) -> str:
        numbers = f"L{self.writer.number}-L{self.reader.number}"
        return f"{numbers}-{self.record}-{self.swap}".replace(" ", "_")


CELLS = [
    Cell(writer, reader, record, swap)
    for writer, reader in ((L1, L5), (L5, L1), (L2, L5), (L5, L2), (L1, L1), (L5, L5))
    for record in RECORDS
    for swap in SWAPS
]
each_cell = pytest.mark.parametrize("cell", CELLS, ids=str)


async def written(fleet: Fleet, record: str) -> None:
    """Have the deployed code write a record."""
    if record == "drain":
        await drained(fleet)
    elif record == "hold":
        await drained(fleet)
        await fleet.registry("member").hold_for("repo:o/a", "token")
    else:
        await fenced(fleet)
    if record == "withdrawn fence":
        fence = fleet.log.fence
        assert fence is not None
        said = await fleet.registry("router").withdraw_fence(fence["fenceId"])
        assert said["withdrawn"] is True


def swapped(fleet: Fleet, cell: Cell) -> None:
    """Bring the reader's code in."""
    if cell.swap == "registry only":
        fleet.upload(fleet.artifact(cell.reader), machines=["registry"])
    elif cell.swap == "router only":
        fleet.upload(fleet.artifact(cell.reader), machines=["router"])
    else:
        fleet.upload(fleet.artifact(cell.reader))
    if cell.swap == "rolled back":
        fleet.upload(fleet.artifact(cell.writer))


async def story_of(world: World, cell: Cell) -> tuple[Fleet, dict[str, Any]]:
    """Tell the beginning: written, then swapped; returns the record as it was written."""
    fleet = set_fleet(world, level=cell.writer)
    await written(fleet, cell.record)
    drain = fleet.log.drain
    assert drain is not None
    await trio.sleep(1)
    swapped(fleet, cell)
    return fleet, dict(drain)


@each_cell
def test_a_drain_lives_on_under_the_other_code(cell: Cell) -> None:
    """It is read as it was, and refuses a new run; whether it carries a fence is seen, too."""

    async def story(world: World) -> None:
        fleet, drain = await story_of(world, cell)
        read = await fleet.registry("anybody").draining()
        same = ("since", "until", "by", "reason", "swapVersion", "swapAt", "swapBuild")
        assert {key: read.get(key) for key in same} == {key: drain.get(key) for key in same}
        assert read["swapFence"] is (cell.record == "fence")
        said = await begun(fleet, RUN)
        assert isinstance(said, Refused), said
        if cell.swap not in ("registry only", "router only"):
            assert said.code == ("FENCED" if cell.record == "fence" else "DRAINING")

    holds(story)


@each_cell
def test_a_fence_is_one_and_the_same_fence_under_the_other_code(cell: Cell) -> None:
    """No second one is set while it stands; a withdrawal names it, a later drain does not."""

    async def story(world: World) -> None:
        fleet, drain = await story_of(world, cell)
        again = await fleet.ask("operator", "POST", "/drain", {"minutes": 90}, scope="drain")
        if cell.record != "fence":
            assert isinstance(again, Granted), again
            return
        assert isinstance(again, Refused)
        assert again.code == "DRAIN_FENCED"
        owner = {"kind": "preflight", "ref": "x"}
        by = fleet.deployment(fleet.ground.versions[-1]).producer.wire()
        second = await attempt(fleet.registry("other").set_fence(owner, by, []))
        assert isinstance(second, Refused)
        assert second.code == "FENCE_UNAVAILABLE"
        named = drain.get("fenceId") or content_hash(
            [drain["since"], drain["until"], drain["swapVersion"]]
        )
        fence = fleet.log.fence
        assert fence is not None
        assert fence["fenceId"] == named
        taken = await fleet.registry("other").withdraw_fence(named)
        assert taken["withdrawn"] is True
        assert fleet.log.fence is None
        assert fleet.log.drain is not None

    holds(story)


@each_cell
def test_only_a_worker_of_after_the_upload_lifts_a_fenced_drain(cell: Cell) -> None:
    """Whoever set the fence, and whoever runs older code of before it, may not."""

    async def story(world: World) -> None:
        fleet, _ = await story_of(world, cell)
        said = await fleet.ask("runner", "POST", "/undrain", {}, scope="drain")
        is_old_router = cell.swap == "registry only"
        if cell.record == "fence" and is_old_router:
            assert isinstance(said, Refused)
            assert said.code == "PRE_UPLOAD_WORKER"
            return
        assert isinstance(said, Granted), said
        if cell.record == "hold":
            assert (said.value["cleared"], said.value["held"]) == (False, ["repo:o/a"])
        else:
            assert said.value["cleared"] is True
            assert fleet.log.drain is None

    holds(story)


@pytest.mark.parametrize("missing", ["since", "until", "by", "reason"])
def test_a_row_without_what_every_level_writes_is_no_drain(missing: str) -> None:
    """It closes nothing, and a new drain takes its place."""

    async def story(world: World) -> None:
        fleet = set_fleet(world)
        now = fleet.ground.now_ms
        row = {"since": now, "until": now + 3_600_000, "by": "x", "reason": "y"}
        del row[missing]
        fleet.store("Registry", "registry", {"drain": row})
        assert await fleet.registry("anybody").draining() is None
        assert isinstance(await begun(fleet, RUN), Granted)
        await drained(fleet)

    holds(story)


def test_a_row_with_only_what_every_level_writes_is_a_drain() -> None:
    """Nothing else is asked for."""

    async def story(world: World) -> None:
        fleet = set_fleet(world)
        now = fleet.ground.now_ms
        row = {"since": now, "until": now + 3_600_000, "by": "x", "reason": "y"}
        fleet.store("Registry", "registry", {"drain": row})
        assert (await fleet.registry("anybody").draining())["until"] == row["until"]
        assert isinstance(await begun(fleet, RUN), Refused)

    holds(story)

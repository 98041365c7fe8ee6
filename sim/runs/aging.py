"""Keys and runs that grow old: what is purged, what is kept, what is outstanding (5.4, 5.5)."""

from typing import Any

import trio

from ..scenario import scenario
from ..world import World
from .bystanders import inventory, purge, rewire, row_of
from .deployment import Design, Topology, set_stage
from .properties import STRICTLY, refused_runs_leave_nothing
from .setting import EACH, RESERVATIONS
from .standing import readable_runs_keep_their_keys
from .watching import is_table

__all__ = ["STORIES", "abandoned_key", "purged_unkeyed", "short_horizon", "spent_and_purged"]

DAY_S = 86_400


@scenario(properties=(*STRICTLY, readable_runs_keep_their_keys), parameters=EACH)
async def spent_and_purged(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A run is purged before its key: settled, no fresh run; a purged key is a new one (8, 2.6)."""
    stage = await set_stage(world, topology, design)
    rewire(stage, key_retention_days=90)
    first = await stage.start("key-1")
    await trio.sleep(31 * DAY_S)
    assert await purge(stage) == {"runs": 1, "spent": 0, "reservations": 0}
    answer = await stage.start("key-1")
    told = (answer.status, answer.code, answer.run_id)
    assert told == (409, "IDEMPOTENT_START_ALREADY_SETTLED", first.run_id)
    await trio.sleep(62 * DAY_S)
    assert await purge(stage) == {"runs": 0, "spent": 0, "reservations": 1}
    again = await stage.start("key-1")
    assert again.status == 200
    assert again.run_id != first.run_id, "a new key means the run of an old one"


@scenario(properties=(*STRICTLY, readable_runs_keep_their_keys), parameters=EACH)
async def short_horizon(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Keys are to be kept for a week and runs for a month: both are kept for a month (51)."""
    stage = await set_stage(world, topology, design)
    rewire(stage, key_retention_days=7)
    first = await stage.start("key-1")
    await trio.sleep(8 * DAY_S)
    assert await purge(stage) == {"runs": 0, "spent": 0, "reservations": 0}
    again = await stage.start("key-1")
    assert (again.status, again.run_id) == (200, first.run_id)
    await trio.sleep(23 * DAY_S)
    assert await purge(stage) == {"runs": 1, "spent": 0, "reservations": 1}


@scenario(properties=STRICTLY, parameters=EACH)
async def purged_unkeyed(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Nobody has used a key: the purge works, and neither it nor a look makes a table (53, 54).

    A run without a key is purged as any other.
    """
    stage = await set_stage(world, topology, design)
    assert (await stage.start(None)).status == 200
    await trio.sleep(31 * DAY_S)
    await inventory(stage)
    assert await purge(stage) == {"runs": 1, "spent": 0, "reservations": 0}
    assert (await inventory(stage))["empty"]
    assert not is_table(world, RESERVATIONS), "looking and purging have made a table of keys"


def outstanding(sweep: dict[str, Any]) -> list[str]:
    """Return the runs of keys that are not finished, as a sweep says."""
    return [each["run_id"] for each in sweep["categories"]["start-reservations"]["items"]]


@scenario(properties=(*STRICTLY, refused_runs_leave_nothing), parameters=EACH)
async def abandoned_key(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A key is refused while draining and never asked for again: it stays outstanding (48).

    No purge deletes it, whatever its age, and it stands in the way of the proof that a deployment
    has drained, until it is asked for again and its run has ended.
    """
    stage = await set_stage(world, topology, design)
    await stage.surely_move("open", "draining")
    assert (await stage.start("key-1")).code == "EXECUTION_FENCED"
    row = row_of(world, "key-1")
    assert row is not None
    for days in (0, 31, 365):
        await trio.sleep(days * DAY_S)
        await purge(stage)
        sweep = await inventory(stage)
        assert not sweep["empty"], "a key is outstanding, and the inventory is empty"
        assert outstanding(sweep) == [row.run_id]
    await stage.surely_move("draining", "open")
    final = await stage.until_done("key-1")
    assert (final.status, final.run_id) == (200, row.run_id)
    await stage.surely_move("open", "draining")
    assert (await inventory(stage))["empty"], "everything is finished, and something outstanding"


STORIES = (abandoned_key, purged_unkeyed, short_horizon, spent_and_purged)
"""What age does to keys."""

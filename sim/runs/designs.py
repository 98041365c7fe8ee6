"""Designs of giving back, compared: the same plans, which some stand and others do not (8.2)."""

import attrs
import trio

from ..comparison import Comparison
from ..faults import Crash, Evict, LoseQuery, LoseQueryReply, LoseReply, LoseRequest
from ..ledger import Entry
from ..scenario import scenario
from ..world import World
from .delivered import duplicate_start, stale_release
from .deployment import Design, Topology, set_stage
from .notes import told
from .properties import CLAIMS, execution_is_single, given_back_unstarted
from .setting import OBJECTS, RESERVATIONS, STEADFAST, at_runs, start_as
from .watching import Watched, Watching

__all__ = ["COMPARISONS", "each_key_comes_back", "never_stuck"]


@attrs.define
class Begun:
    """Which keys have begun."""

    keys: set[str] = attrs.field(factory=set[str])


class EachKeyComesBack(Watching[Begun]):
    """A key whose run never began, nor is bound to a claim, is startable in the end."""

    name = "what never began comes back"

    def begin(self) -> Begun:
        """None."""
        return Begun()

    def noted(self, seen: Watched[Begun], entry: Entry, world: World) -> None:
        """Look at a final answer; by then every object can be reached."""
        del world
        if entry.kind == "began":
            seen.own.keys.add(told(entry)[0])
        elif entry.kind == "final":
            key, status, code, _ = told(entry)
            row = seen.rows.get(key)
            is_begun = key in seen.own.keys or (row is not None and row.start_token is not None)
            assert status == 200 or is_begun, f"{key} never began, and is left {status} {code}"


each_key_comes_back = EachKeyComesBack()


@scenario(
    faults=(
        *at_runs(LoseRequest, LoseReply, Evict, Crash, homes=OBJECTS),
        LoseQuery(RESERVATIONS, at_most=1),
        LoseQueryReply(RESERVATIONS, at_most=1),
    ),
    properties=(*CLAIMS, each_key_comes_back),
    parameters={"topology": ("objects", "agents"), "design": ("sealer",)},
)
async def never_stuck(
    world: World, topology: Topology = "objects", design: Design = "sealer"
) -> None:
    """Any message is lost: a key whose run never began comes back, with the sealer (8.2)."""
    stage = await set_stage(world, topology, design)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_as, stage, "ann", "key-1")
        nursery.start_soon(stage.surely_move, "open", "draining")
    await stage.start("key-2")
    await stage.surely_move("draining", "open")
    for key in ("key-1", "key-2"):
        await stage.start(key)
    await stage.calm()
    for key in ("key-1", "key-2"):
        await stage.until_done(key)


BROKEN = (given_back_unstarted, execution_is_single)

COMPARISONS = (
    Comparison(duplicate_start, "design", ("router",), STEADFAST, BROKEN),
    Comparison(stale_release, "design", ("router",), STEADFAST, BROKEN),
    Comparison(never_stuck, "design", ("router", "holder"), ("sealer",), (each_key_comes_back,)),
)
"""Cases 41 and 42 break the router; a lost message strands a key of router and holder (2.9)."""

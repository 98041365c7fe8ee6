"""Two deploys of which one fails: it lifts what it has closed, and not what the other closes.

By the specification's own rules a lift names no drain, and opens whichever lives:
`docs/findings/fleet/drain-of-another.md` says how.
"""

from typing import Final

import attrs
import trio

from ...actors.fleet import DrainRecord
from ..mutants import Mutant
from ..scenario import scenario
from ..world import World
from .acting import Run, deploy
from .attempting import retained
from .checks import Check
from .deploying import ANYTHING, closing, run_a_while
from .invariants import EVERYWHERE
from .levels import set_fleet
from .log import Call, Seen
from .sights import asked, drain_change, has_ended, registry_ms

__all__ = ["LIFTING", "STORIES", "first_gives_up"]

FLEET: Final = "durasim.actors.fleet"
BUSY: Final = Run("busy", "t")


@attrs.define
class Lifts:
    """Who has asked for a lift, and which deploys have not sent their upload."""

    askers: set[str] = attrs.field(factory=set[str])
    waiting: set[str] = attrs.field(factory=set[str])


class OwnDrainOnly(Check[Lifts]):
    """A deploy that has not uploaded lifts no drain of another one."""

    name = "a deploy lifts its own drain only"
    level = 5
    sees = ("note deploy", "note runner", "call FleetRouter.fetch", "commit Registry")

    def begin(self) -> Lifts:
        """Nobody has asked."""
        return Lifts()

    def see(self, seen: Seen[Lifts]) -> None:
        """A drain that goes before its end was lifted by its own deploy, or by a person."""
        own, data = seen.own, seen.entry.data
        if seen.entry.kind == "note deploy":
            own.waiting.add(data["by"])
        elif seen.entry.kind == "note runner":
            if data["event"] == "check B, upload sent":
                own.waiting.discard(data["by"])
        elif isinstance(data, Call):
            request = asked(data)
            if request is not None and request.path == "/undrain":
                own.askers.add(data.caller)
        else:
            self._changed(seen)

    def _changed(self, seen: Seen[Lifts]) -> None:
        change = drain_change(seen)
        before = None if change is None else change.before
        if change is None or before is None or has_ended(before, registry_ms(seen.log)):
            return
        if (
            before.get("liftAsked")
            or (change.after or {"liftAsked": True}).get("liftAsked") is None
        ):
            return
        able = [each for each in seen.own.askers if each not in seen.own.waiting]
        is_own = bool(able) or before["by"] in seen.own.askers
        assert is_own, f"the drain of {before['by']} was lifted by the deploy of somebody else"


JUDGES: Final = (*EVERYWHERE, OwnDrainOnly())


@scenario(
    faults=ANYTHING, properties=JUDGES, settle_s=8_000,
    parameters={"apart": [50, 58], "over": [False, True]},
)  # fmt: skip
async def first_gives_up(world: World, apart: int, over: bool) -> None:
    """The first deploy gives up after its hour: over the wait of the second one, or its upload."""
    fleet = set_fleet(world)
    await retained(fleet)
    async with trio.open_nursery() as nursery:
        minutes = apart + 0.7 if over else 65
        nursery.start_soon(run_a_while, fleet, BUSY, minutes, "write save")
        await trio.sleep(5)
        first = deploy(fleet, fleet.artifact())
        await trio.sleep(apart * 60)
        second = deploy(fleet, fleet.artifact(image="registry.example/fleet:3"), who="other")
        await first.report()
        await second.report()
    await closing(fleet)


def undrain_of_any_drain(record: DrainRecord | None, drain_id: str | None) -> bool:
    """Lift whichever drain lives (OP-02)."""
    del record, drain_id
    return False


LIFTING: Final = (
    Mutant(
        "undrain_of_any_drain", f"{FLEET}.drain:names_another", undrain_of_any_drain,
        first_gives_up, (OwnDrainOnly.name,), needs_fault=False, parameters={"apart": 58},
    ),
)  # fmt: skip
"""The rule as the specification has it."""

STORIES: Final = (first_gives_up,)
"""Every story told here."""

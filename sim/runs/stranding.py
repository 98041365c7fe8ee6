"""No key is stranded, but by what its design cannot make up for: judged key by key (2.9, 8.2).

What happened to a key is told by the faults that struck, each by the name of what it touched: the
object of the key's run, or its thread; its own actor; or everybody, where a whole host died.
"""

from collections.abc import Iterable

import attrs

from ..choices import Deviation, split_name
from ..ledger import Entry
from ..ordinary import is_move
from ..trace import Row
from ..world import World
from .losses import (
    ANSWER_LOST,
    CLAIM_UNHEARD,
    DIED,
    FENCES,
    RELEASE_FAILED,
    START_FAILED,
    START_LOST,
    is_excused,
)
from .notes import fields, told
from .watching import Reserved, Watched, Watching

__all__ = ["NoKeyIsStranded"]

FRONTS = ("RunRouter", "AgentFront")
STARTS = b"\xa4POST\xa4path\xa5/runs\xa4body"
"""What the envelope of a start has in it, and no other request to an object has."""
DEADLY = ("evicted", "replaced", "restarted", "swapped")
HARMLESS = frozenset(
    ("slow", "twice", "1 s", "60 s late", "60 s ahead", "60 s behind", "clock +60 s", "clock -60 s")
)
"""Options that take nothing from anybody."""


@attrs.define
class Happened:
    """What has happened to each key since it was claimed.

    Attributes:
        design: of the deployment.
        began: keys whose run has begun.
        losses: what happened, by key.
        seen: how many deviations were looked at.
        is_start, query: of what those not yet looked at have struck: whether the last request was
            a start of a run, and which query was the last one sent.
        following: the same, as soon as they have been looked at.
        asked: queries under way, and who asked.
        orphans: those whose asker has died.
        ran: the last query that ran.
        unheard: those whose answer is lost.
    """

    design: str = "router"
    began: set[str] = attrs.field(factory=set[str])
    losses: dict[str, set[str]] = attrs.field(factory=dict[str, set[str]])
    seen: int = 0
    is_start: bool = False
    query: int = 0
    following: tuple[bool, int] = (False, 0)
    asked: dict[int, str] = attrs.field(factory=dict[int, str])
    orphans: set[int] = attrs.field(factory=set[int])
    ran: int = 0
    unheard: set[int] = attrs.field(factory=set[int])

    def add(self, keys: Iterable[str], what: str) -> None:
        """Remember that *what* happened to *keys*."""
        for key in keys:
            self.losses.setdefault(key, set()).add(what)


class NoKeyIsStranded(Watching[Happened]):
    """No key ends unresolvable, except by the losses that are listed for its design."""

    name = "no key is stranded"
    kinds = ("effect", "query", "queried", "told", "request", "lost", "crash")

    def begin(self) -> Happened:
        """Nothing has happened."""
        return Happened()

    def observe(self, state: Watched[Happened], event: Row) -> Watched[Happened]:
        """Follow queries, and see what a fault is about to strike."""
        own = state.own
        if event.kind == "query":
            own.following = (own.is_start, event.detail[0])
            own.asked[event.detail[0]] = event.actor
        elif event.kind == "queried":
            own.ran = event.detail[0]
        elif event.kind == "told":
            own.asked.pop(event.detail[0], None)
        elif event.kind == "request":
            own.following = (STARTS in event.detail[4], own.query)
        elif event.kind == "crash":
            own.orphans.update(own.asked)
            own.add(started(state), DIED)
        elif event.kind == "lost" and event.detail[1] == "message":
            self._cut(state, event.actor)
        return super().observe(state, event)

    def holds(self, state: Watched[Happened], world: World) -> bool:
        """Look at what has struck since the last look, before what came of it."""
        own, deviations = state.own, world.choices.deviations
        while own.seen < len(deviations):
            self._struck(state, deviations[own.seen])
            own.seen += 1
        own.is_start, own.query = own.following
        return super().holds(state, world)

    def _struck(self, seen: Watched[Happened], deviation: Deviation) -> None:
        option = deviation.option
        kind, _, subject = split_name(deviation.choice)
        if is_move(option) or option in HARMLESS:
            return
        own, keys = seen.own, touched(seen, subject)
        if kind == "query":
            asker = subject.rpartition(" by ")[2]
            if FENCES in subject:
                return
            if asker in FRONTS:
                own.unheard.update([own.query] if option == "answer lost" else [])
            elif asker.startswith("RunProcess"):
                own.unheard.update([own.query] if option == "answer lost" else [])
                own.add(started(seen), START_FAILED)
            else:
                own.add(keys, START_FAILED)
        elif kind in ("request", "reply"):
            self._message(seen, kind, option, subject)
        else:
            own.orphans.update(n for n, asker in own.asked.items() if asker in subject)
            own.add(keys or started(seen), DIED)

    def _message(self, seen: Watched[Happened], kind: str, option: str, subject: str) -> None:
        own, keys = seen.own, touched(seen, subject)
        if option in DEADLY:
            own.add(keys or started(seen), DIED)
        elif subject.startswith("RunOwners"):
            own.add(keys, START_FAILED)
        elif kind == "reply":
            own.add(keys, ANSWER_LOST)
        elif own.is_start:
            own.add(keys, START_LOST)

    def _cut(self, seen: Watched[Happened], caller: str) -> None:
        """A message met a link that is cut."""
        if caller in FRONTS:
            seen.own.add(started(seen), START_LOST)
            seen.own.add(started(seen), ANSWER_LOST)
        else:
            seen.own.add(touched(seen, caller), START_FAILED)

    def changed(
        self,
        seen: Watched[Happened],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A key that is claimed, or gone, begins anew; whoever claimed it may not hear of it."""
        del world
        own = seen.own
        if after is None:
            assert before is not None
            own.losses.pop(before.key, None)
            own.began.discard(before.key)
        elif after.state == "started" and (before is None or before.state == "reserved"):
            own.losses.pop(after.key, None)
            own.add([after.key] if own.ran in own.unheard else [], CLAIM_UNHEARD)
            own.add([after.key] if own.ran in own.orphans else [], DIED)

    def noted(self, seen: Watched[Happened], entry: Entry, world: World) -> None:
        """Look at a final answer."""
        del world
        own = seen.own
        if entry.kind == "deployed":
            own.design = told(entry)[1]
        elif entry.kind == "began":
            own.began.add(told(entry)[0])
        elif entry.kind == "log start-reservation-rollback-failed":
            own.add([fields(entry)["key"]], RELEASE_FAILED)
        elif entry.kind == "final":
            key, status, code, _ = told(entry)
            if status == 200:
                return
            row = seen.rows.get(key)
            is_begun = key in own.began or (row is not None and row.start_token is not None)
            happened = own.losses.get(key, set())
            excused = is_excused(own.design, happened, is_begun=is_begun)
            assert excused, f"{key} is stranded: its last answer is {status} {code}"


def started(seen: Watched[Happened]) -> list[str]:
    """Return the keys that are claimed now."""
    return [row.key for row in seen.rows.values() if row.state == "started"]


def touched(seen: Watched[Happened], subject: str) -> list[str]:
    """Return the keys whose run, or whose thread, is named by the subject of a choice."""
    return [
        row.key
        for row in seen.rows.values()
        if row.run_id in subject
        or (row.thread_id is not None and f"ThreadObject/{row.thread_id}" in subject)
    ]

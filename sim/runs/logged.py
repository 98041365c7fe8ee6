"""What the log has to say: a claim that a refusal has left behind is found there (8.6)."""

from collections import Counter

import attrs

from ..ledger import Entry
from ..world import World
from .notes import fields, told
from .watching import Watched, Watching

__all__ = ["left_claims_are_logged"]

FENCED = ("EXECUTION_FENCED", "EXECUTION_FENCE_UNREADABLE")


@attrs.define
class Told:
    """Who asks, and what the log has said.

    Attributes:
        asking: how many ask for each key and have no answer.
        decided: keys for which a start was decided since one caller asks alone.
        unclear: keys of which somebody was told nothing: who still works for them nobody knows.
        began: keys whose run has begun.
        logged: key and run of each release that is said to have failed.
    """

    asking: Counter[str] = attrs.field(factory=Counter[str])
    decided: set[str] = attrs.field(factory=set[str])
    unclear: set[str] = attrs.field(factory=set[str])
    began: set[str] = attrs.field(factory=set[str])
    logged: set[tuple[str, str]] = attrs.field(factory=set[tuple[str, str]])


class LeftClaimsAreLogged(Watching[Told]):
    """Who was refused and has left a claim is found in the log, by key and run (8.6)."""

    name = "a claim that is left is in the log"
    kinds = ("effect", "queried", "query")

    def begin(self) -> Told:
        """Nobody asks."""
        return Told()

    def noted(self, seen: Watched[Told], entry: Entry, world: World) -> None:
        """Look at the row of whoever was refused."""
        del world
        own = seen.own
        if entry.kind == "asked":
            key = told(entry)[1]
            own.asking[key] += 1
            own.decided.discard(key)
        elif entry.kind == "log start-decided":
            own.decided.add(fields(entry)["key"])
        elif entry.kind == "log start-reservation-rollback-failed":
            line = fields(entry)
            own.logged.add((line["key"], line["runId"]))
        elif entry.kind == "began":
            own.began.add(told(entry)[0])
        elif entry.kind == "answered":
            self._answered(seen, entry)

    def _answered(self, seen: Watched[Told], entry: Entry) -> None:
        own = seen.own
        _, key, status, code, *_ = told(entry)
        is_alone = own.asking[key] == 1 and key not in own.unclear
        own.asking[key] -= 1
        own.unclear.update([key] if status == 0 else [])
        row = seen.rows.get(key)
        if code not in FENCED or not is_alone or key not in own.decided or row is None:
            return
        is_left = row.state == "started" and row.start_token is None and key not in own.began
        is_logged = (key, row.run_id) in own.logged
        assert is_logged or not is_left, f"{key} was refused and is left, and no log says so"


left_claims_are_logged = LeftClaimsAreLogged()

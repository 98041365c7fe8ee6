"""What callers may rely on: the table of answers, and that a refusal means nothing ran."""

from collections import Counter

import attrs

from ..faults import DuplicateRequest
from ..ledger import Entry
from ..world import World
from .losses import is_lossy
from .notes import fields, short, told
from .rows import OfBegun
from .watching import Reserved, Watched, Watching, stored_status

__all__ = [
    "AnswersFit",
    "NoStartFailsUnheard",
    "RefusedMeansUntouched",
]

FENCED = ("EXECUTION_FENCED", "EXECUTION_FENCE_UNREADABLE")


RESULTS = frozenset(
    "waiting paused suspended waiting_callback waiting_signal retry_wait success failed tripwire "
    "canceled bailed skipped cancelled timed_out".split()
)
"""Statuses that can be shown again: of runs that wait for somebody or have ended."""


@attrs.define
class Callers:
    """Who was told what.

    Attributes:
        runs: the run of each key.
        shown: what its first 200 said, by key.
        began: keys that have begun.
        asking: for each key who has asked and has no answer.
        decided: keys for which a start was decided while one caller asked alone.
    """

    runs: dict[str, str] = attrs.field(factory=dict[str, str])
    shown: dict[str, str] = attrs.field(factory=dict[str, str])
    began: set[str] = attrs.field(factory=set[str])
    asking: Counter[str] = attrs.field(factory=Counter[str])
    decided: set[str] = attrs.field(factory=set[str])

    def forget(self, key: str) -> None:
        """Know nothing of *key* any more."""
        self.runs.pop(key, None)
        self.shown.pop(key, None)
        self.began.discard(key)


def is_repeated(world: World) -> bool:
    """Whether some request has arrived twice: of two starts at once one is told to wait."""
    struck = zip(world.plan, world.choices.struck, strict=True)
    return any(count > 0 and isinstance(fault, DuplicateRequest) for fault, count in struck)


class AnswersFit(Watching[Callers]):
    """Each caller is told what the table of 2.6 says."""

    name = "answers as the table says"

    def begin(self) -> Callers:
        """Nobody was told anything."""
        return Callers()

    def changed(
        self,
        seen: Watched[Callers],
        before: Reserved | None,
        after: Reserved | None,
        world: World,
    ) -> None:
        """A key means one run, until its row is purged: then it is new."""
        del world
        if after is None:
            assert before is not None
            seen.own.forget(before.key)
            return
        run_id = seen.own.runs.setdefault(after.key, after.run_id)
        assert run_id == after.run_id or before is None, f"{after.key} has become another run"
        seen.own.runs[after.key] = after.run_id

    def noted(self, seen: Watched[Callers], entry: Entry, world: World) -> None:
        """Look at an answer."""
        own = seen.own
        if entry.kind == "asked":
            key = told(entry)[1]
            own.asking[key] += 1
            own.decided.discard(key)
        elif entry.kind == "log start-decided":
            key = fields(entry)["key"]
            if own.asking[key] == 1 and not is_repeated(world):
                own.decided.add(key)
        elif entry.kind == "began":
            own.began.add(told(entry)[0])
        elif entry.kind == "answered":
            self._answered(seen, entry, world)

    def _answered(self, seen: Watched[Callers], entry: Entry, world: World) -> None:
        who, key, status, code, run_id, shown, files = told(entry)
        own = seen.own
        own.asking[key] -= 1
        if key is None or status == 0:
            return
        row = seen.rows.get(key)
        if run_id is not None and row is not None:
            assert run_id == row.run_id, f"{key} means {short(row.run_id)}, not {short(run_id)}"
        if row is not None:
            theirs = who != row.owner_id
            probe = (code, run_id) == ("IDEMPOTENT_START_OWNER_MISMATCH", None) or status != 200
            assert not theirs or (probe and run_id is None), f"{who} was shown {key}, another's"
            probed = not theirs or code != "IDEMPOTENT_START_TARGET_MISMATCH"
            assert probed, f"{who} was told what {key} starts, which is another's"
        if status == 200:
            assert not (files and key in own.shown), f"approvals of {key} were filed again"
            assert own.shown.setdefault(key, shown) == shown, f"{key} was shown otherwise before"
            assert key in own.began, f"{key} was answered 200, and its run never began"
        if code == "IDEMPOTENT_START_ALREADY_SETTLED" and row is not None:
            left = stored_status(world, row.run_id)
            assert left not in RESULTS, f"{key} is said to be gone, and can be shown: {left}"
        if key in own.decided:
            about_key = str(code).startswith("IDEMPOTENT_START")
            assert not about_key, f"a start of {key} was made, and its answer is {code}"


class RefusedMeansUntouched(OfBegun):
    """Whoever is told that the fence refused: nothing of that key ran (8.5)."""

    name = "a refused start ran nothing"

    def noted(self, seen: Watched[set[str]], entry: Entry, world: World) -> None:
        """Look at a refusal."""
        super().noted(seen, entry, world)
        if entry.kind == "answered":
            _, key, _, code, *_ = told(entry)
            was_told = code in FENCED and key in seen.own
            assert not was_told, f"{key} was answered {code}, and its run had begun"


class NoStartFailsUnheard(Watching[None]):
    """Without a message lost nobody is answered 500 or 504, or not at all."""

    name = "no start is answered 500"

    def begin(self) -> None:
        """Nothing."""

    def noted(self, seen: Watched[None], entry: Entry, world: World) -> None:
        """Look at an answer."""
        del seen
        if entry.kind == "answered":
            _, key, status, *_ = told(entry)
            fine = status not in (0, 500, 504) or is_lossy(world)
            assert fine, f"{key} was answered {status}, and no message was lost"

"""What is told of a start is true: of one shut out, of a live run, of a row that makes no sense.

The fourth property here is the other direction: what a claim says of an execution is true when that
begins (spec/run-claims.md 8.2).
"""

from typing import Any

import attrs

from ...actors import Address
from ..ledger import Entry
from ..world import World
from .admission import would_admit
from .losses import is_lossy
from .notes import fields, short, told
from .watching import Fence, Watched, Watching, is_table

__all__ = [
    "live_is_pending",
    "nonsense_is_unreadable",
    "runs_are_bound",
    "shut_out_is_told",
]

AT_ONCE_US = 60_000_000
"""How long the answer of a gate may take, without a loss: no leg of a run is that short."""
FENCED = ("EXECUTION_FENCED", "EXECUTION_FENCE_UNREADABLE")
UNREADABLE = "IDEMPOTENT_START_UNREADABLE"
SEALED = "RUN_ADMISSION_CONFLICT"
STAMPS = "SELECT typeof(created_at), typeof(updated_at) FROM flowsafe_start_idempotency WHERE key=?"


@attrs.define
class Sent:
    """A start that a trusted program has sent where its run lives.

    Attributes:
        key: that it is for.
        at_us: when.
        is_shut_out: whether the fence would not have let it in at any moment since then.
    """

    key: str
    at_us: int
    is_shut_out: bool


class ShutOutIsTold(Watching[dict[int, Sent]]):
    """A start that is shut out all the time is refused by the fence, at once (1.10, 3.2, 3.3).

    That holds of a run that exists and of one that is live, too: neither is looked for before.
    """

    name = "what is shut out is told so"

    def begin(self) -> dict[int, Sent]:
        """Nothing was sent."""
        return {}

    def moved(
        self, seen: Watched[dict[int, Sent]], before: Fence, after: Fence, world: World
    ) -> None:
        """Whatever is under way may be let in from now on."""
        del before, world
        for each in seen.own.values():
            each.is_shut_out = each.is_shut_out and not would_admit(after, each.key)

    def noted(self, seen: Watched[dict[int, Sent]], entry: Entry, world: World) -> None:
        """Look at what was sent, and what came back."""
        if entry.kind == "sent":
            number, key = told(entry)
            is_shut_out = not would_admit(seen.fence, key)
            seen.own[number] = Sent(key, entry.time_us, is_shut_out)
        elif entry.kind == "sent back":
            number, status, code = told(entry)
            sent = seen.own.pop(number)
            is_heard = status != 0 and entry.time_us - sent.at_us < AT_ONCE_US
            if sent.is_shut_out and not is_lossy(world):
                assert is_heard, f"a start of {sent.key} was shut out, and had to wait to hear it"
            if sent.is_shut_out and status != 0:
                is_told = code in FENCED or code == SEALED
                fine = is_told or (status == 503 and is_lossy(world))
                assert fine, f"a start of {sent.key} was shut out, and was answered {status} {code}"


@attrs.define
class Under:
    """What is under way.

    Attributes:
        legs: run and the incarnation that executes it, by key.
        asked: of each caller and key, the runs that had begun when it asked, oldest question first.
    """

    legs: dict[str, tuple[str, Any]] = attrs.field(factory=dict[str, tuple[str, Any]])
    asked: dict[tuple[str, str], list[Any]] = attrs.field(factory=dict[tuple[str, str], list[Any]])


class LiveIsPending(Watching[Under]):
    """Whoever asks about a run that executes is told to wait, never that nothing is left of it (6).

    A run that has not begun, or has lost the object that began it, may be taken for lost (case 9).
    """

    name = "a live run is pending"
    kinds = ("effect",)

    def begin(self) -> Under:
        """Nothing is under way."""
        return Under()

    def noted(self, seen: Watched[Under], entry: Entry, world: World) -> None:
        """See what begins, who asks, and what is answered."""
        own = seen.own
        if entry.kind == "began":
            key, run_id = told(entry)
            own.legs[key] = (run_id, living(world, entry.actor))
        elif entry.kind == "asked":
            who, key = told(entry)
            own.asked.setdefault((who, key), []).append(own.legs.get(key))
        elif entry.kind == "answered":
            who, key, _, code, *_ = told(entry)
            # Which of one caller's questions it is nobody knows: the oldest knew of least.
            began = own.asked[who, key][0]
            own.asked[who, key].pop()
            if code == "IDEMPOTENT_START_UNRESOLVABLE" and began is not None:
                run_id, then = began
                is_live = then is not None and executes(world, then, run_id)
                assert not is_live, f"{key} is said to be lost, and {short(run_id)} is live"


def living(world: World, actor: str) -> Any:
    """Return the incarnation that *actor* has now, if it is an object and has one."""
    kind, _, name = actor.partition("/")
    return world.incarnation(Address(kind, name))


def executes(world: World, incarnation: Any, run_id: str) -> bool:
    """Whether an incarnation is there still, and its memory has a start of *run_id* in flight."""
    now: Any = world.incarnation(incarnation.address)
    if now is not incarnation:
        return False
    found: Any = now._object
    front: Any = getattr(found, "_front", None)
    in_flight = found._in_flight if front is None else front.topology._in_flight
    return any(name.endswith(f":{run_id}") for name in in_flight)


class NonsenseIsUnreadable(Watching[None]):
    """A row that makes no sense is neither started nor judged by: it is unreadable (case 13)."""

    name = "what makes no sense is unreadable"
    kinds = ("effect",)

    def begin(self) -> None:
        """Nothing."""

    def noted(self, seen: Watched[None], entry: Entry, world: World) -> None:
        """Look at a row whose key a caller was answered about, or a start was decided of."""
        del seen
        if entry.kind == "answered":
            _, key, status, code, *_ = told(entry)
            fine = status == 0 or code == UNREADABLE
            assert fine or makes_sense(world, key), f"the row of {key} makes no sense: {code}"
        elif entry.kind == "log start-decided":
            key = fields(entry)["key"]
            assert makes_sense(world, key), f"{key} was started, and its row makes no sense"


def makes_sense(world: World, key: str | None) -> bool:
    """Whether the row of a key, if there is one, has the times of its changes."""
    if key is None or not is_table(world, "flowsafe_start_idempotency"):
        return True
    return all(set(row) == {"integer"} for row in world.database.look(STAMPS, key).rows)


class RunsAreBound(Watching[str]):
    """Where claims are bound, no run of a row begins before the row is bound to it (8.2)."""

    name = "a run begins bound to its claim"

    def begin(self) -> str:
        """The router binds nothing."""
        return "router"

    def noted(self, seen: Watched[str], entry: Entry, world: World) -> None:
        """Look at the row of what begins."""
        del world
        if entry.kind == "deployed":
            seen.own = told(entry)[1]
        elif entry.kind == "began" and seen.own != "router":
            key, run_id = told(entry)
            row = seen.rows.get(key)
            if row is not None and row.run_id == run_id:
                assert row.start_token is not None, f"{key} runs, and its claim is not bound"


shut_out_is_told = ShutOutIsTold()
live_is_pending = LiveIsPending()
nonsense_is_unreadable = NonsenseIsUnreadable()
runs_are_bound = RunsAreBound()

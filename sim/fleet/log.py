"""The event log of a fleet, folded once from the trace; every checker reads it (K.3).

An entry's kind is text: `commit Registry`, `note upload`, `call Registry.begin_keyed`,
`deliver …`, `answer FleetRouter.fetch`, `uncertain …`, `down`, `fault`, `ended`, `calm`. Calls
are decoded only if somebody watches them. The log also keeps what the storages hold after the last
commit.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ...wire import content_hash, decode
from ..machine import EPOCH_US
from ..trace import Row
from ..world import World
from .entries import Answer, Call, Change, Commit, Entry, Seen, Watcher
from .ground import Ground

__all__ = [
    "Answer",
    "Call",
    "Change",
    "Commit",
    "Entry",
    "Log",
    "Seen",
    "Watcher",
    "fence_in",
    "log_of",
]

DOWN: Final = ("crash", "reset", "evict")
"""Events after which memory is gone: an object or a whole host is down."""
FAULTS: Final = ("lost", "twice", "strike", "broken", "reset")
"""Events that no ordinary run has; an upload restarts everything, and is none."""
ENDED: Final = ("done", "failed", "killed")
ADMISSION: Final = "deploy:admission:"
STORED: Final = ("Registry", "Resident", "RunLedger")
"""The classes whose commits are entries."""


class Log:
    """What has happened in the fleet of one world.

    Attributes:
        world: whose.
        stored: what is durable of each object of the fleet now, decoded: not to be changed.
        permits: every stored permit by its id: not to be changed.
        outside: breaches by code that is older than the rule: no failures, but told.
        level_of: the level of the code that runs an actor; the builder of a fleet sets it.
        ground: the native truth, once there is a fleet.
    """

    def __init__(self, world: World) -> None:
        """Begin to follow the trace of *world*."""
        self.world = world
        self.stored: dict[tuple[str, str], dict[str, Any]] = {}
        self.permits: dict[str, Any] = {}
        self.outside: list[tuple[str, str]] = []
        self.level_of: Callable[[str], int] = lambda actor: 5  # noqa: ARG005
        self.ground: Ground | None = None
        self._watchers: dict[str, list[tuple[Watcher, Seen[Any]]]] = {}
        self._calls: dict[tuple[object, int], Call] = {}
        self._stacks: dict[object, int] = {}
        self._sent = 0
        self._swapped_us = -1
        self._damages = 0
        self._watched: set[str] = set()
        self._doubled: set[tuple[object, int]] = set()
        hooks: dict[str, Callable[[Row], None]] = {
            "commit": self._commit,
            "effect": self._effect,
            "request": self._request,
            "deliver": self._deliver,
            "answer": self._answer,
            "broken": self._broken,
            "calm": self._plain("calm"),
        }
        hooks |= dict.fromkeys(DOWN, self._down)
        hooks["swap"] = self._swap
        hooks |= dict.fromkeys(ENDED, self._plain("ended"))
        also = [(kind, self._plain("fault")) for kind in FAULTS]
        also += [("raised", self._raised), ("twice", self._twice)]
        for kind, hook in (*hooks.items(), *also):
            # Before any property: what a property asks of the log is then up to date.
            world.trace.watchers.setdefault(kind, []).insert(0, hook)

    # ---- for checkers

    def watch(self, watcher: Watcher, own: Any) -> None:
        """Tell *watcher*, whose state is *own*, of each entry of the kinds that it sees."""
        seen = Seen(own, self)
        for kind in watcher.sees:
            self._watchers.setdefault(kind, []).append((watcher, seen))
            word, _, call = kind.partition(" ")
            if word in ("call", "deliver", "answer", "uncertain"):
                self._watched.add(call)

    @property
    def registry(self) -> Mapping[str, Any]:
        """What is durable of the Registry."""
        return self.stored.setdefault(("Registry", "registry"), {})

    def resident(self, resource: str) -> Mapping[str, Any]:
        """What is durable of the member of *resource*."""
        return self.stored.setdefault(("Resident", resource), {})

    @property
    def ledger(self) -> Mapping[str, Any]:
        """What is durable of the run ledger."""
        return self.stored.setdefault(("RunLedger", "runs"), {})

    @property
    def drain(self) -> Mapping[str, Any] | None:
        """The drain as it is stored, expired or not."""
        found: Mapping[str, Any] | None = self.registry.get("drain")
        return found

    @property
    def fence(self) -> Mapping[str, Any] | None:
        """The fence as it is stored inside the drain."""
        return fence_in(self.drain)

    def rows(self, prefix: str) -> dict[str, Any]:
        """Return the Registry's rows whose keys begin with *prefix*, by the rest of the key."""
        return {
            key.removeprefix(prefix): row
            for key, row in self.registry.items()
            if key.startswith(prefix)
        }

    @property
    def residents(self) -> Mapping[str, Mapping[str, Any]]:
        """What is durable of each member that has committed anything, by resource."""
        return {name: rows for (kind, name), rows in self.stored.items() if kind == "Resident"}

    def load(self, kind: str, name: str, rows: Mapping[str, Any]) -> None:
        """Take what was stored before the story began."""
        self.stored[kind, name] = dict(rows)
        for key, row in rows.items():
            self._keep_permit(kind, key, row)

    def _keep_permit(self, kind: str, key: str, row: Any) -> None:
        if kind == "Registry" and key.startswith(ADMISSION):
            if row is None:
                self.permits.pop(key.removeprefix(ADMISSION), None)
            else:
                self.permits[key.removeprefix(ADMISSION)] = row

    # ---- from the trace

    def _tell(self, kind: str, row: Row, data: Any) -> None:
        watchers = self._watchers.get(kind)
        if not watchers:
            return
        time_ms = (EPOCH_US + row.time_us) // 1_000
        entry = Entry(row.number, time_ms, kind, row.actor, row.incarnation, data)
        for watcher, seen in watchers:
            seen.entry = entry
            try:
                watcher.see(seen)
            except AssertionError as error:
                self._breach(watcher, entry, str(error))
            except Exception as error:
                self.world.fail(
                    watcher.name, f"it could not see a {kind}: {type(error).__name__}: {error}"
                )

    def _breach(self, watcher: Watcher, entry: Entry, message: str) -> None:
        if self.level_of(entry.actor) < watcher.level:
            self.outside.append((watcher.name, message.partition("\n")[0]))
        else:
            self.world.fail(watcher.name, message.partition("\n")[0])

    def _plain(self, kind: str) -> Callable[[Row], None]:
        def tell(row: Row) -> None:
            self._tell(kind, row, (row.kind, *row.detail))

        return tell

    def _swap(self, row: Row) -> None:
        self._swapped_us = row.time_us

    def _down(self, row: Row) -> None:
        """Tell that memory is gone; by an upload, which is no fault, "swap" is told."""
        by_upload = row.kind == "crash" and row.time_us == self._swapped_us
        self._tell("down", row, ("swap" if by_upload else row.kind, *row.detail))

    def _raised(self, row: Row) -> None:
        if row.detail[1] == "StorageFailed":
            self._tell("fault", row, (row.kind, *row.detail))

    def _commit(self, row: Row) -> None:
        kind, _, name = row.actor.partition("/")
        if kind not in STORED:
            return
        rows = self.stored.setdefault((kind, name), {})
        changes: list[Change] = []
        for key, _, raw in row.detail[1]:
            before = rows.get(key)
            if raw is None:
                after = None
                rows.pop(key, None)
            else:
                after = rows[key] = decode(raw)
            changes.append(Change(key, before, after))
            self._keep_permit(kind, key, after)
        self._tell(f"commit {kind}", row, Commit(kind, name, tuple(changes)))

    def _effect(self, row: Row) -> None:
        entries = self.world.ledger.entries
        self._tell(f"note {entries[-1].kind}", row, entries[-1].value)

    def _request(self, row: Row) -> None:
        called = f"{row.detail[1]}.{row.detail[3]}"
        if called in self._watched:
            asker = self.world.network.asker
            stack = self._stacks.setdefault(asker, len(self._stacks) + 1)
            self._sent += 1
            call = Call(row.actor, stack, self._sent, row.detail)
            self._calls[asker, row.detail[0]] = call
            self._tell(f"call {called}", row, call)

    def _of(self, row: Row) -> Call | None:
        """Return the call that the row of a message is about, if it is watched."""
        return self._calls.get((self.world.network.asker, row.detail[0]))

    def _look_for_damage(self, row: Row) -> None:
        """Tell a message that was damaged, of which no row says so, once anything arrives."""
        damages = self.world.network.damages
        if damages != self._damages:
            self._damages = damages
            self._tell("fault", row, ("damaged",))

    def _deliver(self, row: Row) -> None:
        self._look_for_damage(row)
        call = self._of(row)
        if call is not None:
            self._tell(f"deliver {call.address.kind}.{call.method}", row, call)

    def _twice(self, row: Row) -> None:
        self._doubled.add((self.world.network.asker, row.detail[0]))

    def _answer(self, row: Row) -> None:
        self._look_for_damage(row)
        call = self._of(row)
        if call is not None:
            self._forget(row)
            answer = Answer(call, row.detail[1])
            word = "answer" if answer.is_readable else "uncertain"
            self._tell(f"{word} {call.address.kind}.{call.method}", row, answer)

    def _forget(self, row: Row) -> None:
        """Nothing more comes of a call that was answered, unless it was doubled on the way."""
        key = (self.world.network.asker, row.detail[0])
        if key not in self._doubled:
            del self._calls[key]

    def _broken(self, row: Row) -> None:
        call = self._of(row)
        if call is not None:
            self._forget(row)
            called = f"uncertain {call.address.kind}.{call.method}"
            self._tell(called, row, Answer(call, None))


def fence_in(drain: Any) -> dict[str, Any] | None:
    """Return the fence that stands in a drain row of any level, with the fenceId that it has.

    An older one has no name: it is that of its drain and Worker (L, operation 5).
    """
    if not isinstance(drain, Mapping):
        return None
    row = cast("Mapping[str, Any]", drain)
    if row.get("swapFence") is not True:
        return None
    named = row.get("fenceId")
    version, at = row.get("swapVersion", ""), row.get("swapAt")
    return {
        "fenceId": named or content_hash([row["since"], row["until"], version]),
        "owner": row.get("owner", {"kind": "preflight", "ref": ""}),
        "swapVersion": version,
        "swapBuild": row.get("swapBuild"),
        "swapAt": at,
        "until": row["until"],
    }


LOG: Final = "fleet log"


def log_of(world: World) -> Log:
    """Return the log of *world*, made when it is first asked for."""
    log = world.env.get(LOG)
    if not isinstance(log, Log):
        log = world.env[LOG] = Log(world)
    return log

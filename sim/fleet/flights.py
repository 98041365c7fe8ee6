"""What goes on at members at the moment, folded once from the log for all who judge members.

A request is in flight from its delivery until its answer has come or the member is down; one whose
answer is lost stays in flight, which accuses nobody. Who runs is what stories note of it.
"""

from collections.abc import Callable
from typing import Final

import attrs

from ...actors import Address
from ..world import World
from .log import Answer, Call, Commit, Log, Seen, log_of
from .sights import table

__all__ = ["Flight", "Flights", "flights_of"]

REQUESTS: Final = (
    "attach", "detach", "exec", "native_outcome", "onboard", "op", "refresh", "set_deadline",
    "watchdog",
)  # fmt: skip
"""What is asked of members on somebody's behalf."""
OF_THREADS: Final = ("attach", "detach", "exec", "op", "set_deadline")
FLIGHTS: Final = "fleet flights"


@attrs.define
class Flight:
    """One request at a member.

    Attributes:
        method: what is asked.
        thread: about which thread; None for none.
        times: how often it was delivered.
    """

    method: str
    thread: str | None
    times: int = 1


@attrs.define
class Run:
    """A run that lives, whoever knows of it."""

    thread: str
    generation: int
    fence: int


class Flights:
    """What goes on at the members of one world.

    Attributes:
        flying: resource to the requests in flight there, by caller and number.
        runs: every run that really lives, by its id.
        watchers: told after each change of a member, with its resource.
    """

    name = "flights"
    level = 0
    sees = (
        *(f"deliver Resident.{method}" for method in REQUESTS),
        *(f"answer Resident.{method}" for method in REQUESTS),
        "down", "note run begins", "note run ends", "commit Resident", "commit RunLedger",
    )  # fmt: skip

    def __init__(self, log: Log) -> None:
        """Begin to follow *log*."""
        self.log = log
        self.flying: dict[str, dict[tuple[str, int], Flight]] = {}
        self.runs: dict[str, Run] = {}
        self.watchers: list[Callable[[str], None]] = []
        self._ended: set[tuple[str, int]] = set()
        self._places: dict[str, set[str]] = {}
        log.watch(self, None)

    def see(self, seen: Seen[None]) -> None:
        """Take in one entry."""
        kind, data = seen.entry.kind, seen.entry.data
        if kind == "down":
            self._down(seen.entry.actor)
        elif kind == "note run begins":
            run = Run(data["thread"], data["ownerGen"], data["ownerFence"])
            if (data["runId"], run.generation) not in self._ended:
                self.runs[data["runId"]] = run
            self._changed(self._resources(data["runId"]))
        elif kind == "note run ends":
            self.runs.pop(data["runId"], None)
            self._ended.add((data["runId"], data["ownerGen"]))
            self._changed(self._resources(data["runId"]))
        elif isinstance(data, Commit):
            self._committed(data)
        elif isinstance(data, Call):
            self._delivered(data)
        elif isinstance(data, Answer):
            self._answered(data.call)

    def at(self, resource: str, *methods: str, thread: str | None = None) -> list[Flight]:
        """Return the requests of *methods* in flight at a member, about *thread* if it is given."""
        found = self.flying.get(resource, {}).values()
        return [each for each in found if each.method in methods and thread in (None, each.thread)]

    def live_threads(self, resource: str) -> set[str]:
        """Return the threads whose registered, accepted owner is that of a run that lives."""
        rows = self.log.resident(resource)
        found: set[str] = set()
        for key, row in rows.items():
            if key.startswith("reg:"):
                thread, fields = key.removeprefix("reg:"), table(row)
                run = self.runs.get(str(fields.get("runId")))
                if run is not None and (run.thread, run.generation, run.fence) == (
                    thread, fields.get("ownerGen"), fields.get("ownerFence"),
                ):  # fmt: skip
                    found.add(thread)
        return found

    def registered(self, resource: str) -> set[str]:
        """Return the threads that have a registration."""
        rows = self.log.resident(resource)
        return {key.removeprefix("reg:") for key in rows if key.startswith("reg:")}

    def _delivered(self, call: Call) -> None:
        there = self.flying.setdefault(call.address.name, {})
        known = there.get((call.caller, call.number))
        if known is not None:
            known.times += 1
        else:
            thread = str(call.arguments[0]) if call.method in OF_THREADS else None
            there[call.caller, call.number] = Flight(call.method, thread)
        self._changed((call.address.name,))

    def _answered(self, call: Call) -> None:
        there = self.flying.get(call.address.name, {})
        flight = there.get((call.caller, call.number))
        if flight is not None and flight.times == 1:
            del there[call.caller, call.number]
            self._changed((call.address.name,))

    def _down(self, actor: str) -> None:
        kind, is_object, resource = actor.partition("/")
        if is_object:
            # One member, of very many that are evicted all the time.
            if kind == "Resident":
                self.flying.get(resource, {}).clear()
            return
        for resource, there in self.flying.items():
            if self.log.world.place(Address("Resident", resource)).name == actor:
                there.clear()

    def _committed(self, commit: Commit) -> None:
        if commit.kind == "Resident":
            for change in commit.of("reg:"):
                self._places.setdefault(str(table(change.after).get("runId")), set()).add(
                    commit.name
                )
            self._changed((commit.name,))
        else:
            for change in commit.changes:
                self._changed(self._resources(change.key.partition(":")[2]))

    def _resources(self, run_id: str) -> tuple[str, ...]:
        """Return the members at which that run was ever registered."""
        return tuple(sorted(self._places.get(run_id, ())))

    def _changed(self, resources: tuple[str, ...]) -> None:
        for resource in resources:
            for watcher in self.watchers:
                watcher(resource)


def flights_of(world: World) -> Flights:
    """Return the flights of *world*, made when they are first asked for."""
    found = world.env.get(FLIGHTS)
    if not isinstance(found, Flights):
        found = world.env[FLIGHTS] = Flights(log_of(world))
    return found

"""Every reading of a member, with what was true of it between the question and the answer.

What a member answers was true at some moment in between. What was true at every moment it has to
say, and what was true at none it must not. Shared by all who judge readings.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ..world import World
from .flights import Flights, flights_of
from .log import Answer, Call, Log, Seen, log_of
from .sights import table

__all__ = ["Reading", "Readings", "readings_of", "says_ended"]

ASKED: Final = "Resident.deploy_info"
STATUSES: Final = frozenset({"completed", "stopped_soft", "stopped_hard", "failed", "interrupted"})
READINGS: Final = "fleet readings"
NO_REQUEST: Final = "native_outcome"


@attrs.define
class Reading:
    """One question to a member.

    Attributes:
        resource: which member.
        always, ever: threads that were registered at every moment, and at any.
        live: threads whose registered owner lived at every moment.
        ended: threads that may be called retained: of which that was true at any moment.
        worked: threads on which a request was in flight at every moment.
        flights: how often each request in flight at any moment was delivered.
        info: the answer; empty before.
    """

    resource: str
    always: set[str]
    ever: set[str]
    live: set[str]
    ended: set[str]
    worked: set[str]
    flights: dict[tuple[str, int], int] = attrs.field(factory=dict[tuple[str, int], int])
    info: Mapping[str, Any] = attrs.field(factory=dict[str, Any])

    def count(self, name: str) -> int:
        """Return what the answer counts under *name*."""
        value = self.info.get(name)
        assert isinstance(value, int), f"{self.resource} does not count {name}"
        return value


def says_ended(log: Log, thread: str, row: Mapping[str, Any]) -> bool:
    """Whether the ledger holds a final ending of the exact owner that a registration names."""
    record = table(log.ledger.get(f"terminal:{row.get('runId')}"))
    named = (record.get("id"), record.get("thread"), record.get("ownerGen"))
    return (
        named == (row.get("runId"), thread, row.get("ownerGen"))
        and record.get("ownerFence") in (None, row.get("ownerFence"))
        and record.get("status") in STATUSES
        and record.get("provisional") is False
    )


class Readings:
    """The readings of one world.

    Attributes:
        latest: the one that was answered last.
    """

    name = "readings"
    level = 0
    sees: tuple[str, ...] = (f"call {ASKED}", f"answer {ASKED}", f"uncertain {ASKED}")

    def __init__(self, log: Log, flights: Flights) -> None:
        """Begin to follow *log*, after *flights*."""
        self.log = log
        self.flights = flights
        self.latest: Reading | None = None
        self._open: dict[str, dict[tuple[str, int], Reading]] = {}
        flights.watchers.append(self._changed)
        log.watch(self, None)

    def see(self, seen: Seen[None]) -> None:
        """Open or close a reading."""
        data = seen.entry.data
        if isinstance(data, Call):
            resource = data.address.name
            registered, worked = self.flights.registered(resource), self._worked(resource)
            live = self.flights.live_threads(resource)
            reading = Reading(resource, registered, set(registered), live, set(), worked)
            self._open.setdefault(resource, {})[data.caller, data.number] = reading
            self._take(reading)
        elif isinstance(data, Answer):
            call = data.call
            found = self._open.get(call.address.name, {}).pop((call.caller, call.number), None)
            self.latest = None
            if found is not None and data.is_granted and seen.entry.kind.startswith("answer"):
                found.info = table(data.value)
                self.latest = found

    def _changed(self, resource: str) -> None:
        for reading in self._open.get(resource, {}).values():
            registered = self.flights.registered(resource)
            reading.always &= registered
            reading.ever |= registered
            reading.live &= self.flights.live_threads(resource)
            reading.worked &= self._worked(resource)
            self._take(reading)

    def _take(self, reading: Reading) -> None:
        rows = self.log.resident(reading.resource)
        for thread in self.flights.registered(reading.resource):
            row, accepted = table(rows.get(f"reg:{thread}")), table(rows.get(f"regFence:{thread}"))
            owner = ("runId", "ownerGen", "ownerFence")
            is_whole = all(row.get(k) is not None and row[k] == accepted.get(k) for k in owner)
            if is_whole and row.get("thread") == thread and says_ended(self.log, thread, row):
                reading.ended.add(thread)
        for key, flight in self.flights.flying.get(reading.resource, {}).items():
            if flight.method != NO_REQUEST:
                reading.flights[key] = flight.times

    def _worked(self, resource: str) -> set[str]:
        there = self.flights.flying.get(resource, {}).values()
        return {flight.thread for flight in there if flight.thread is not None}


def readings_of(world: World) -> Readings:
    """Return the readings of *world*, made when they are first asked for."""
    found = world.env.get(READINGS)
    if not isinstance(found, Readings):
        found = world.env[READINGS] = Readings(log_of(world), flights_of(world))
    return found

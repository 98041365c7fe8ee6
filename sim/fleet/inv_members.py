"""INV-01 to INV-07, INV-13 to INV-15: what is kept for its owner, and what is said of owners."""

from typing import Any, Final, TypeVar

import attrs

from ...actors import WebRequest, WebResponse
from ..world import World
from .checks import Check
from .flights import Flights, flights_of
from .log import Answer, Commit, Seen
from .readings import Reading, Readings, readings_of, says_ended
from .sights import answered, asked, table

__all__ = ["MEMBERS"]

S = TypeVar("S")

MINUTE_MS: Final = 60_000
OWNED: Final = ("reg:", "regFence:", "binding:")
"""What the keys of rows about threads begin with."""


class OfFlights(Check[S]):
    """Judges with what goes on at the members."""

    def attached(self, state: S, world: World) -> None:
        """Follow the log after what is folded from it."""
        flights_of(world)
        super().attached(state, world)


def flights_in(seen: Seen[Any]) -> Flights:
    """Return what goes on at the members of the world that is seen."""
    return flights_of(seen.log.world)


class OnlyOwnersChange(OfFlights[dict[str, int]]):
    """No step of drain, fence, preflight, upload, reconcile or recovery deletes or edits a binding,
    registration or workspace.
    """

    name = "INV-01"
    sees = ("commit Resident", "note workspace removed", "deliver Resident.watchdog")

    def begin(self) -> dict[str, int]:
        """When a member was last swept, milliseconds since 1970."""
        return {}

    def see(self, seen: Seen[dict[str, int]]) -> None:
        """Somebody who may is at it: the thread's own requests, or a sweep."""
        entry, flights = seen.entry, flights_in(seen)
        if entry.kind == "deliver Resident.watchdog":
            seen.own[entry.data.address.name] = entry.time_ms
        elif entry.kind == "note workspace removed":
            resource, thread = entry.data["resource"], entry.data["workspace"]
            swept = entry.time_ms - seen.own.get(resource, 0) <= MINUTE_MS
            assert swept or flights.at(resource, "watchdog"), f"{thread} was removed in no sweep"
        else:
            commit: Commit = entry.data
            for change in commit.changes:
                prefix, _, thread = change.key.partition(":")
                if f"{prefix}:" in OWNED:
                    own = flights.at(commit.name, "attach", "detach", "set_deadline", thread=thread)
                    by = own or flights.at(commit.name, "watchdog")
                    assert by, f"{change.key} of {commit.name} was changed, and nobody asked for it"


class Readers(Check[S]):
    """Judges what a member has answered."""

    sees = ("answer Resident.deploy_info",)

    def attached(self, state: S, world: World) -> None:
        """Follow the log after the readings."""
        readings_of(world)
        super().attached(state, world)

    def see(self, seen: Seen[S]) -> None:
        """Look at a reading that was answered."""
        readings: Readings = readings_of(seen.log.world)
        if readings.latest is not None:
            self.read(readings.latest)

    def read(self, reading: Reading) -> None:
        """Look at *reading*."""
        raise NotImplementedError


class RegistrationsCount(Readers[None]):
    """`runsInFlight` >= number of registrations, terminal ones included, at every read."""

    name = "INV-02"

    def begin(self) -> None:
        """Nothing."""

    def read(self, reading: Reading) -> None:
        """Compare with what was registered all the time."""
        said, there = reading.count("runsInFlight"), len(reading.always)
        assert said >= there, f"{reading.resource} counts {said} runs, and {there} are registered"


class NoStopOverWork(OfFlights[dict[str, set[str]]]):
    """A container is never stopped by the image cycle while its member has a registration or any
    operation in flight.
    """

    name = "INV-03"
    sees = ("note container stop", "note native submit", "note native outcome")

    def begin(self) -> dict[str, set[str]]:
        """Operations that run, by physical member."""
        return {}

    def see(self, seen: Seen[dict[str, set[str]]]) -> None:
        """Follow operations; look at each stop that was asked for."""
        kind, data = seen.entry.kind, seen.entry.data
        running = seen.own.setdefault(data["member"], set())
        if kind == "note native submit":
            running.add(data["operation"])
        elif kind == "note native outcome":
            running.discard(data["operation"])
        else:
            if data["why"] == "asked":
                kept = sorted(flights_in(seen).registered(data["resource"]))
                assert not kept, f"the container of {', '.join(kept)} was stopped"
                assert not running, f"{len(running)} operations ran in a container that was stopped"
            running.clear()


@attrs.define
class Proofs:
    """What containers have said of workspaces: (member, workspace) to whether all is elsewhere."""

    preserved: dict[tuple[str, str], bool] = attrs.field(factory=dict[tuple[str, str], bool])


class RemovalIsProved(OfFlights[Proofs]):
    """No workspace removal is justified by a commit id; removal needs exact owner settled plus
    preservation proof.
    """

    name = "INV-04"
    sees = (
        "commit Resident", "note workspace removed", "note native submit",
        "answer NativeContainer.is_preserved",
    )  # fmt: skip

    def begin(self) -> Proofs:
        """Nothing is proved."""
        return Proofs()

    def see(self, seen: Seen[Proofs]) -> None:
        """Whoever releases or removes has been told that everything exists elsewhere."""
        kind, data, proved = seen.entry.kind, seen.entry.data, seen.own.preserved
        if kind == "answer NativeContainer.is_preserved":
            answer: Answer = data
            place = answer.call.address.name, str(answer.call.arguments[0])
            proved[place] = answer.is_granted and answer.value is True
        elif kind == "note native submit":
            proved.pop((data["member"], data["workspace"]), None)
        elif kind == "note workspace removed":
            told = proved.get((data["member"], data["workspace"]), False)
            assert told, (
                f"{data['workspace']} was removed, and nothing has proved that all is saved"
            )
        else:
            self._released(seen, data)

    def _released(self, seen: Seen[Proofs], commit: Commit) -> None:
        for change in commit.of("reg:"):
            if change.after is None:
                thread, row = change.key.removeprefix("reg:"), table(change.before)
                asked_for = flights_in(seen).at(commit.name, "detach", thread=thread)
                settled = asked_for or says_ended(seen.log, thread, row)
                assert settled, f"{thread} was released, and its owner is not settled"


class PrivateFilesStay(Check[None]):
    """No action of ours removes the only copy of private files."""

    name = "INV-05"
    sees = ("note workspace removed", "note container stop")

    def begin(self) -> None:
        """Nothing: the ground knows."""

    def see(self, seen: Seen[None]) -> None:
        """Look at what was lost by what was asked for."""
        data = seen.entry.data
        if seen.entry.kind == "note workspace removed":
            assert not data["lost"], f"the only copy of {data['workspace']} was removed"
        elif data["why"] == "asked":
            assert not data["lost"], f"the only copy of {', '.join(data['lost'])} was stopped"


@attrs.define
class Told:
    """What the state Worker has told members of runs.

    Attributes:
        answers: (resource, run) to when it was told last and how that run stands; "" for nothing.
        heard: (resource, run) to when an answer came last.
        fence_id, fence_seq: which fence stands, and since when.
    """

    answers: dict[tuple[str, str], str] = attrs.field(factory=dict[tuple[str, str], str])
    heard: dict[tuple[str, str], int] = attrs.field(factory=dict[tuple[str, str], int])
    fence_id: str | None = None
    fence_seq: int = 0


class SilenceRemovesNothing(OfFlights[Told]):
    """An unavailable or unreadable owner answer leads to no removal and, without force, to no
    upload; under force to no removal.
    """

    name = "INV-06"
    sees = (
        "answer StateWorker.fetch", "uncertain StateWorker.fetch", "commit Resident",
        "commit Registry", "answer FleetRouter.fetch",
    )  # fmt: skip

    def begin(self) -> Told:
        """Nothing was told."""
        return Told()

    def see(self, seen: Seen[Told]) -> None:
        """Remember answers; look at releases and at verdicts that are ready."""
        kind, data, own = seen.entry.kind, seen.entry.data, seen.own
        if kind.endswith("StateWorker.fetch"):
            self._told(seen, data)
        elif kind == "commit Registry":
            fence = seen.log.fence
            fence_id = None if fence is None else fence.get("fenceId")
            if fence_id != own.fence_id:
                own.fence_id, own.fence_seq = fence_id, seen.entry.seq
        elif kind == "commit Resident":
            self._released(seen, data)
        else:
            request, (_, body) = asked(data.call), answered(data)
            if request is not None and request.path == "/deploy-fence" and body.get("fenceReady"):
                self._ready(seen)

    def _told(self, seen: Seen[Told], answer: Answer) -> None:
        kind, _, resource = answer.call.caller.partition("/")
        request: Any = answer.call.arguments[0]
        if kind != "Resident" or not isinstance(request, WebRequest):
            return
        key = resource, request.query.get("runId", "")
        response: Any = answer.value if answer.is_granted else None
        is_one = isinstance(response, WebResponse) and response.status == 200
        said = table(response.body).get("kind", "") if is_one else ""
        seen.own.answers[key] = said
        if said:
            seen.own.heard[key] = seen.entry.seq

    def _released(self, seen: Seen[Told], commit: Commit) -> None:
        for change in commit.of("reg:"):
            thread = change.key.removeprefix("reg:")
            by_owner = flights_in(seen).at(commit.name, "detach", thread=thread)
            if change.after is None and not by_owner:
                run = str(table(change.before).get("runId"))
                said = seen.own.answers.get((commit.name, run), "")
                assert said == "terminal", f"{thread} was released on the answer {said!r}"

    def _ready(self, seen: Seen[Told]) -> None:
        for resource in seen.log.rows("resident:"):
            rows = seen.log.resident(resource)
            for thread in sorted(flights_in(seen).registered(resource)):
                run = str(table(rows.get(f"reg:{thread}")).get("runId"))
                heard = seen.own.heard.get((resource, run), 0)
                assert heard > seen.own.fence_seq, (
                    f"a verdict is ready, and nobody has answered under its fence how {run} stands"
                )


class ImagesTouchNothingElse(OfFlights[None]):
    """Reconcile and reports leave registrations, native rows and other members' progress
    unchanged.
    """

    name = "INV-07"
    sees = ("commit Resident",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A commit about the image is about nothing else; native rows change where work is done."""
        commit: Commit = seen.entry.data
        images, native = commit.of("image:"), commit.of("native:")
        others = [c.key for prefix in (*OWNED, "native:") for c in commit.of(prefix)]
        assert not (images and others), f"{others} changed with the image of {commit.name}"
        if native:
            by = flights_in(seen).at(commit.name, "exec", "op", "native_outcome")
            assert by, f"native rows of {commit.name} changed, and nothing was submitted or told"


class RetainedIsExact(Readers[None]):
    """`retained` is answered only for: full triple, equal accepted-fence row, terminal record of
    the same run, thread and generation, known status, not provisional.
    """

    name = "INV-13"

    def begin(self) -> None:
        """Nothing."""

    def read(self, reading: Reading) -> None:
        """Compare with the threads of which it was ever true."""
        said, there = reading.count("retainedRuns"), len(reading.ended)
        assert said <= there, f"{reading.resource} retains {said} runs, and {there} have ended"


class LiveIsSaid(Readers[None]):
    """`executing` or `unknown` is answered for every registration whose exact owner is live (ground
    truth); never none or retained.
    """

    name = "INV-14"

    def begin(self) -> None:
        """Nothing."""

    def read(self, reading: Reading) -> None:
        """Compare with the owners that lived all the time."""
        live, said = (
            len(reading.live),
            reading.count("executingRuns") + reading.count("unknownRuns"),
        )
        assert said >= live, f"{reading.resource} says {said} of {live} runs that live"
        rest = len(reading.ever) - live
        retained = reading.count("retainedRuns")
        assert retained <= rest, f"{reading.resource} calls a run retained that lives"


class CountedOnce(Readers[None]):
    """One execution is counted once."""

    name = "INV-15"

    def begin(self) -> None:
        """Nothing."""

    def read(self, reading: Reading) -> None:
        """An operation and its owner are one: waiting owners and requests are all there can be."""
        waiting = len(reading.ever - reading.worked)
        most, said = waiting + sum(reading.flights.values()), reading.count("executingRuns")
        assert said <= most, f"{reading.resource} counts {said} executions, and {most} can be"


class ReadyMeetsNobody(OfFlights[None]):
    """A ready verdict meets no registered run that lives, whenever it was admitted."""

    name = "a ready verdict meets no run that lives"
    sees = ("answer FleetRouter.fetch", "note verdict")

    def begin(self) -> None:
        """Nothing: it is known who lives."""

    def see(self, seen: Seen[None]) -> None:
        """Look at every member that a verdict is about, while its fence stands."""
        data = seen.entry.data
        if not isinstance(data, Answer):
            members = [data["resource"]] if data["ready"] else []
        else:
            request, (_, body) = asked(data.call), answered(data)
            is_verdict = request is not None and request.path == "/deploy-fence"
            is_ready = is_verdict and body.get("fenceReady") is True
            members = list(seen.log.rows("resident:")) if is_ready else []
        for resource in members:
            lives = sorted(flights_in(seen).live_threads(resource))
            assert not lives, f"a verdict is ready, and {', '.join(lives)} of {resource} lives"


MEMBERS: Final = (
    ReadyMeetsNobody(),
    OnlyOwnersChange(),
    RegistrationsCount(),
    NoStopOverWork(),
    SilenceRemovesNothing(),
    RemovalIsProved(),
    PrivateFilesStay(),
    ImagesTouchNothingElse(),
    LiveIsSaid(),
    RetainedIsExact(),
    CountedOnce(),
)
"""In the order of their numbers, but what names a cause goes before what names its effect."""

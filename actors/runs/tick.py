"""The tick: once in a while, start what the schedules owe.

A claimed fire is spent: the schedule has moved on. So the fence is asked before anything is
claimed, once in a pass (cases 32, 1.10). A fire is sent by one pass: whoever wins it. If a fence
that closes in the middle of a pass refuses the start, or anything else that says that nothing of
it ran, the fire waits to be sent again. If nobody knows whether it runs it is deferred: later
passes look for its run and never start it, since what died may have begun before.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

import attrs

from ...wire import (
    HostClosed,
    MalformedRequest,
    MethodNotFound,
    Overloaded,
    UnknownClass,
    nothing_ran,
)
from .fence import FenceWiring
from .gates import may_pass
from .reservations import Log
from .schedules import Fire, FireState, Schedule, Schedules
from .tables import TablesUnreadableError

__all__ = ["FireSurface", "ScheduleTick", "Tally"]

FIRES_MAX: Final = 100
"""Fires in one pass: the next pass takes the rest."""

INDETERMINATE: Final = "dispatch-indeterminate"

SAID: Final[Mapping[FireState, str]] = {
    "claimed": "schedule-fire-refused",
    "deferred": "schedule-fire-deferred",
    "failed": "schedule-fire-failed",
}
"""What the log says when an error leaves a fire in a state."""


class FireSurface(Protocol):
    """How a fire's run is started, and how one finds out whether it was."""

    async def start(self, fire: Fire) -> None:
        """Start the run of *fire*, as its owner. It is delivered at most once.

        Raises:
            Exception: unless `never_ran` says otherwise, it may run all the same.
        """
        ...

    async def exists(self, fire: Fire) -> bool:
        """Return whether there is a run of that id.

        Raises:
            Exception: nobody answers.
        """
        ...


@attrs.frozen
class Tally:
    """What one pass did, in fires.

    Attributes:
        deferred: of which nobody knows whether they run, old ones among them.
        refused: that wait to be sent again.
    """

    due: int = 0
    claimed: int = 0
    started: int = 0
    deferred: int = 0
    failed: int = 0
    refused: int = 0


class ScheduleTick:
    """One pass after another over the schedules of a deployment."""

    def __init__(
        self,
        schedules: Schedules,
        surface: FireSurface,
        fence: FenceWiring,
        mint: Callable[[], str],
        log: Log,
    ) -> None:
        """Start what *schedules* owe by *surface*; *mint* names the runs."""
        self._schedules = schedules
        self._surface = surface
        self._fence: FenceWiring = fence
        self._mint = mint
        self._log = log

    async def tick(self) -> Tally:
        """Do one pass. Never raises for the fence, the database or a start."""
        if not await may_pass(self._fence, "schedule-tick", self._log):
            return Tally()
        try:
            left = await self._schedules.unsettled(FIRES_MAX)
            due = await self._schedules.due(FIRES_MAX)
        except TablesUnreadableError as error:
            self._log("schedule-tick-unreadable", {"error": str(error)})
            return Tally()
        ends = [await self._settle(fire) for fire in left]
        claimed = 0
        for each in due:
            fire = await self._claim(each)
            if fire is not None:
                claimed += 1
                ends.append(await self._dispatch(fire))
        count = ends.count
        return Tally(
            len(due), claimed, count("started"), count("deferred"), count("failed"),
            count("claimed"),
        )  # fmt: skip

    async def _claim(self, due: Schedule) -> Fire | None:
        try:
            return await self._schedules.claim(due, self._mint())
        except TablesUnreadableError as error:
            # If the claim landed, the next pass finds the fire unsettled.
            self._log("schedule-tick-claim-failed", {"scheduleId": due.id, "error": str(error)})
            return None

    async def _settle(self, fire: Fire) -> str:
        """Send a fire that nobody has sent; look for the run of any other."""
        if fire.state == "claimed":
            return await self._dispatch(fire)
        try:
            if await self._surface.exists(fire):
                return await self._mark(fire, "started")
        except Exception as error:
            return await self._mark(fire, "deferred", INDETERMINATE, error)
        return await self._mark(fire, "deferred", INDETERMINATE)

    async def _dispatch(self, fire: Fire) -> str:
        try:
            if not await self._schedules.send(fire):
                return "another's"
        except TablesUnreadableError as error:
            self._log("schedule-tick-send-failed", {"runId": fire.run_id, "error": str(error)})
            return "unknown"
        try:
            await self._surface.start(fire)
        except Exception as error:
            if never_ran(error):
                return await self._mark(fire, "claimed", "refused", error)
            if is_definite(error):
                return await self._mark(fire, "failed", str(error), error)
            return await self._mark(fire, "deferred", INDETERMINATE, error)
        return await self._mark(fire, "started")

    async def _mark(
        self,
        fire: Fire,
        state: FireState,
        reason: str | None = None,
        error: Exception | None = None,
    ) -> str:
        about = {"scheduleId": fire.schedule_id, "runId": fire.run_id}
        if error is not None:
            self._log(SAID[state], {**about, "error": str(error)})
        try:
            await self._schedules.mark(fire, state, reason)
        except TablesUnreadableError as failure:
            self._log("schedule-tick-mark-failed", {**about, "error": str(failure)})
        return state


def never_ran(error: Exception) -> bool:
    """Whether *error* says that nothing of the start ran: by its code, or as it was not delivered.

    It is said of that one delivery, so a start that could be delivered twice would prove nothing.
    """
    if isinstance(
        error, HostClosed | MalformedRequest | MethodNotFound | Overloaded | UnknownClass
    ):
        return True
    reason: object = getattr(error, "reason", None)
    code = cast(Mapping[str, object], reason).get("code") if isinstance(reason, Mapping) else None
    return isinstance(code, str) and nothing_ran(code)


def is_definite(error: Exception) -> bool:
    """Whether a start that ended like this would end like this again.

    A conflict may be the very run, started by an earlier try; every other refusal of the request
    itself would come again.
    """
    status = getattr(error, "status", None)
    return type(status) is int and 400 <= status < 500 and status != 409

"""A caller: the bot that runs one run on a member, over the routes of the fleet.

It has memory only. Asking again is a request of its own; the permit is the member's. Source:
spec/deploy-fence.md B.0, C.2 (OP-29, OP-30), K.1.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ..program import Program
from ..worker import WebRequest
from .ledger import RunLedger, RunStatus
from .operating import OPERATION_S
from .outcomes import Granted, Outcome, Refused, answered, attempt
from .owners import Owner
from .router import FleetRouter
from .wiring import LEDGER

__all__ = ["Caller", "CallerOrder"]

POLL_S: Final = 30.0
"""Seconds from one asking to the next of a caller whom the fleet has put off."""
WAIT_S: Final = 3_600.0
"""Seconds for which it keeps asking."""
PUT_OFF: Final = frozenset({"DRAINING", "FENCED", "IMAGE_STALE", "MAINTENANCE_HELD", "UNDELIVERED"})
"""Refusals that end by themselves."""


@attrs.frozen(kw_only=True)
class CallerOrder:
    """One run, and what it does.

    Attributes:
        bearer: credential of scope operator.
        resource: where it works.
        thread: whose workspace it uses.
        owner: who it is.
        works: what it has done in the workspace, one after the other.
        ends: how it ends; None for a run that stays live.
        detaches: whether it gives its registration back in the end.
        user: for whom.
    """

    bearer: str = attrs.field(repr=False)
    resource: str
    thread: str
    owner: Owner
    works: tuple[str, ...] = ()
    ends: RunStatus | None = "completed"
    detaches: bool = True
    user: str = "bot"


class Caller(Program):
    """Runs one run: attach, work, end, detach.

    Attributes:
        order: what it does.
        outcomes: how each of its requests ended, in order, with the path.
        requests: how many requests it has made; a retry is a request of its own.
    """

    def __init__(self, order: CallerOrder) -> None:
        """Run *order*."""
        self.order = order
        self.outcomes: list[tuple[str, Outcome[Mapping[str, Any]]]] = []
        self.requests = 0

    async def run(self) -> None:
        """Run it. A run that is not attached in time does nothing."""
        await self.begin()
        if not await self.attach():
            return
        for work in self.order.works:
            await self.ask("/exec", work=work)
        if self.order.ends is not None:
            await self.end(self.order.ends)
            if self.order.detaches:
                await self.ask("/detach")

    async def begin(self) -> None:
        """Tell the ledger that the run is live. If that is lost, its owner is unknown meanwhile."""
        order, owner = self.order, self.order.owner
        ledger = self.objects.get(RunLedger, LEDGER)
        told = ledger.put_live(owner.run_id, order.thread, owner.generation, owner.fence)
        await attempt(told)

    async def end(self, status: RunStatus) -> None:
        """Tell the ledger that the run has ended; nothing of it runs any more."""
        order, owner = self.order, self.order.owner
        ledger = self.objects.get(RunLedger, LEDGER)
        told = ledger.put_terminal(
            owner.run_id, order.thread, owner.generation, status, owner.fence
        )
        await attempt(told)

    async def attach(self) -> bool:
        """Attach, and ask again while the fleet puts it off; returns whether it is attached."""
        waited_s = 0.0
        while True:
            outcome = await self.ask("/attach", user=self.order.user)
            if isinstance(outcome, Granted):
                return True
            if isinstance(outcome, Refused) and outcome.code not in PUT_OFF:
                return False
            if waited_s >= WAIT_S:
                return False
            await self.sleep(POLL_S)
            waited_s += POLL_S

    async def ask(self, path: str, **rest: Any) -> Outcome[Mapping[str, Any]]:
        """Make one request for the run, and return how it ended."""
        order = self.order
        self.requests += 1
        body = {
            "resource": order.resource,
            "thread": order.thread,
            **order.owner.wire(),
            "origin": {"actor": order.user, "request": f"{order.owner.run_id}/{self.requests}"},
            **rest,
        }
        headers = {"authorization": f"Bearer {order.bearer}"}
        router = self.objects.worker(FleetRouter, deadline_s=OPERATION_S)
        outcome = await answered(router.fetch(WebRequest("POST", path, body, headers)))
        self.outcomes.append((path, outcome))
        return outcome

"""The state Worker: the stateless front of the run ledger, where members ask about owners.

Source: spec/deploy-fence.md C.1 (OP-35), P8.1.
"""

from collections.abc import Awaitable
from typing import Any, Final

from ..context import Context
from ..worker import Route, WebRequest, WebResponse, Worker
from .ledger import RunLedger
from .outcomes import Granted, answered, attempt
from .owners import Owner
from .wiring import LEDGER

__all__ = ["STATE_ROUTES", "StateWorker", "ask_owner", "owner_answer"]

STATE_ROUTES: Final = (Route("GET", "/owner", "_owner"),)
"""Nobody outside of the fleet can reach it: it asks for no credential."""


class StateWorker(Worker):
    """Answers `GET /owner?runId=`, and nothing else."""

    routes = STATE_ROUTES

    async def _owner(self, request: WebRequest) -> WebResponse:
        """Answer how the ledger says that a run stands; 503 without a body if it does not."""
        run_id = request.query.get("runId", "")
        if not run_id:
            return WebResponse(
                400, {"ok": False, "code": "BAD_REQUEST", "detail": "runId is empty"}
            )
        outcome = await attempt(self.objects.get(RunLedger, LEDGER).owner(run_id))
        if not isinstance(outcome, Granted):
            return WebResponse(503)
        return WebResponse(200, {"ok": True, **outcome.value})


def ask_owner(context: Context, owner: Owner, thread: str) -> Awaitable[WebResponse]:
    """Send the question how *owner* stands to the state Worker; returns what to await."""
    query = {
        "runId": owner.run_id,
        "thread": thread,
        "ownerGen": str(owner.generation),
        "ownerFence": str(owner.fence),
    }
    return context.objects.worker(StateWorker).fetch(WebRequest("GET", "/owner", query=query))


async def owner_answer(asked: Awaitable[WebResponse]) -> Any:
    """Return the ledger's answer to what was *asked*, or None if there is none.

    A refusal, an error, a timeout and an answer of another form are all None: nobody can say how
    the owner stands, and whoever asked has to count it as unknown (P8.2).
    """
    outcome = await answered(asked)
    return outcome.value if isinstance(outcome, Granted) else None

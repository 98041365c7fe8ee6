"""The mailbox of a serial object: requests in order, and the resident task that takes them."""

from collections import deque
from contextvars import Context

import outcome
import trio

from .gate import InputGate
from .request import Request

__all__ = ["Mailbox"]


class Mailbox:
    """What a serial object has still to do. The next request enters when the last has ended.

    Attributes:
        running: what all that is queued waits for; None while nothing runs.
    """

    __slots__ = ("_gate", "_idle", "_requests", "running")

    def __init__(self, gate: InputGate) -> None:
        self._gate = gate
        self._requests: deque[Request] = deque()
        self._idle: trio.lowlevel.Task | None = None
        self.running: Request | None = None

    def put(self, request: Request) -> None:
        """Queue *request*, and hand it over at once if the object is free."""
        self._requests.append(request)
        self.hand_over()

    def hand_over(self) -> None:
        """Let the next request pass the input gate, if there is one and the object is free."""
        if self._idle is not None and self._requests:
            self._gate.enter(None, self._wake)

    def is_queued(self, request: Request) -> bool:
        """Whether *request* has not been begun."""
        return request in self._requests

    def withdraw(self, request: Request) -> None:
        """Take *request*, which is queued, out of the queue."""
        self._requests.remove(request)

    async def take(self, context: Context) -> Request:
        """Wait for the next request: it begins a turn of its own.

        A copy of *context* keeps the context variables of one request from the next.
        """
        task = trio.lowlevel.current_task()
        task.context = context.copy()
        self.running = None
        self._idle = task
        request: Request = await trio.lowlevel.wait_task_rescheduled(_abort)
        return request

    def _wake(self) -> bool:
        task = self._idle
        if task is None or not self._requests:
            return False
        self._idle = None
        self.running = request = self._requests.popleft()
        trio.lowlevel.reschedule(task, outcome.Value(request))
        return True


def _abort(_raise: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.SUCCEEDED

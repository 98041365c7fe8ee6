"""Who waits for whom: a cycle of requests that can never go on is reported, not hung.

A request waits for the calls that its code awaits, and in the mailbox of a serial object for the
request that runs there. Left-over work keeps nobody waiting, and a call that nobody awaits keeps
nobody from going on. A cycle is closed by awaiting or by queueing; it has a queued request in it,
of which nothing has run: that one is refused.

Not seen: cycles by way of a worker, a program or a critical section of a gated object; deadlines
end those.
"""

from collections.abc import Callable
from typing import NamedTuple

import attrs

from ..actors import Address, Incarnation, MethodCall, Request
from ..wire import Deadlock

__all__ = ["Cycle", "wait_cycle"]


@attrs.frozen(eq=False)
class Cycle:
    """A deadlock, and the request to refuse for it: *refused* is queued at *callee*."""

    callee: Incarnation
    refused: MethodCall
    deadlock: Deadlock


class Wait(NamedTuple):
    """*request*, at *incarnation*, is waited for: because of *asked*, by whoever is *before*."""

    incarnation: Incarnation
    request: Request
    asked: MethodCall | None = None
    before: "Wait | None" = None


def wait_cycle(
    start: Incarnation, request: Request, find: Callable[[Address], Incarnation | None]
) -> Cycle | None:
    """Return a cycle of waiting through *request*, which runs at *start*, if there is one.

    Args:
        start: where *request* runs.
        request: that has begun to wait, or has got somebody to wait for it.
        find: the live incarnation of an object.
    """
    waits = [Wait(start, request)]
    seen = {request}
    for wait in waits:
        for call in wait.incarnation.calls.awaited_by(wait.request):
            callee = find(call.address)
            if callee is None or not callee.calls.pending:
                continue  # It waits for nobody.
            asked = _request_of(callee, wait.incarnation.name, call.id)
            if asked is None:
                continue  # The request is under way, or answered.
            ahead = callee.mailbox.running if callee.mailbox.is_queued(asked) else asked
            if ahead is None:
                continue  # It is next.
            further = Wait(callee, ahead, asked, wait)
            if ahead is request:
                return _cycle(further)
            if ahead not in seen:
                seen.add(ahead)
                waits.append(further)  # The loop comes to it: breadth first.
    return None


def _request_of(callee: Incarnation, caller: str, number: int) -> MethodCall | None:
    for request in callee.requests.values():
        if isinstance(request, MethodCall):
            envelope = request.envelope
            if envelope.id == number and envelope.caller == caller:
                return request
    return None


def _cycle(last: Wait) -> Cycle:
    # Calls alone make a tree: somewhere on the way around a request is queued.
    around: list[Wait] = []
    wait: Wait | None = last
    while wait is not None and wait.asked is not None:
        around.append(wait)
        wait = wait.before
    around.reverse()
    place = max(n for n, each in enumerate(around) if each.asked is not each.request)
    refused = around[place]
    assert refused.asked is not None
    names = [str(each.incarnation.address) for each in (*around[place:], *around[:place])]
    deadlock = Deadlock((refused.asked.envelope.caller, *names))
    return Cycle(refused.incarnation, refused.asked, deadlock)

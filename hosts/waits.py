"""Who waits for whom: a cycle of objects that can never go on is reported, not hung.

A serial object takes the next request when the one before has ended. If the one before waits, by
way of other such objects, for the very caller whose request would now be queued, none of them can
ever go on.
"""

from collections.abc import Callable

from ..actors import Address, Incarnation
from ..wire import Deadlock

__all__ = ["wait_cycle"]


def wait_cycle(
    start: Incarnation, caller: str, find: Callable[[Address], Incarnation | None]
) -> Deadlock | None:
    """Return the deadlock that queueing a request of *caller* at *start* would close, if any."""
    path = [(start, iter(start.awaited()))]
    seen = {start.address}
    while path:
        address = next(path[-1][1], None)
        if address is None:
            path.pop()
            continue
        if str(address) == caller:
            names = [*(str(node.address) for node, _ in path), caller]
            if names[0] != caller:
                names.insert(0, caller)
            return Deadlock(tuple(names))
        incarnation = find(address)
        if incarnation is None or address in seen or not incarnation.is_engaged():
            continue
        seen.add(address)
        path.append((incarnation, iter(incarnation.awaited())))
    return None

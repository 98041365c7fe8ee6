"""Who waits for whom when nothing can happen any more."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import World

__all__ = ["wait_graph"]


def wait_graph(world: "World") -> str:
    """Say what every live object and client waits for, one clause each, ordered by name."""
    clauses: list[str] = []
    for name, client in sorted(world.clients.items()):
        clauses += [f"{name} waits for {address}" for address in client.awaited()]
    incarnations = [
        incarnation
        for machine in world.machines.values()
        for incarnation in machine.host.incarnations.values()
    ]
    for incarnation in sorted(incarnations, key=lambda each: each.address):
        awaited = incarnation.awaited()
        busy = [request.label for request in incarnation.requests.values()]
        what = [f"waits for {address}" for address in awaited]
        if busy and not what:
            what = [f"is in {', '.join(busy)} and waits for nothing that can happen"]
        clauses += [f"{incarnation.address} {clause}" for clause in what]
    return "; ".join(clauses) or "the scenario waits for something that nobody will do"

"""What faults do when they strike at the end of a turn, or right before a request."""

from typing import TYPE_CHECKING, Any

from ..actors import Address, Incarnation, ProgramRun
from .choices import Site
from .faults import Subject
from .machine import MINUTE_US

if TYPE_CHECKING:
    from .network import Message
    from .world import World

__all__ = ["Strikes"]

CUT_US = 5_000_000
"""Virtual microseconds that a partition lasts."""


class Strikes:
    """The faults of one world that are not those of a message, a commit or a read."""

    __slots__ = ("_awaits", "_begun", "_fails_starts", "_world")

    def __init__(self, world: "World") -> None:
        self._world = world
        self._awaits: dict[tuple[str, object], Site] = {}
        self._fails_starts = world.may("start")
        self._begun: dict[Address, int] = {}

    def at_turn_end(self, actor: Any) -> None:
        """A turn of *actor* is about to end: it may be its last."""
        if not actor.alive:
            return
        choices = self._world.choices
        if isinstance(actor, ProgramRun):
            if choices.choose(self._world.site(actor.name, Subject("program", actor.name))):
                actor.kill()
            return
        address: Address = actor.address
        if self._fails_starts and isinstance(actor, Incarnation) and self._is_first(actor):
            subject = Subject("start", address.kind, address.name)
            if choices.choose(self._world.site(str(address), subject)):
                actor.reset(RuntimeError("the constructor failed"))
                return
        option = choices.choose(self._await(actor))
        if option == "aborted" and isinstance(actor, Incarnation):
            actor.reset(RuntimeError("the object was reset"))
        elif option is not None:
            self._world.place(address).crash("the host crashed at an await")

    def before_request(self, option: str, message: "Message") -> None:
        """*option* strikes right before *message* is sent."""
        world = self._world
        address = message.route.address
        machine = world.place(address)
        world.trace.add("strike", machine.name, 0, option, str(address))
        if option == "evicted":
            machine.host.evict(address)
        elif option == "replaced":
            machine.host.replace(address)
        elif option == "restarted":
            machine.crash("the host was restarted")
        elif option == "swapped":
            machine.swap()
        elif option == "cut 5 s":
            world.network.cut(message, world.kernel.now_us + CUT_US)
        else:
            machine.skew_us += MINUTE_US if option == "clock +60 s" else -MINUTE_US

    def _is_first(self, incarnation: Incarnation) -> bool:
        first = self._begun.get(incarnation.address, 0) < incarnation.number
        self._begun[incarnation.address] = incarnation.number
        return first

    def _await(self, actor: Any) -> Site:
        method = self._world.running.get(actor.name, "")
        site = self._awaits.get((actor.name, method))
        if site is None:
            address: Address = actor.address
            name = f"{actor.name} in {method}" if method else actor.name
            subject = Subject("await", address.kind, address.name, str(method))
            site = self._awaits[actor.name, method] = self._world.site(name, subject)
        return site

"""The `Transport` of a world: every request and every reply is an event, with bytes and choices.

First deliveries of one stub arrive in the order of the calls: what is sent behind a message that is
delayed waits for it. Duplicates may come at any time. Replies keep no order.
"""

from typing import TYPE_CHECKING

from ..actors import Address, Calls
from ..wire import Envelope, ErrorRecord, Reply, WireError, decode_reply, encode_reply
from .choices import Option, Site, literal
from .faults import Subject

if TYPE_CHECKING:
    from .world import World

__all__ = ["DELAYS_US", "Message", "Network", "Route", "moves"]

DELAYS_US = {
    "1 ms late": 1_000,
    "10 ms late": 10_000,
    "100 ms late": 100_000,
    "1 s late": 1_000_000,
}
"""What a delay may be, in virtual microseconds; the ordinary one is 0."""

ECHO_US = 10_000
"""Virtual microseconds after which a duplicate arrives."""


class Route:
    """Who calls which method of which object: the sites of its messages."""

    __slots__ = ("address", "caller", "method", "reply", "request")

    def __init__(
        self, caller: str, address: Address, method: str, request: Site, reply: Site
    ) -> None:
        self.caller = caller
        self.address = address
        self.method = method
        self.request = request
        self.reply = reply


class Message:
    """One request on its way, then its reply on the way back. It is its own event."""

    __slots__ = (
        "calls", "data", "envelope", "is_damaged", "network", "number", "reply", "route",
    )  # fmt: skip

    def __init__(
        self, network: "Network", route: Route, envelope: Envelope, data: bytes, calls: Calls
    ) -> None:
        self.network = network
        self.route = route
        self.envelope = envelope
        self.data = data
        self.calls = calls
        self.number = envelope.id
        self.is_damaged = False
        """Whether the host will not be able to read it."""
        self.reply: bytes | None = None

    def fire(self) -> None:
        """Arrive: the request at the host, or the reply at the caller."""
        if self.reply is None:
            self.network.deliver(self)
        else:
            self.network.answer(self, self.reply)

    def respond(self, data: bytes) -> None:
        """The host answers."""
        reply = self
        if self.reply is not None:
            reply = Message(self.network, self.route, self.envelope, self.data, self.calls)
        reply.reply = data
        self.network.send_reply(reply, data)

    def broken(self, reason: str) -> None:
        """Whoever was to answer is gone: the caller learns it at once."""
        self.network.send_break(self, reason)


class Break:
    """A connection that ended: news for the caller."""

    __slots__ = ("_message", "_reason")

    def __init__(self, message: Message, reason: str) -> None:
        self._message = message
        self._reason = reason

    def fire(self) -> None:
        """Tell the caller."""
        message = self._message
        message.network.asker = message.calls
        message.network.world.trace.add("broken", message.calls.name, 0, message.number)
        message.calls.broken(message.number, self._reason)


class Network:
    """All messages of a world.

    Attributes:
        asker: whose call it is that the row of a message is about, for those who watch: names of
            callers are shared by all requests of a worker.
        damages: how many messages were damaged so far.
    """

    __slots__ = ("_cut", "_delayed", "_routes", "asker", "damages", "world")

    def __init__(self, world: "World") -> None:
        self.world = world
        self.asker: Calls | None = None
        self.damages = 0
        self._routes: dict[tuple[str, str, str, str], Route] = {}
        self._delayed: dict[tuple[str, int], int] = {}
        self._cut: dict[tuple[str, str], int] = {}

    # ---- requests

    def request(self, envelope: Envelope, data: bytes, calls: Calls) -> None:
        """Send a request."""
        world = self.world
        caller, method = envelope.caller, envelope.method
        route = self._routes.get((caller, envelope.kind, envelope.name, method))
        if route is None:
            route = self._new_route(envelope)
        message = Message(self, route, envelope, data, calls)
        self.asker = calls
        world.trace.add(
            "request", caller, 0, envelope.id, envelope.kind, envelope.name, method, data
        )
        option = world.choices.choose(route.request)
        if option is None and not self._delayed:
            world.kernel.fresh.append(message)
        else:
            self._send(message, option)

    def _send(self, message: Message, option: str | None) -> None:
        kernel = self.world.kernel
        stub = (message.envelope.caller, message.envelope.stub)
        earliest = self._delayed.get(stub, -1)
        if option == "lost":
            self._lose("request", message)
            return
        if option in DELAYS_US:
            earliest = max(earliest, kernel.now_us + DELAYS_US[option])
        elif option == "behind":
            earliest = max(earliest, kernel.now_us)
        elif option == "corrupt":
            self.damages += 1
            message.data = damaged(message.data)
            message.is_damaged = True
        elif option == "twice":
            self.world.trace.add("twice", message.calls.name, 0, message.number)
            copy = Message(self, message.route, message.envelope, message.data, message.calls)
            kernel.agenda.at(kernel.now_us + ECHO_US, copy)
        elif option is not None:
            self.world.strikes.before_request(option, message)
            if self._is_cut(message):
                return
        if earliest < kernel.now_us:
            self._delayed.pop(stub, None)
            kernel.fresh.append(message)
            return
        self._delayed[stub] = earliest
        if earliest == kernel.now_us:
            kernel.agenda.behind(message)
        else:
            kernel.agenda.at(earliest, message)

    def deliver(self, message: Message) -> None:
        """A request arrives at the host of its object."""
        world = self.world
        if self._cut and self._is_cut(message):
            return
        machine = world.place(message.route.address)
        if machine.is_early(message):
            return
        envelope = message.envelope
        self.asker = message.calls
        world.trace.add("deliver", envelope.caller, 0, envelope.id, envelope.kind, envelope.name)
        machine.receive(message.data, message)

    # ---- replies

    def send_reply(self, message: Message, data: bytes) -> None:
        """Send the reply back."""
        world = self.world
        route = message.route
        world.trace.add("reply", route.caller, 0, message.number)
        option = world.choices.choose(route.reply)
        kernel = world.kernel
        if option is None:
            kernel.fresh.append(message)
        elif option == "lost":
            self._lose("reply", message)
        elif option == "corrupt":
            self.damages += 1
            message.reply = damaged(data)
            kernel.fresh.append(message)
        elif option == "behind":
            kernel.agenda.behind(message)
        else:
            kernel.agenda.at(kernel.now_us + DELAYS_US[option], message)

    def send_break(self, message: Message, reason: str) -> None:
        """Let the caller know that the connection ended."""
        self.world.kernel.fresh.append(Break(message, reason))

    def answer(self, message: Message, data: bytes) -> None:
        """A reply arrives at the caller."""
        if self._cut and self._is_cut(message):
            return
        trace = self.world.trace
        if data[-1:] != NO_ERROR:
            trace.hash_next_as(message.number, without_texts(data))
        self.asker = message.calls
        trace.add("answer", message.route.caller, 0, message.number, data)
        if message.is_damaged:
            # The host cannot say which call it could not read: the connection ends.
            message.calls.broken(message.number, "the host could not read the request")
            return
        try:
            message.calls.receive(data)
        except WireError as error:
            message.calls.broken(message.number, f"the reply could not be read: {error}")

    # ---- faults

    def cut(self, message: Message, until_us: int) -> None:
        """Cut the caller off from the host of this object until *until_us*."""
        self._cut[self._link(message)] = until_us

    def _link(self, message: Message) -> tuple[str, str]:
        return (message.route.caller, self.world.place(message.route.address).name)

    def _is_cut(self, message: Message) -> bool:
        until = self._cut.get(self._link(message), -1)
        if until <= self.world.kernel.now_us:
            return False
        self._lose("message", message)
        return True

    def _lose(self, what: str, message: Message) -> None:
        self.world.trace.add("lost", message.route.caller, 0, message.number, what)

    def _new_route(self, envelope: Envelope) -> Route:
        caller, address, method = envelope.caller, envelope.address, envelope.method
        label = f"{address}.{method}"
        request = self.world.site(
            f"{label} by {caller}",
            Subject("request", address.kind, address.name, method, caller),
            moves("request {n} of " + literal(f"{label} by {caller}")),
        )
        reply = self.world.site(
            f"{label} to {caller}",
            Subject("reply", address.kind, address.name, method, caller),
            moves("reply {n} of " + literal(f"{label} to {caller}")),
        )
        route = Route(caller, address, method, request, reply)
        self._routes[caller, address.kind, address.name, method] = route
        return route


def moves(what: str) -> tuple[Option, ...]:
    """Return the options of order and delay for *what*: they need no fault plan."""
    behind = Option("behind", f"{what} comes after everything else of that moment", MOVE_WEIGHT * 4)
    return (behind, *(Option(name, f"{what} is {name}", MOVE_WEIGHT) for name in DELAYS_US))


MOVE_WEIGHT = 0.25
"""Weight of one delay against one fault: the five moves together weigh as much as two faults."""


NO_ERROR = b"\xc0"
"""The last byte of a reply that holds no error: its last field is nil."""


def without_texts(data: bytes) -> bytes:
    """Return the reply *data* without what Python's exceptions say, which changes with Python."""
    try:
        reply = decode_reply(data)
    except WireError:
        return b""
    error = reply.error
    if error is None:
        return data
    reason = error.reason
    if isinstance(error.code, int):
        reason = {"name": None if reason is None else reason.get("name")}
    told = ErrorRecord(error.code, error.status, "", reason)
    return encode_reply(Reply(reply.id, reply.incarnation, None, told))


def damaged(data: bytes) -> bytes:
    """Return *data* with its last byte gone: no reader can take it for whole."""
    return data[:-1]

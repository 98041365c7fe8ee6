"""A transport within one process: the bytes go straight to the host, and straight back."""

from typing import Protocol

from ..actors import Calls, Origin
from ..wire import Envelope


class Receiver(Protocol):
    """Whoever takes in requests: a host."""

    def receive(self, data: bytes, origin: Origin) -> None:
        """Take in an encoded envelope; *origin* gets one answer, or none."""
        ...


class Loopback:
    """The `Transport` of an embedded host. Delivers during `request`, in the order of calls.

    What a caller and its callee share is still bytes only: a request is decoded by the host, a
    reply by the caller.
    """

    __slots__ = ("receiver",)

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        """Where requests go."""

    def request(self, envelope: Envelope, data: bytes, calls: Calls) -> None:
        """Give *data* to the receiver; `calls` gets the answer when it is given."""
        self.receiver.receive(data, LoopbackOrigin(envelope.id, calls))


class LoopbackOrigin:
    """The way back to a caller in this process."""

    __slots__ = ("_calls", "_number")

    def __init__(self, number: int, calls: Calls) -> None:
        self._number = number
        self._calls = calls

    def respond(self, data: bytes) -> None:
        """Send the encoded reply."""
        self._calls.receive(data)

    def broken(self, reason: str) -> None:
        """Say that no reply will come."""
        self._calls.broken(self._number, reason)

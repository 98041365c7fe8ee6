"""What an incarnation is asked to do: a call of a method, or a run of the alarm handler."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Literal, Protocol

from ..wire import (
    Envelope,
    ErrorRecord,
    MethodNotFound,
    Reply,
    UnsendableValue,
    encode_reply,
    record_of,
)
from .object import AlarmInfo, DurableObject
from .ports import Origin

__all__ = ["REQUEST", "AlarmEnd", "AlarmRun", "MethodCall", "Request"]

AlarmEnd = Literal["done", "failed", "reset", "dropped", "gone"]
"""How a run of an alarm handler ended: it returned and is durable; it raised; the object was reset;
it was reset and asked for no retry; the incarnation died or was never made."""


class Request(Protocol):
    """One thing to do for somebody."""

    label: str
    number: int

    def invoke(self, target: DurableObject) -> Awaitable[Any]:
        """Begin."""
        ...

    def encode(self, incarnation: int, value: Any, error: Exception | None) -> bytes | bool:
        """Return the outcome as `send` takes it: what is changed later has no effect on it."""
        ...

    def send(self, outcome: bytes | bool) -> None:
        """Let the outcome leave."""
        ...

    def reset(self, incarnation: int, error: ErrorRecord, *, retry_alarm: bool) -> None:
        """The object was reset before the answer left."""
        ...

    def broken(self, reason: str) -> None:
        """The incarnation died without a word."""
        ...


REQUEST: ContextVar[Request | None] = ContextVar("request", default=None)
"""What the current task works on; None for work that a request has left over."""


class MethodCall:
    """A call that came in an envelope."""

    __slots__ = ("envelope", "label", "number", "origin")

    def __init__(self, number: int, envelope: Envelope, origin: Origin) -> None:
        self.label = envelope.method
        self.number = number
        self.envelope = envelope
        self.origin = origin

    def invoke(self, target: DurableObject) -> Awaitable[Any]:
        """Call the method.

        Raises:
            MethodNotFound: it may not be called. Nothing ran.
        """
        envelope = self.envelope
        method = envelope.method
        if method not in target.methods:
            raise MethodNotFound(envelope.kind, method)
        awaitable: Awaitable[Any] = getattr(target, method)(*envelope.args, **envelope.kwargs)
        return awaitable

    def encode(self, incarnation: int, value: Any, error: Exception | None) -> bytes:
        """Return the encoded reply; a value that cannot be sent becomes an error reply."""
        number = self.envelope.id
        if error is None:
            try:
                return encode_reply(Reply(number, incarnation, value, None))
            except UnsendableValue as unsendable:
                record = record_of(unsendable)
        else:
            # What a handler let through, an `Overloaded` of its own call say, is its own failure.
            refused = isinstance(error, MethodNotFound)
            record = record_of(error, raised_by_handler=not refused)
        return encode_reply(Reply(number, incarnation, None, record))

    def send(self, outcome: bytes | bool) -> None:
        """Send the reply."""
        assert isinstance(outcome, bytes)
        self.origin.respond(outcome)

    def reset(self, incarnation: int, error: ErrorRecord, *, retry_alarm: bool) -> None:
        """Reply with the reset."""
        del retry_alarm
        self.origin.respond(encode_reply(Reply(self.envelope.id, incarnation, None, error)))

    def refuse(self, error: ErrorRecord) -> None:
        """Reply that nothing ran: the stub is not bound to any incarnation by that."""
        self.origin.respond(encode_reply(Reply(self.envelope.id, 0, None, error)))

    def broken(self, reason: str) -> None:
        """Let the caller know that no reply will come."""
        self.origin.broken(reason)


class AlarmRun:
    """A run of the alarm handler, with who wants to know how it ends."""

    __slots__ = ("_begun", "_end", "info", "number")

    label = "alarm"

    def __init__(self, number: int, info: AlarmInfo, end: Callable[[AlarmEnd], None]) -> None:
        self.number = number
        self.info = info
        self._begun = False
        self._end = end

    def invoke(self, target: DurableObject) -> Awaitable[Any]:
        """Call the handler."""
        self._begun = True
        return target.alarm(self.info)

    def encode(self, incarnation: int, value: Any, error: Exception | None) -> bool:
        """Return whether it went well."""
        del incarnation, value
        return error is None

    def send(self, outcome: bytes | bool) -> None:
        """Tell how it ended, once its writes are durable (AL-14)."""
        self._end("done" if outcome else "failed")

    def reset(self, incarnation: int, error: ErrorRecord, *, retry_alarm: bool) -> None:
        """It counts as a failed try if it had begun, unless no retry was asked for (AL-10)."""
        del incarnation, error
        if not self._begun:
            self._end("gone")
        else:
            self._end("reset" if retry_alarm else "dropped")

    def broken(self, reason: str) -> None:
        """It will be due again: the stored alarm is still there."""
        del reason
        self._end("gone")

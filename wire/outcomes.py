"""How a call can end without a value, by what is true then.

    refused      Overloaded, MethodNotFound, UnknownClass, HostClosed, MalformedRequest; and a
                 RunRouteError whose code the table marks: nothing ran, nothing was written
    failed       ObjectReset, Deadlock, UnsendableResult, RemoteError, RunRouteError, built-in
                 exceptions: an error came back, and says nothing about what ran
    uncertain    OutcomeUnknown: nobody can say whether it ran

They have no common base below `Exception`: one ``except`` can not take a refusal for a failure, nor
a failure for a loss, without naming both.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .records import ErrorRecord


class Overloaded(Exception):
    """The mailbox was full: the call was not delivered, nothing ran, it may be sent again."""

    remote = False

    def __init__(self, address: str, requests_max: int) -> None:
        super().__init__(address, requests_max)
        self.address = address
        self.requests_max = requests_max

    def __str__(self) -> str:
        return f"the mailbox of {self.address} is full ({self.requests_max} requests)"


class UnknownClass(Exception):
    """No class of this name is known to the host; nothing ran.

    The same call fails again for as long as the same code runs there.
    """

    remote = False

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return f'no class named "{self.kind}" is known here'


class MethodNotFound(Exception):
    """The class has no such method that may be called; nothing ran (durable-objects.md, RPC-6).

    The same call fails again for as long as the same code runs there.
    """

    remote = False

    def __init__(self, kind: str, method: str) -> None:
        super().__init__(kind, method)
        self.kind = kind
        self.method = method

    def __str__(self) -> str:
        return f'{self.kind} has no method "{self.method}" that may be called'


class HostClosed(Exception):
    """The host is closed, closing or out of reach: the call was not delivered, nothing ran.

    It may be sent again to a host that is open.
    """

    remote = False

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the call was not delivered: {self.reason}"


class MalformedRequest(Exception):
    """The far side could not read the call: nothing ran. The same bytes would fail again."""

    remote = False

    def __init__(self, message: str) -> None:
        super().__init__(message)


class ObjectReset(Exception):
    """The incarnation that had the call was reset; what it had committed stays.

    What the call itself did may be committed or not. A stub that was in use is broken (RPC-11);
    a new one reaches the next incarnation.

    Attributes:
        message: What happened, as text.
        record: The record of the error that caused the reset, or None.
        remote: True if a handler let through a reset of an object that *it* had called. The object
            that was called itself was not reset then.
    """

    remote: bool = False

    def __init__(self, message: str, record: "ErrorRecord | None" = None) -> None:
        super().__init__(message)
        self.message = message
        self.record = record

    @property
    def error(self) -> Exception | None:
        """The error that caused the reset, made anew from its record at each look."""
        # Records know the classes of this file, so they can only be reached from inside.
        from .rebuilt import error_from

        return None if self.record is None else error_from(self.record)


class Deadlock(Exception):
    """The call would wait for itself: a cycle of objects that wait for each other was cut here.

    What ran before the cycle closed stays.

    Attributes:
        cycle: The objects in the order in which each waits for the next.
        remote: True if a handler let it through: the cycle was closed by a call of its own.
    """

    remote: bool = False

    def __init__(self, cycle: tuple[str, ...]) -> None:
        super().__init__(cycle)
        self.cycle = cycle

    def __str__(self) -> str:
        return f"objects wait for each other: {' -> '.join(self.cycle)}"


class UnsendableResult(Exception):
    """The handler ran to its end, and its result cannot be sent. What it wrote stays.

    Unlike `UnsendableValue`, which is raised at the sender of a call before anything leaves.
    """

    remote = False

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"the result cannot be sent: {self.path}: {self.reason}"


class OutcomeUnknown(Exception):
    """The request or the reply was lost, or the deadline passed.

    Nobody can say whether the call ran, is running, or will. It may be sent again only if running
    it twice is harmless.
    """

    remote = False

    def __init__(self, message: str = "nobody can say whether the call ran") -> None:
        super().__init__(message)


class RemoteError(Exception):
    """The handler raised an error of a class that is not built in; what it wrote before stays.

    Attributes:
        name: The name of its class, as text.
        message: Its message.
        properties: Its own attributes; none if one of them cannot be sent (RPC-9).
        members: Of a group of errors, each member as text.
        remote: Always True.
    """

    remote = True

    def __init__(
        self,
        name: str,
        message: str,
        properties: Mapping[str, Any] | None = None,
        members: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, message)
        self.name = name
        self.message = message
        self.properties: Mapping[str, Any] = {} if properties is None else properties
        self.members = members

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name


class DoStatusError(Exception):
    """The family of errors with a status and a structured reason; subclasses declare a ``code``.

    Membership is nominal: an object that merely has the same fields is not one. Between objects it
    never arrives as its class, but as `RunRouteError`. Class, cause and stack are lost
    (run-claims.md 1.11, 4.1).
    """

    code: ClassVar[str] = "DO_STATUS_ERROR"

    def __init__(self, status: int, message: str, reason: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason


class RunRouteError(Exception):
    """What a `DoStatusError` is on the far side, whatever class was raised (run-claims.md 4.2).

    Whether nothing ran, the table of codes says. One that a handler lets through is not handed on
    as one: it is that handler's failure then, and promises nothing about its own effects.
    """

    code: str = "DO_STATUS_ERROR"

    def __init__(self, status: int, message: str, reason: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason


class IncarnationGone(BaseException):
    """This incarnation is over: its ports are closed, and nothing it does has an effect any more.

    A `BaseException`, so that code that handles errors does not take it for one. It is raised by
    ports, inside of the incarnation only, and never crosses the wire.
    """

"""How a call can end without a value, by what is true then.

    refused      Overloaded, MethodNotFound, HostClosed, MalformedRequest; and a RunRouteError whose
                 code the table marks: nothing ran, nothing was written
    failed       ObjectReset, Deadlock, UnsendableResult, RemoteError, RunRouteError, built-in
                 exceptions: an error came back, and says nothing about what ran
    uncertain    OutcomeUnknown: nobody can say whether it ran

They have no common base below `Exception`: one ``except`` can not take a refusal for a failure, nor
a failure for a loss, without naming both.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class Overloaded(Exception):  # noqa: N818 (these are named for what happened)
    """The mailbox was full: the call was not delivered, nothing ran, it may be sent again."""

    remote = False

    def __init__(self, message: str = "the mailbox is full") -> None:
        super().__init__(message)


class MethodNotFound(Exception):  # noqa: N818
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


class HostClosed(Exception):  # noqa: N818
    """The host is closed or closing: the call was not delivered, nothing ran.

    It may be sent again to a host that is open.
    """

    remote = False

    def __init__(self, message: str = "the host is closed") -> None:
        super().__init__(message)


class MalformedRequest(Exception):  # noqa: N818
    """The far side could not read the call: nothing ran. The same bytes would fail again."""

    remote = False

    def __init__(self, message: str) -> None:
        super().__init__(message)


class ObjectReset(Exception):  # noqa: N818
    """The incarnation that had the call was reset; what it had committed stays.

    What the call itself did may be committed or not. A stub that was in use is broken (RPC-11);
    a new one reaches the next incarnation.

    Attributes:
        error: The error that caused the reset, rebuilt, or None if there was none.
        remote: True if the object that was called got this reset from an object *it* had called.
    """

    remote: bool = False

    def __init__(self, message: str, error: BaseException | None = None) -> None:
        super().__init__(message)
        self.error = error


class Deadlock(Exception):  # noqa: N818
    """The call would wait for itself: a cycle of objects that wait for each other was cut here.

    What ran before the cycle closed stays.

    Attributes:
        cycle: The objects in the order in which each waits for the next; the last waits for the
            first.
    """

    remote = False

    def __init__(self, message: str, cycle: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.cycle = cycle


class UnsendableResult(Exception):  # noqa: N818
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


class OutcomeUnknown(Exception):  # noqa: N818
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

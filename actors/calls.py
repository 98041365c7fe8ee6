"""Calls under way: from a method of a stub to an awaited outcome.

A stub method sends at the call and returns a `Call`. Awaiting it waits for the outcome; dropping it
is fire and forget; cancelling the waiter takes nothing back. The outcomes are kept apart by type: a
value, an error that came back, or `OutcomeUnknown`.
"""

# A stub has the names of its class and none besides: what it keeps is private to this file.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from typing import Any

from ..wire import (
    Address,
    Envelope,
    IncarnationGone,
    ObjectReset,
    OutcomeUnknown,
    decode_reply,
    encode_envelope,
    error_from,
)
from .pending import Owner, Pending
from .ports import Clock, Timer, Transport
from .request import REQUEST, Request

__all__ = ["Call", "Calls", "Stub"]


class Call(Pending):
    """One call under way. Await it for the value.

    Raises, when awaited:
        OutcomeUnknown: the request or the reply was lost, or the deadline passed. It may have run,
            may run later, or never.
        Exception: whatever came back: see `docs/outcomes.md`.
    """

    __slots__ = ("deadline", "id", "stub")

    def __init__(self, owner: Owner, stub: "Stub", number: int, deadline: float) -> None:
        Pending.__init__(self, owner)
        self.id = number
        self.stub = stub
        self.deadline = deadline

    @property
    def address(self) -> Address:
        """Who was called."""
        return self.stub.address


class Stub:
    """The caller's handle of one object. Its methods are those of the class.

    A stub that was in use when its object was reset stays broken: every later call fails at once
    with the same error (RPC-11). Ask for a new one.
    """

    def __init__(
        self, calls: "Calls", address: Address, methods: frozenset[str], deadline_s: float
    ) -> None:
        self._calls = calls
        self._methods = methods
        self._deadline_s = deadline_s
        self._number = calls.number_of_stub()
        self._order = 0
        self._incarnation = 0
        self._broken: Exception | None = None
        self.address = address
        """Which object this is a handle of."""

    def __getattr__(self, name: str) -> Callable[..., Call]:
        if name not in self._methods:
            raise AttributeError(f"{self.address.kind} has no method {name!r} that may be called")
        calls = self._calls
        if not calls.owner.alive:
            raise IncarnationGone(calls.name)

        def method(*args: Any, **kwargs: Any) -> Call:
            return calls.send(self, name, args, kwargs)

        self.__dict__[name] = method
        return method

    def __repr__(self) -> str:
        return f"<stub of {self.address}>"


class Calls:
    """The calls of one participant, by number, and the deadlines they have."""

    __slots__ = (
        "_clock",
        "_late",
        "_next",
        "_stubs",
        "_transport",
        "_version",
        "name",
        "owner",
        "pending",
    )

    def __init__(
        self, name: str, owner: Owner, clock: Clock, transport: Transport, version: str
    ) -> None:
        self.name = name
        self.owner = owner
        self.pending: dict[int, Call] = {}
        self._clock = clock
        self._transport = transport
        self._version = version
        self._next = 0
        self._stubs = 0
        self._late: tuple[float, Timer] | None = None

    def number_of_stub(self) -> int:
        """Number the next stub."""
        self._stubs += 1
        return self._stubs

    def stub(self, address: Address, methods: frozenset[str], deadline_s: float) -> Stub:
        """Make a stub. Nothing is sent, and the object is not started (LC-1)."""
        return Stub(self, address, methods, deadline_s)

    def send(self, stub: Stub, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Send a request now and return the call.

        Raises:
            UnsendableValue: an argument cannot cross the wire. Nothing was sent.
            IncarnationGone: the caller is dead. Nothing was sent.
        """
        owner = self.owner
        if not owner.alive:
            raise IncarnationGone(self.name)
        clock = self._clock
        now = clock.time()
        seconds = stub._deadline_s
        self._next = number = self._next + 1
        address = stub.address
        envelope = Envelope(
            number, self.name, stub._number, stub._order + 1, stub._incarnation, address.kind,
            address.name, method, args, kwargs, self._clock.wall() + int(seconds * 1_000_000),
            self._version,
        )  # fmt: skip
        data = encode_envelope(envelope)
        stub._order += 1
        call = Call(owner, stub, number, now + seconds)
        if stub._broken is not None:
            call.settle(None, stub._broken)
            return call
        self.pending[number] = call
        if self._late is None or call.deadline < self._late[0]:
            self._watch(call.deadline)
        owner.emit(self._transport.request, envelope, data, self)
        return call

    def receive(self, data: bytes) -> None:
        """A reply has arrived. One for a call that is no longer awaited is dropped."""
        if not self.owner.alive:
            return
        reply = decode_reply(data)
        call = self.pending.pop(reply.id, None)
        if call is None:
            return
        stub = call.stub
        if reply.error is None:
            stub._incarnation = reply.incarnation
            call.settle(reply.value, None)
            return
        error = error_from(reply.error)
        if isinstance(error, ObjectReset) and not error.remote:
            stub._broken = error
        elif reply.incarnation:
            stub._incarnation = reply.incarnation
        call.settle(None, error)

    def broken(self, number: int, reason: str) -> None:
        """No reply will come for call *number*; it may have run."""
        call = self.pending.pop(number, None)
        if call is not None and self.owner.alive:
            call.settle(None, OutcomeUnknown(f"{call.address}: {reason}"))

    def awaited_by(self, request: Request) -> list[Call]:
        """Return the calls that *request* waits for, by any of its tasks, in the order made."""
        return [
            call
            for call in self.pending.values()
            if any(task.context.get(REQUEST) is request for task in call.waiting_tasks())
        ]

    def close(self) -> None:
        """The caller is gone: nobody waits any more."""
        self.pending.clear()
        if self._late is not None:
            self._late[1].cancel()
            self._late = None

    def _watch(self, deadline: float) -> None:
        # One timer serves all calls: when the earliest is due, the next one is looked for.
        if self._late is not None:
            self._late[1].cancel()
        timer = self._clock.call_at(deadline, self._expire, f"deadline of {self.name}")
        self._late = (deadline, timer)

    def _expire(self) -> None:
        assert self._late is not None
        # What the timer was for is due, whatever the last digit of the clock says.
        now = max(self._clock.time(), self._late[0])
        self._late = None
        late = [call for call in self.pending.values() if call.deadline <= now]
        for call in late:
            del self.pending[call.id]
            call.settle(
                None, OutcomeUnknown(f"{call.address}: no reply within {call.stub._deadline_s:g} s")
            )
        if self.pending:
            self._watch(min(call.deadline for call in self.pending.values()))

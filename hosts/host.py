"""A host: from an envelope to the incarnation that answers it. Nothing here is real or simulated.

The same class runs under the embedded host and in a world; only its ports differ.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextvars import copy_context
from itertools import count
from typing import Literal

import attrs
import trio

from ..actors import (
    INCARNATION,
    Actor,
    Address,
    AlarmEnd,
    AlarmInfo,
    DurableObject,
    Incarnation,
    MethodCall,
    Origin,
    Ports,
    Request,
    Worker,
    WorkerRun,
)
from ..wire import (
    Envelope,
    ErrorRecord,
    HostClosed,
    MalformedRequest,
    Reply,
    UnknownClass,
    WireError,
    decode_envelope,
    encode_reply,
    record_of,
)
from .alarms import Alarms
from .limits import EVICTION_S, RESETS_MAX
from .waits import wait_cycle

__all__ = ["Host"]

CLOCK_S = 1e-6
"""What differences of a clock in seconds may be off by: less is no time to wait."""

Numbers = Callable[[Address], int]
State = Literal["new", "open", "closing", "closed"]


class Host:
    """Runs incarnations of the classes it knows."""

    def __init__(
        self,
        name: str,
        ports: Ports,
        classes: Iterable[type[DurableObject | Worker]] = (),
        *,
        numbers: Numbers | None = None,
        find: "Callable[[Address], Incarnation | None] | None" = None,
        eviction_s: float = EVICTION_S,
    ) -> None:
        """Make a host that is not running yet.

        Args:
            name: who it is, in traces.
            ports: what it reaches the outside by.
            classes: what it can run, by their stored names.
            numbers: numbers the next incarnation of an object, growing for each; from 1 by default.
            find: the live incarnation of an object wherever it runs; this host's own by default.
            eviction_s: seconds without any activity after which an incarnation goes (LC-7).
        """
        self.name = name
        self.ports = attrs.evolve(ports, met=self._meet) if ports.met is None else ports
        self.classes: dict[str, type[DurableObject]] = {}
        self.workers: dict[str, type[Worker]] = {}
        self.incarnations: dict[Address, Incarnation] = {}
        self._replaced: dict[tuple[Address, int], Incarnation] = {}
        self.state: State = "new"
        self.evictions = 0
        self.resets = 0
        self._eviction_s = eviction_s
        self._number = numbered_from(1) if numbers is None else numbers
        self._find = self.incarnations.get if find is None else find
        self._broken: dict[Address, tuple[int, ErrorRecord, frozenset[tuple[str, int]]]] = {}
        self._nursery: trio.Nursery | None = None
        self._requests = 0
        self._runs: dict[int, WorkerRun] = {}
        self.alarms = Alarms(self, ports.clock, ports.entropy)
        for cls in classes:
            self.learn(cls)

    def learn(self, cls: type[DurableObject | Worker]) -> None:
        """Make *cls* known by its stored name.

        Raises:
            ValueError: another class has that name here. Nothing changed.
        """
        known = self.classes.get(cls.stored_name) or self.workers.get(cls.stored_name) or cls
        if known is not cls:
            raise ValueError(
                f"{cls.stored_name!r} is the stored name of {known!r} already: give {cls!r} "
                f"another one with name="
            )
        if issubclass(cls, Worker):
            self.workers[cls.stored_name] = cls
        else:
            self.classes[cls.stored_name] = cls

    def _meet(self, cls: type[DurableObject | Worker]) -> None:
        # An object asked for it. Code that is being replaced may still know an older class of that
        # name: the one that is deployed here stays.
        if cls.stored_name not in self.classes and cls.stored_name not in self.workers:
            self.learn(cls)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled; then whatever still runs is dead."""
        if self.state == "closed":
            return  # It crashed before it ran.
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self.state = "open"
                self.alarms.start(self.ports.store.alarms())
                task_status.started()
                await trio.sleep_forever()
        finally:
            self.crash("the host was closed")
            self._nursery = None

    # ---- requests

    def receive(self, data: bytes, origin: Origin) -> None:
        """Take in a request. What cannot be read gets an error reply to call 0."""
        try:
            envelope = decode_envelope(data)
        except WireError as error:
            refusal = record_of(MalformedRequest(str(error)))
            origin.respond(encode_reply(Reply(0, 0, None, refusal)))
            return
        self.deliver(envelope, origin)

    def deliver(self, envelope: Envelope, origin: Origin) -> None:
        """Hand a request to its object, which is started if it does not run."""
        address = Address(envelope.kind, envelope.name)
        incarnation = self.incarnations.get(address)
        if self._broken:
            broken = self._broken.get(address)
            if broken is not None and _was_bound(envelope, broken[0], broken[2]):
                self._refuse(envelope, origin, broken[1])
                return
        if incarnation is None:
            if self.state != "open":
                closed = HostClosed(f"the host {self.name} is closed")
                self._refuse(envelope, origin, record_of(closed))
                return
            worker = self.workers.get(address.kind)
            if worker is not None:
                self._serve(worker, envelope, origin)
                return
            try:
                incarnation = self.activate(address)
            except Exception as error:
                self._refuse(envelope, origin, record_of(error))
                return
        incarnation.receive(envelope, origin)
        if incarnation.calls.pending and incarnation.mailbox.running is not None:
            self._break_cycles(incarnation, incarnation.mailbox.running)

    def _break_cycles(self, incarnation: Incarnation, request: Request) -> None:
        cycle = wait_cycle(incarnation, request, self._find)
        while cycle is not None:
            cycle.callee.refuse(cycle.refused, record_of(cycle.deadlock))
            cycle = wait_cycle(incarnation, request, self._find)

    def _serve(self, cls: type[Worker], envelope: Envelope, origin: Origin) -> None:
        self._requests += 1
        run = WorkerRun(cls, self._requests, self.ports, envelope, origin, self._served)
        self._runs[run.number] = run
        self._spawn(run, run.run)

    def _served(self, run: WorkerRun) -> None:
        del self._runs[run.number]

    def _spawn(self, actor: Actor, work: Callable[[], Awaitable[None]]) -> None:
        assert self._nursery is not None
        context = copy_context()
        context.run(INCARNATION.set, actor)
        context.run(self._nursery.start_soon, work)

    def _refuse(self, envelope: Envelope, origin: Origin, error: ErrorRecord) -> None:
        origin.respond(encode_reply(Reply(envelope.id, 0, None, error)))

    # ---- incarnations

    def activate(self, address: Address) -> Incarnation:
        """Return the live incarnation of *address*, started if need be.

        Raises:
            UnknownClass: no class of that name is known here. Nothing ran.
            StorageFailed: its storage could not be opened. Nothing ran.
        """
        incarnation = self.incarnations.get(address)
        if incarnation is not None:
            return incarnation
        cls = self.classes.get(address.kind)
        if cls is None:
            raise UnknownClass(address.kind)
        incarnation = Incarnation(
            cls, address, self._number(address), self.ports, self._ended, self.alarms.changed,
            self._break_cycles,
        )  # fmt: skip
        self.incarnations[address] = incarnation
        self._spawn(incarnation, incarnation.run)
        self._look_later(incarnation)
        return incarnation

    def ring(self, address: Address, info: AlarmInfo, end: Callable[[AlarmEnd], None]) -> None:
        """Run the alarm handler of *address*."""
        self.activate(address).ring(info, end)

    def evict(self, address: Address) -> bool:
        """Let the incarnation of *address* go if it is idle; returns whether it went."""
        incarnation = self.incarnations.get(address)
        if incarnation is None or not incarnation.is_idle():
            return False
        self.evictions += 1
        incarnation.evict()
        return True

    def replace(self, address: Address) -> None:
        """Forget the incarnation of *address* without stopping it: the next request starts another.

        The old one runs on and is refused at storage, by its epoch (ID-10).
        """
        old = self.incarnations.pop(address, None)
        if old is not None:
            self._replaced[old.address, old.number] = old

    def reset_all(self, error: Exception) -> None:
        """Reset every incarnation: all callers in flight get *error* as `ObjectReset`."""
        for incarnation in list(self.incarnations.values()):
            incarnation.reset(error)

    def crash(self, reason: str) -> None:
        """Everything that runs here is dead at once, alarms included. Storage stays."""
        self.state = "closed"
        self.alarms.stop()
        for incarnation in (*self.incarnations.values(), *self._replaced.values()):
            incarnation.crash(reason)
        for run in list(self._runs.values()):
            run.crash(reason)
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def stop_accepting(self) -> None:
        """No further object is started and no alarm rings; those that run go on."""
        if self.state == "open":
            self.state = "closing"
        self.alarms.stop()

    def is_idle(self) -> bool:
        """Whether no incarnation has anything in progress."""
        idle = all(incarnation.is_idle() for incarnation in self.incarnations.values())
        return idle and not self._runs

    def _ended(self, incarnation: Incarnation, reset: ErrorRecord | None) -> None:
        if self.incarnations.get(incarnation.address) is incarnation:
            del self.incarnations[incarnation.address]
        else:
            self._replaced.pop((incarnation.address, incarnation.number), None)
        if reset is not None:
            self.resets += 1
            self._remember(incarnation, reset)

    def _remember(self, incarnation: Incarnation, reset: ErrorRecord) -> None:
        """Let the stubs that were in use with *incarnation* fail from here on (RPC-11).

        The last `RESETS_MAX` objects are remembered. A stub that is bound to one whose reset was
        dropped, the oldest first, reaches the incarnation that runs now, as a new stub does; its
        calls that were in flight at the reset have failed in any case.
        """
        broken = self._broken
        broken.pop(incarnation.address, None)
        broken[incarnation.address] = (incarnation.number, reset, _unbound(incarnation))
        if len(broken) > RESETS_MAX:
            del broken[next(iter(broken))]

    def _look_later(self, incarnation: Incarnation) -> None:
        clock = self.ports.clock

        def look() -> None:
            if self.incarnations.get(incarnation.address) is not incarnation:
                return
            idle_for = clock.time() - incarnation.active_at
            wait = self._eviction_s - idle_for
            if wait < CLOCK_S:
                if self.evict(incarnation.address):
                    return
                wait = self._eviction_s
            incarnation.eviction = clock.call_at(
                clock.time() + wait, look, f"eviction of {incarnation.calls.name}"
            )

        incarnation.eviction = clock.call_at(
            clock.time() + self._eviction_s, look, f"eviction of {incarnation.calls.name}"
        )


def numbered_from(first: int) -> Numbers:
    """Return what numbers the incarnations of one host, all objects together, from *first*."""
    numbers = count(first)
    return lambda address: next(numbers)  # noqa: ARG005


def _was_bound(envelope: Envelope, number: int, stubs: frozenset[tuple[str, int]]) -> bool:
    """Whether the stub was in use with incarnation *number* or one before (RPC-11).

    A stub learns from its first reply which incarnation it is bound to. What it sent before that is
    known by the calls that were still unanswered at the reset: *stubs*. A first call is of a new
    stub: the next incarnation of a caller numbers its stubs from the start again.
    """
    if envelope.incarnation:
        return envelope.incarnation <= number
    return envelope.order > 1 and (envelope.caller, envelope.stub) in stubs


def _unbound(incarnation: Incarnation) -> frozenset[tuple[str, int]]:
    """The stubs with an unanswered call that have not learned yet whom they are bound to."""
    return frozenset(
        (request.envelope.caller, request.envelope.stub)
        for request in incarnation.requests.values()
        if isinstance(request, MethodCall) and not request.envelope.incarnation
    )

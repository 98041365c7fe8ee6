"""One running incarnation of an object: its tasks, its gates, its turns, its end.

The life of a request: `receive` -> mailbox -> input gate -> a task runs the method -> the turn ends
-> its writes are one commit -> the output gate lets the reply leave when the commit is durable.

The dead have no effects: `close` shuts every port first; whatever of its code still runs gets
`IncarnationGone` from them, and is cancelled.
"""

from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

import trio

from ..wire import (
    Absent,
    Address,
    Envelope,
    ErrorRecord,
    IncarnationGone,
    ObjectReset,
    Overloaded,
    Reply,
    encode_reply,
    record_of,
)
from .actor import Actor, outlived
from .calls import Call
from .fleeting import FleetingStore
from .gate import SCOPE, InputGate, Section
from .layers import Layers
from .mailbox import Mailbox
from .object import AlarmInfo, DurableObject, has_alarm_handler
from .output import OutputGate
from .pending import Pending
from .ports import Commit, Origin, Ports, SqlStore, Timer
from .request import REQUEST, AlarmEnd, AlarmRun, MethodCall, Request
from .sections import Sections
from .storage import Storage, Transaction

__all__ = ["Incarnation"]

T = TypeVar("T")

ABORTED = "Application called abort() to reset Durable Object."


class Incarnation(Actor):
    """A running object. Made by a host, which starts `run` as a task."""

    __slots__ = (
        "_constructed", "_context", "_dirty", "_gate", "_layers", "_numbers",
        "_nursery", "_object", "_on_alarm", "_on_end", "_on_wait", "_out", "_sections", "_serial",
        "_touched", "_waiting", "active_at", "address", "cls", "eviction", "mailbox", "requests",
        "storage", "store",
    )  # fmt: skip

    eviction: Timer
    """When its host looks whether it is idle; set by the host."""

    def __init__(
        self,
        cls: type[DurableObject],
        address: Address,
        number: int,
        ports: Ports,
        on_end: "Callable[[Incarnation, ErrorRecord | None], None]",
        on_alarm: Callable[[Address, int | None], None],
        on_wait: "Callable[[Incarnation, Request], None]",
    ) -> None:
        super().__init__(str(address), number, ports)
        self.cls = cls
        self.address = address
        self.requests: dict[int, Request] = {}
        self.store = ports.store.open(address) if cls.is_durable else FleetingStore()
        session = cast("SqlStore", self.store).session if cls.uses_sql else None
        self._layers = Layers(self.store, session)
        self.storage = Storage(self, self._layers)
        self._on_end = on_end
        self._on_alarm = on_alarm
        self._on_wait = on_wait
        self._waiting: list[Request] = []
        self.active_at = ports.clock.time()
        self._gate = InputGate(self.touch)
        self._out = OutputGate()
        self._serial = cls.delivery == "serial"
        self.mailbox = Mailbox(self._gate)
        self._sections = Sections(self, self._gate, self._layers)
        self._numbers = 0
        self._constructed = False
        self._object: DurableObject = cls.__new__(cls)
        self._context: Context | None = None
        self._nursery: trio.Nursery | None = None
        self._touched = False
        self._dirty = False
        # The constructor is the first turn: nothing enters before it has ended.
        self._gate.enter(None, lambda: True)

    # ---- its task

    async def run(self) -> None:
        """Construct the object and serve until it ends. Raises no error of the object."""
        SCOPE.set(None)
        await self.live(self._body)

    async def _body(self) -> None:
        try:
            async with trio.open_nursery() as self._nursery:
                self._context = copy_context()
                if self.alive and self._construct():
                    await self._serve()
        finally:
            self._nursery = None

    def _construct(self) -> bool:
        target = self._object
        target._actor = self  # pyright: ignore[reportPrivateUsage]
        self.ports.probe.event("start", self.name, self.number)
        try:
            target.__init__()  # type: ignore[misc]
        except BaseException as error:
            self.reset(outlived(error))
        self._constructed = True
        return self.alive

    async def _serve(self) -> None:
        if not self._serial:
            await trio.sleep_forever()
        assert self._context is not None
        while True:
            self.touch()
            await self._handle(await self.mailbox.take(self._context))

    async def _handle(self, request: Request) -> None:
        probe = self.ports.probe
        probe.event("begin", self.name, self.number, request.label, request.number)
        value, error = None, None
        REQUEST.set(request)
        try:
            value = await request.invoke(self._object)
        except BaseException as raised:
            error = outlived(raised)
            # While it is being handled, so that a probe can see where it rose.
            if self.alive:
                kind = type(error).__name__
                probe.event("raised", self.name, self.number, request.label, kind)
        if not self.alive:
            return
        if request.label == "alarm":
            self._alarm_ended(failed=error is not None)
        self.emit(self._answer, request, request.encode(self.number, value, error))

    def _answer(self, request: Request, outcome: bytes | bool) -> None:
        del self.requests[request.number]
        self.active_at = self.ports.clock.time()
        request.send(outcome)

    # ---- requests

    def receive(self, envelope: Envelope, origin: Origin) -> None:
        """Take in a request, or refuse it as `Overloaded`."""
        if len(self.requests) >= self.cls.mailbox_requests_max:
            error = record_of(Overloaded(self.name, self.cls.mailbox_requests_max))
            origin.respond(encode_reply(Reply(envelope.id, self.number, None, error)))
            return
        self._numbers += 1
        self._admit(MethodCall(self._numbers, envelope, origin))

    def refuse(self, request: MethodCall, error: ErrorRecord) -> None:
        """Answer *request*, which is queued, with *error*: nothing of it ran."""
        self.mailbox.withdraw(request)
        del self.requests[request.number]
        request.refuse(error)

    def ring(self, info: AlarmInfo, end: Callable[[AlarmEnd], None]) -> None:
        """Run the alarm handler; *end* is told once how that went."""
        self._numbers += 1
        run = AlarmRun(self._numbers, info, end)
        self.requests[run.number] = run

        def armed() -> bool:
            # It takes the gate twice: requests that are queued already run before it (AL-4).
            self._layers.alarm_hidden = True
            self._admit(run)
            return False

        self._gate.enter(None, armed)

    def _admit(self, request: Request) -> None:
        self.requests[request.number] = request
        if self._serial:
            self.mailbox.put(request)
        else:
            self._gate.enter(None, partial(self._start, request))

    def _start(self, request: Request) -> bool:
        self.spawn(None, self._handle, request)
        return True

    def forget_alarm(self) -> None:
        """Delete the stored alarm, which has failed for good."""

        def forget() -> bool:
            self._layers.turn.alarm = None
            self._layers.alarm_hidden = False
            self._commit()
            return False

        self.enter(None, forget)

    def _alarm_ended(self, *, failed: bool) -> None:
        layers = self._layers
        # What the handler set in this very turn takes the place of the alarm that rang (AL-9).
        if layers.alarm_hidden and not failed and isinstance(layers.turn.alarm, Absent):
            layers.turn.alarm = None
            self._turn_wrote(confirmed=True)
        layers.alarm_hidden = False

    # ---- turns, the input gate and the output gate

    def enter(self, scope: Section | None, action: Callable[[], bool]) -> None:
        """Pass the input gate as an event begun in *scope*."""
        if self.alive:
            self._gate.enter(scope, action)

    def emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Run *action* now, or when all that was written before it is durable (OG-1)."""
        if not self.alive:
            raise IncarnationGone(self.name)
        self._out.emit(action, arguments)

    def wrote(self, *, confirmed: bool) -> None:
        """Something was written: the turn will end in a commit."""
        if not self._layers.depth:
            self._turn_wrote(confirmed=confirmed)

    def _turn_wrote(self, *, confirmed: bool) -> None:
        self._dirty = True
        if confirmed:
            self._out.lock = self._out.commits + 1
        self.touch()

    def touch(self) -> None:
        """Have the end of the current turn noticed."""
        if not self._touched:
            self._touched = True
            self.ports.turns.at_end(self)

    def end_turn(self) -> None:
        """The turn is over: commit what it wrote, then let the next event in."""
        self._touched = False
        if self._dirty and self.alive:
            self._dirty = False
            self._commit()
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for request in waiting:
                self._on_wait(self, request)
        if self.alive:
            self._gate.turn_ended()
            if self._serial:
                self.mailbox.hand_over()

    def _commit(self) -> None:
        out = self._out
        out.commits += 1
        commit = self._layers.seal(out.commits)
        self.store.commit(commit, partial(self._committed, commit))

    def _committed(self, commit: Commit, error: Exception | None) -> None:
        alarm = commit.alarm
        if not isinstance(alarm, Absent) and (error is None or self._layers.keeps(alarm)):
            # It is stored even if this incarnation has ended since, or nobody could say.
            self._on_alarm(self.address, alarm)
        if not self.alive:
            return
        if error is None:
            self._out.confirm(commit.number)
        else:
            self.reset(error)

    def waits(self, pending: Pending) -> None:
        """A task begins to wait; for whom, is looked at when its turn has ended."""
        request = REQUEST.get()
        if request is not None and isinstance(pending, Call):
            self._waiting.append(request)
            self.touch()

    def synced(self) -> Awaitable[None]:
        """Return what waits until all writes so far are durable."""
        return self._out.synced(self, self._out.commits + self._dirty)

    # ---- critical sections and left-over work

    def block_concurrency_while(self, work: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """As `DurableObject.block_concurrency_while`."""
        self.check()
        return self._sections.block(work)

    def transaction(self, work: Callable[[Transaction], Awaitable[T]]) -> Awaitable[T]:
        """As `Storage.transaction`."""
        return self._sections.transaction(work)

    def wait_until(self, work: Callable[[], Awaitable[object]]) -> None:
        """As `DurableObject.wait_until`."""
        self.check()
        self.spawn(SCOPE.get(), self._left_over, work)

    async def _left_over(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except BaseException as error:
            kind = type(outlived(error)).__name__
            if self.alive:
                self.ports.probe.event("left-over failed", self.name, self.number, kind)

    def spawn(
        self, scope: Section | None, work: Callable[..., Awaitable[None]], *arguments: Any
    ) -> None:
        """Run *work* as a task of the object, begun in *scope*."""
        nursery, context = self._nursery, self._context
        assert nursery is not None
        assert context is not None
        if scope is not None:
            context = context.copy()
            context.run(SCOPE.set, scope)
        context.run(nursery.start_soon, work, *arguments)

    def require_alarm_handler(self) -> None:
        """Refuse an alarm that nobody would handle; in the constructor it is accepted (AL-3)."""
        if self._constructed and not has_alarm_handler(self.cls):
            raise TypeError(
                "Your Durable Object class must have an alarm() handler "
                "in order to call set_alarm()"
            )

    # ---- its end

    def abort(self, reason: str | None, *, retry_alarm: bool) -> NoReturn:
        """As `DurableObject.abort`."""
        self.check()
        self.reset(RuntimeError(ABORTED if reason is None else reason), retry_alarm=retry_alarm)
        raise IncarnationGone(self.name)

    def reset(self, error: Exception, *, retry_alarm: bool = True) -> None:
        """End by *error*: all callers in flight get `ObjectReset`. Unfinished writes are lost."""
        if not self.alive:
            return
        record = record_of(ObjectReset(str(error), record_of(error)))
        self._close("reset")
        self._on_end(self, record)
        for request in self._unanswered():
            request.reset(self.number, record, retry_alarm=retry_alarm)

    def crash(self, reason: str) -> None:
        """End without a word: callers cannot know what ran."""
        if not self.alive:
            return
        self._close("crash")
        self._on_end(self, None)
        for request in self._unanswered():
            request.broken(reason)

    def evict(self) -> None:
        """End an incarnation that is idle: its stubs keep working."""
        self._close("evict")
        self._on_end(self, None)

    def is_idle(self) -> bool:
        """Whether nothing is in progress and nothing is left running."""
        return (
            self._constructed
            and not self.requests
            and not self.calls.pending
            and not self._gate.waiting()
            and self._out.is_clear()
            and not self._dirty
            and (self._nursery is None or not self._nursery.child_tasks)
        )

    def _unanswered(self) -> list[Request]:
        requests = list(self.requests.values())
        self.requests.clear()
        return requests

    def _close(self, why: str) -> None:
        self.close(why)
        self._out.close()
        self.eviction.cancel()
        if not self.cls.is_durable:
            self._on_alarm(self.address, None)
        self.store.close()

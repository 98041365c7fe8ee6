"""Durable objects inside your own program: real time, real bytes, one SQLite file."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

import trio

from ..actors import CALL_DEADLINE_S, DurableObject, Origin, Ports, SharedDatabase, Worker
from ..wire import HostClosed, Reply, WireError, decode_envelope, encode_reply, record_of
from .client import Client
from .clock import RealClock
from .counters import Counters, HostStatistics
from .database import SqliteDatabase
from .entropy import SystemEntropy
from .errors import HostCrashed, SqlUnavailable, StoreError
from .host import Host, numbered_from
from .limits import EVICTION_S
from .loopback import Loopback
from .sqlite import SqliteStore
from .turns import StepTurns

__all__ = ["EmbeddedHost"]

T = TypeVar("T", bound=DurableObject)
W = TypeVar("W", bound=Worker)

GRACE_S = 5.0
"""Seconds that requests in progress get when a host closes: more than most take."""

DRAIN_LOOK_S = 0.005
"""Seconds between two looks at whether a closing host has become idle."""


class EmbeddedHost:
    """A host in this process, as an async context manager.

        async with EmbeddedHost("objects.db") as host:
            print(await host.get(Counter, "cart-7").increment(by=2))

    A reply that has arrived tells of writes that are on the disk. Leaving the block closes the
    host: no new call is taken, requests in progress may end within the grace time, what is
    committed is written, the file is given back. If the block is left by an error, requests are
    not waited for.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        classes: Iterable[type[DurableObject | Worker]] = (),
        env: Mapping[str, object] | None = None,
        database: Path | str | None = None,
        version: str = "",
        eviction_s: float = EVICTION_S,
        grace_s: float = GRACE_S,
    ) -> None:
        """Describe a host; entering it opens the file.

        Args:
            path: of the SQLite file, made if it does not exist; the folder must.
            classes: those that may be needed before the first `get` of them: their alarms ring, and
                requests from outside reach them.
            env: what every object finds as `self.env`.
            database: path of the SQLite file that everybody shares as `self.database`, made if it
                does not exist; None for no such database.
            version: of the code, told to whoever is called.
            eviction_s: seconds without activity after which an object leaves memory.
            grace_s: seconds that requests in progress get when the host closes; after them their
                tasks are cancelled. Code that swallows every `BaseException` and goes on, or never
                awaits, keeps the host from closing: nothing can end it.

        Raises:
            SqlUnavailable: one of *classes* asks for SQL.
        """
        self.path = Path(path)
        self._grace_s = grace_s
        self._accepts = False
        self._error: BaseException | None = None
        self._scope: trio.CancelScope | None = None
        self._running: AbstractAsyncContextManager[None] | None = None
        self._store: SqliteStore | None = None
        self._database_path = None if database is None else Path(database)
        self._database: SqliteDatabase | None = None
        self._eviction_s = eviction_s
        self._env: Mapping[str, object] = {} if env is None else dict(env)
        self._version = version
        self._clock = RealClock()
        self._counters = Counters()
        self._loopback = Loopback(self)
        self._client = Client(f"client of {self.path.name}", self._clock, Loopback(self), version)
        self._classes: dict[str, type[DurableObject | Worker]] = {}
        self._host: Host | None = None
        for cls in classes:
            self._learn(cls)

    async def __aenter__(self) -> Self:
        """Open the file, arm the stored alarms and take calls.

        Raises:
            StoreError: the file cannot be used; one class for each reason. It is as it was.
            RuntimeError: this host was entered before. Nothing was done: make a new one.
        """
        if self._running is not None:
            raise RuntimeError(f"{self.path}: a host can be entered once; make a new one")
        self._running = self._run()
        await self._running.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Close the host.

        Raises:
            HostCrashed: an error of the host itself had ended it.
        """
        assert self._running is not None
        self._accepts = False
        if isinstance(error, trio.Cancelled):
            # Ours if the host crashed: then the nursery takes it and tells why.
            return await self._running.__aexit__(kind, error, traceback)
        if error is not None and self._scope is not None:
            self._scope.cancel()
        await self._running.__aexit__(None, None, None)
        return None

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub of the object *name* of *cls*; nothing is sent yet.

        Args:
            cls: its class, known to the host from now on.
            name: which one; every text is a name.
            deadline_s: seconds after which a call of the stub ends as `OutcomeUnknown`.

        Raises:
            HostClosed: the host is not open.
            SqlUnavailable: the class asks for SQL.
            ValueError: another class has its stored name here.
        """
        self._check()
        self._learn(cls)
        return self._client.objects.get(cls, name, deadline_s=deadline_s)

    def worker(self, cls: type[W], *, deadline_s: float = CALL_DEADLINE_S) -> W:
        """Return a stub of the worker *cls*, whose one method is `fetch`; nothing is sent yet.

        Raises:
            HostClosed: the host is not open.
            ValueError: another class has its stored name here.
        """
        self._check()
        self._learn(cls)
        return self._client.objects.worker(cls, deadline_s=deadline_s)

    @property
    def database(self) -> SharedDatabase:
        """The shared database, as the program around the host reaches it.

        Raises:
            HostClosed: the host is not open.
        """
        self._check()
        return SharedDatabase(self._client, self._client.calls.name, self._database)

    def _check(self) -> None:
        if not self._accepts:
            raise HostClosed(f"{self.path}: this host is not open")

    def receive(self, data: bytes, origin: Origin) -> None:
        """Take in a request from outside, encoded; refused as `HostClosed` unless open."""
        if self._accepts and self._host is not None:
            self._host.receive(data, origin)
            return
        try:
            number = decode_envelope(data).id
        except WireError:
            number = 0
        refusal = record_of(HostClosed(f"{self.path}: this host is not open"))
        origin.respond(encode_reply(Reply(number, 0, None, refusal)))

    def statistics(self) -> HostStatistics:
        """Return what the host does and has done.

        Raises:
            HostClosed: it has never been open.
        """
        host, store = self._host, self._store
        if host is None or store is None:
            raise HostClosed(f"{self.path}: this host has not been open")
        queues = [len(incarnation.requests) for incarnation in host.incarnations.values()]
        alarms = host.alarms.pending()
        return HostStatistics(
            incarnations=len(host.incarnations),
            requests_begun=self._counters.begun,
            requests_failed=self._counters.failed,
            requests_in_progress=sum(queues),
            queue_max=max(queues, default=0),
            left_over_failed=self._counters.left_over_failed,
            calls_in_flight=len(self._client.calls.pending),
            evictions=host.evictions,
            resets=host.resets,
            alarms_fired=host.alarms.fired,
            alarms_retried=host.alarms.retried,
            alarms_dropped=host.alarms.dropped,
            alarms_pending=len(alarms),
            alarms_waiting=tuple(
                sorted(address for address in alarms if address.kind not in host.classes)
            ),
            timers=self._clock.pending,
            store=store.statistics(),
        )

    def _meet(self, cls: type[DurableObject | Worker]) -> None:
        # An object asked for it: what is known by its name stays.
        assert self._host is not None
        if cls.stored_name not in self._host.classes and cls.stored_name not in self._host.workers:
            self._learn(cls)

    def _learn(self, cls: type[DurableObject | Worker]) -> None:
        if issubclass(cls, DurableObject) and cls.uses_sql:
            raise SqlUnavailable(
                f"{cls.__qualname__} has sql=True: an embedded host keeps keys and alarms only; "
                "nothing was made"
            )
        if self._host is not None:
            self._host.learn(cls)
        else:
            self._classes[cls.stored_name] = cls

    def _crash(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        self._accepts = False
        if self._scope is not None:
            self._scope.cancel()

    @asynccontextmanager
    async def _run(self) -> AsyncGenerator[None]:
        try:
            async with AsyncExitStack() as files:
                self._store = store = SqliteStore(self.path, crashed=self._crash)
                files.push_async_callback(store.close)
                if self._database_path is not None:
                    self._database = SqliteDatabase(self._database_path, crashed=self._crash)
                    files.push_async_callback(self._database.close)
                turns = StepTurns(self._crash)
                trio.lowlevel.add_instrument(turns)
                files.callback(trio.lowlevel.remove_instrument, turns)
                async with trio.open_nursery() as nursery:
                    self._scope = nursery.cancel_scope
                    self._host = host = self._make(store, turns)
                    nursery.start_soon(self._clock.run)
                    await nursery.start(_run_to_its_death, host)
                    self._accepts = True
                    yield
                    await self._drain(host)
                    nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise self._told(group) from group
        if self._error is not None:
            raise HostCrashed(f"{self.path}: {self._error!r}") from self._error

    def _make(self, store: SqliteStore, turns: StepTurns) -> Host:
        ports = Ports(
            clock=self._clock,
            entropy=SystemEntropy(),
            store=store,
            transport=self._loopback,
            turns=turns,
            probe=self._counters,
            version=self._version,
            met=self._meet,
            env=self._env,
            database=self._database,
        )
        # The stub of a remote client outlives this host, and is bound to an incarnation by number:
        # the numbers of the next host have to be greater.
        numbers = numbered_from(self._clock.wall())
        host = Host(
            self.path.name, ports, self._classes.values(), numbers=numbers,
            eviction_s=self._eviction_s,
        )  # fmt: skip
        self._loopback.receiver = host
        return host

    async def _drain(self, host: Host) -> None:
        # Requests under way may still start other objects; only new ones from outside are refused.
        host.alarms.stop()
        with trio.move_on_after(self._grace_s):
            # Idleness has no event: it is many objects, each with its own reasons.
            while not host.is_idle():  # noqa: ASYNC110
                await trio.sleep(DRAIN_LOOK_S)
        host.stop_accepting()
        for address in list(host.incarnations):
            host.evict(address)

    def _told(self, group: BaseExceptionGroup[BaseException]) -> BaseException:
        """Return what to raise for errors of the tasks of this host."""
        errors = _leaves(group)
        if not all(isinstance(error, Exception) for error in errors):
            # A keyboard interrupt or the cancellation of a scope around us is among them.
            return group
        if len(errors) == 1 and isinstance(errors[0], StoreError):
            return errors[0]
        return HostCrashed(f"{self.path}: {', '.join(repr(error) for error in errors)}")


async def _run_to_its_death(
    host: Host, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Run *host*; when this is cancelled, its objects are dead before any of their code unwinds.

    A cancellation that reached them first would find their ports open: what a `finally` writes
    would be stored, of a request that never ended.
    """

    async def serve(task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope(shield=True):
            await host.run(task_status)

    async with trio.open_nursery() as nursery:
        try:
            await nursery.start(serve)
            task_status.started()
            await trio.sleep_forever()
        finally:
            host.crash("the host was closed")


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    members = cast("BaseExceptionGroup[BaseException]", error).exceptions
    return [leaf for member in members for leaf in _leaves(member)]

"""What the actors need from outside, as protocols that a host meets.

The embedded host meets them with SQLite, the real clock and the operating system's entropy; the
simulated world meets them with choices. Nothing in `actors/` can tell which.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import attrs

from ..wire import ABSENT, Absent, Address, Envelope
from .statements import QueryRows, SqlValue, Statement

if TYPE_CHECKING:
    from .actor import Actor
    from .calls import Calls


class Timer(Protocol):
    """A wake-up that was asked for and may be taken back."""

    def cancel(self) -> None:
        """Take the wake-up back. Without effect once it has happened."""
        ...


class Clock(Protocol):
    """Two readings of time, and wake-ups."""

    def time(self) -> float:
        """Seconds of the clock that trio sleeps by; only differences mean anything."""
        ...

    def wall(self) -> int:
        """Microseconds since 1970-01-01 UTC by this host's clock, which may be wrong."""
        ...

    def call_at(self, time: float, action: Callable[[], None], label: str) -> Timer:
        """Run *action* at *time* (seconds, as `time()`), outside of any task.

        A time that has passed means as soon as possible, never during this call. *label* names the
        wake-up for people and for choices: what wakes, and whose it is.
        """
        ...


class Entropy(Protocol):
    """Where random bytes come from."""

    def draw(self, actor: str, count: int) -> bytes:
        """Return *count* bytes for *actor*. In a world they depend on seed, actor and ordinal."""
        ...


class Commit(NamedTuple):
    """All writes of one turn: one atomic step of one object's storage."""

    number: int
    """Counts the commits of an incarnation, from 1."""
    writes: Mapping[str, bytes | None]
    """Encoded value by key; None deletes the key. Applied after `clears`."""
    alarm: int | None | Absent = ABSENT
    """Microseconds since 1970 UTC, None for no alarm, ABSENT for no change."""
    clears: bool = False
    """Whether everything stored before is dropped first."""
    sql: bool = False
    """Whether what its `SqlSession` has executed since the last such commit is part of it."""


class ObjectStore(Protocol):
    """The stored state of one object, opened by one incarnation.

    Reads answer at once. After `commit` returns, reads see its writes, durable or not.
    """

    def get(self, key: str) -> bytes | None:
        """Return the value stored under *key*, or None.

        Raises:
            StorageFailed: it could not be read. Nothing changed; reading again may work.
        """
        ...

    def scan(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterable[tuple[str, bytes]]:
        """Yield keys from *start* (inclusive) to *end* (exclusive) in code point order.

        Raises:
            StorageFailed: as `get`.
        """
        ...

    def alarm(self) -> int | None:
        """Return the stored alarm, microseconds since 1970 UTC."""
        ...

    def commit(self, commit: Commit, done: Callable[[Exception | None], None]) -> None:
        """Make *commit* durable and call *done* once, now or later, outside of any task.

        *done* gets None when it is durable, and an error when it is not or when nobody can say: the
        incarnation is broken then and must be discarded.
        """
        ...

    def close(self) -> None:
        """Give the object back. Commits under way still end; nothing else may be asked."""
        ...


class SqlSession(Protocol):
    """The SQL data of one object, opened by one incarnation. Statements run at once.

    They are stored by the next commit with `sql`, together with its keys, or not at all.
    """

    def execute(
        self, statement: str, bindings: Sequence[object]
    ) -> tuple[tuple[str, ...], list[tuple[object, ...]], bool]:
        """Run one statement; returns its columns, its rows, and whether it may have written.

        Raises:
            SqlFailed: it could not be run. It changed nothing.
        """
        ...

    def save(self, depth: int) -> None:
        """Begin savepoint number *depth*."""
        ...

    def end_save(self, depth: int, *, keep: bool) -> None:
        """End savepoint number *depth*; what was executed since stands only if *keep*."""
        ...

    def clear(self) -> None:
        """Drop every table, view, index and trigger."""
        ...


class SqlStore(ObjectStore, Protocol):
    """The stored state of an object of a class with ``sql=True``."""

    @property
    def session(self) -> SqlSession:
        """Its SQL data."""
        ...


class Store(Protocol):
    """Everything that the objects of one host keep."""

    def open(self, address: Address) -> ObjectStore:
        """Return the stored state of *address*, empty if it has none."""
        ...

    def alarms(self) -> Iterable[tuple[Address, int]]:
        """Yield every object that has an alarm, with its time, ordered by address."""
        ...


class Database(Protocol):
    """One SQL database shared by everybody, reached over a hop that can fail."""

    def execute(self, sql: str, *parameters: SqlValue) -> Awaitable[QueryRows]:
        """Send one statement now, to run in a transaction of its own; await what it gave.

        Raises:
            DatabaseFailed: when awaited; says whether nothing ran. The cause is chained.
            TypeError, ValueError: a parameter cannot be stored as it is. Nothing was sent.
        """
        ...

    def batch(
        self, statements: Iterable[tuple[str, Sequence[SqlValue]]]
    ) -> Awaitable[list[QueryRows]]:
        """Send statements with their parameters now, to run as one transaction, all or none.

        Raises:
            DatabaseFailed: as `execute`.
            TypeError, ValueError: as `execute`, or there is no statement.
        """
        ...


Queried = Callable[[list[QueryRows] | None, Exception | None], None]
"""Told once what each statement of a query gave, or why there is nothing to tell."""


class DatabaseLink(Protocol):
    """The way from one host to the shared database."""

    def submit(self, caller: str, statements: tuple[Statement, ...], done: Queried) -> None:
        """Run *statements* as one transaction and call *done*, now or later, outside of any task.

        Nobody promises that it arrives, nor that the answer does; *done* is called all the same.
        """
        ...


class Origin(Protocol):
    """The way back to whoever sent a request."""

    def respond(self, data: bytes) -> None:
        """Send the encoded reply."""
        ...

    def broken(self, reason: str) -> None:
        """Say that no reply will come, since whoever was to give it is gone."""
        ...


class Transport(Protocol):
    """How requests leave."""

    def request(self, envelope: Envelope, data: bytes, calls: "Calls") -> None:
        """Carry *data*, the encoded *envelope*; `calls.receive` or `calls.broken` gets the answer.

        Whether it arrives, once or more often, nobody promises.
        """
        ...


class Turns(Protocol):
    """Who says when a turn has ended.

    A turn is one step of one of the object's tasks, from resumption to the next suspension.
    """

    def at_end(self, incarnation: "Actor") -> None:
        """Call `incarnation.end_turn()` once, after the next step of a task of *incarnation*.

        Asked for from within a step, this very step is meant.
        """
        ...


class Probe(Protocol):
    """Whoever watches. Reading only: nothing a probe does may change what happens."""

    def event(self, kind: str, actor: str, incarnation: int, *detail: object) -> None:
        """Note that *kind* happened to *actor*. The kinds are listed in `docs/trace.md`."""
        ...


@attrs.frozen(kw_only=True)
class Ports:
    """All ports of one host.

    Attributes:
        version: of the code that it runs, in envelopes and traces.
        met: told each class that a stub is asked for, so that whoever runs it can know it.
        env: what the host gives to all that run on it.
        database: the way to the shared database; None if the host has none.
    """

    clock: Clock
    entropy: Entropy
    store: Store
    transport: Transport
    turns: Turns
    probe: Probe
    version: str = ""
    met: Callable[[Any], None] | None = None
    env: Mapping[str, object] = attrs.field(factory=dict[str, object])
    database: DatabaseLink | None = None

"""What an object keeps: ordered keys and values, transactions, one alarm.

Every operation takes effect at the call; awaiting it is optional and never suspends, except
`sync()`. All writes of one turn become durable together after the turn, or not at all (OG-2).
Values are encoded at the call, so changing them later has no effect (KV-10).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..wire import Absent
from .errors import TransactionOver
from .keyvalue import KeyValue
from .layers import Layer, Layers
from .ready import DONE, Ready
from .sql import Sql

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["Storage", "Transaction", "instant", "microseconds"]

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_US = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
"""The last instant that a datetime can say, microseconds since 1970 UTC."""


def microseconds(at: datetime) -> int:
    """Return the instant *at* in microseconds since 1970 UTC."""
    return (at - EPOCH) // timedelta(microseconds=1)


def instant(wall_us: int) -> datetime:
    """Return *wall_us*, microseconds since 1970 UTC, as an aware time."""
    return EPOCH + timedelta(microseconds=wall_us)


class Storage:
    """The storage of one object.

    `kv` has the same operations without awaitables; `sql` executes statements, if the class is
    declared with ``sql=True``.
    """

    __slots__ = ("_incarnation", "_layers", "kv", "sql")

    def __init__(self, incarnation: "Incarnation", layers: Layers) -> None:
        self._incarnation = incarnation
        self._layers = layers
        self.kv = KeyValue(incarnation, layers)
        self.sql = Sql(incarnation, layers)

    @overload
    def get(self, key: str, default: Absent | None = None) -> Ready[Any]: ...
    @overload
    def get(self, key: str, default: T) -> Ready[T]: ...
    def get(self, key: str, default: Any = None) -> Ready[Any]:
        """As `KeyValue.get`."""
        return Ready(self.kv.get(key, default))

    def get_many(self, keys: Iterable[str]) -> Ready[dict[str, Any]]:
        """As `KeyValue.get_many`."""
        return Ready(self.kv.get_many(keys))

    def put(self, key: str, value: Any, *, allow_unconfirmed: bool = False) -> Ready[None]:
        """As `KeyValue.put`: takes effect at the call."""
        self.kv.put(key, value, allow_unconfirmed=allow_unconfirmed)
        return DONE

    def put_many(
        self, entries: Mapping[str, Any], *, allow_unconfirmed: bool = False
    ) -> Ready[None]:
        """As `KeyValue.put_many`: takes effect at the call."""
        self.kv.put_many(entries, allow_unconfirmed=allow_unconfirmed)
        return DONE

    def delete(self, key: str, *, allow_unconfirmed: bool = False) -> Ready[bool]:
        """As `KeyValue.delete`: takes effect at the call."""
        return Ready(self.kv.delete(key, allow_unconfirmed=allow_unconfirmed))

    def delete_many(self, keys: Iterable[str], *, allow_unconfirmed: bool = False) -> Ready[int]:
        """As `KeyValue.delete_many`: takes effect at the call."""
        return Ready(self.kv.delete_many(keys, allow_unconfirmed=allow_unconfirmed))

    def list(
        self,
        *,
        start: str | None = None,
        start_after: str | None = None,
        end: str | None = None,
        prefix: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Ready[dict[str, Any]]:
        """As `KeyValue.list`."""
        return Ready(
            self.kv.list(
                start=start, start_after=start_after, end=end, prefix=prefix, reverse=reverse,
                limit=limit,
            )
        )  # fmt: skip

    def delete_all(self) -> Ready[None]:
        """Delete every key and the alarm, as one write of the turn (KV-8).

        Raises:
            RuntimeError: a transaction is open. Nothing was deleted.
        """
        self._incarnation.check()
        if self._layers.depth:
            raise RuntimeError("Cannot call delete_all() within a transaction")
        self._layers.clear()
        self._incarnation.wrote(confirmed=True)
        return DONE

    def sync(self) -> Awaitable[None]:
        """Wait until all writes so far are durable; other events enter meanwhile (IG-5)."""
        self._incarnation.check()
        return self._incarnation.synced()

    def transaction(self, work: "Callable[[Transaction], Awaitable[T]]") -> "Awaitable[T]":
        """Run *work* as a critical section whose writes stand or fall together (TX-1).

        They are committed when *work* returns and dropped when it raises; the error is raised to
        whoever awaits. Cancelling the waiter takes nothing back.
        """
        self._incarnation.check()
        return self._incarnation.transaction(work)

    def transaction_sync(self, work: Callable[[], T]) -> T:
        """Run *work*, which cannot wait; its writes stand, or are dropped if it raises (TX-8)."""
        self._incarnation.check()
        layer = self._layers.push()
        try:
            value = work()
        except BaseException:
            if self._incarnation.alive:
                self._layers.pop(layer, keep=False)
            raise
        self._incarnation.check()
        if self._layers.pop(layer, keep=True):
            self._incarnation.wrote(confirmed=True)
        return value

    def get_alarm(self) -> Ready[datetime | None]:
        """Return when `alarm()` will be called, or None (AL-1, AL-5)."""
        self._incarnation.check()
        at = self._layers.alarm()
        return Ready(None if at is None else instant(at))

    def set_alarm(self, when: datetime | timedelta) -> Ready[None]:
        """Call `alarm()` at *when*, a time or a while from now; replaces the one set before.

        A time that has passed means at once (AL-2). Delivery is at least once.

        Raises:
            TypeError: the class has no `alarm()`, or *when* is no time. Nothing was set.
            ValueError: *when* has no zone, or is not after 1970, or after 9999. Nothing was set.
        """
        self._incarnation.check()
        self._incarnation.require_alarm_handler()
        wall = self._incarnation.ports.clock.wall()
        if isinstance(when, timedelta):
            at = wall + when // timedelta(microseconds=1)
        elif isinstance(when, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
            if when.tzinfo is None:
                raise ValueError(f"{when} has no time zone: no alarm was set")
            at = microseconds(when)
        else:
            raise TypeError(f"an alarm is a datetime or a timedelta, not {when!r}")
        if at <= 0:
            raise ValueError("set_alarm() cannot be called with an alarm time <= 0")
        if at > LATEST_US:
            raise ValueError(f"{when} ends after the year 9999: no alarm was set")
        self._layers.top.alarm = at if at > wall else wall
        self._incarnation.wrote(confirmed=True)
        return DONE

    def delete_alarm(self) -> Ready[None]:
        """Remove the alarm. A handler that runs is not stopped (AL-6)."""
        self._incarnation.check()
        self._layers.top.alarm = None
        self._incarnation.wrote(confirmed=True)
        return DONE


class Transaction:
    """What the work of a transaction is given: the storage, and the power to drop its writes."""

    __slots__ = ("_layer", "_layers", "_storage", "state")

    def __init__(self, storage: Storage, layers: Layers, layer: Layer) -> None:
        self._storage = storage
        self._layers = layers
        self._layer = layer
        self.state = "open"

    def rollback(self) -> None:
        """Drop what this transaction wrote. Its work goes on, its value is returned (TX-2)."""
        if self.state == "open":
            self._layers.undo(self._layer)
            self.state = "rolled back"
        elif self.state == "over":
            raise TransactionOver(_AFTER_COMMIT.format("rollback"))

    def close(self) -> None:
        """The transaction has ended."""
        if self.state == "open":
            self.state = "over"

    def __getattr__(self, name: str) -> Any:
        if name not in _OPERATIONS:
            raise AttributeError(name)
        if self.state == "rolled back":
            raise TransactionOver(f"Cannot {name}() on rolled back transaction")
        if self.state == "over":
            raise TransactionOver(_AFTER_COMMIT.format(name))
        return getattr(self._storage, name)


_OPERATIONS = frozenset(
    "get get_many put put_many delete delete_many list get_alarm set_alarm delete_alarm".split()
)
_AFTER_COMMIT = (
    "Cannot call {}() on transaction that has already committed: "
    "did you move `txn` outside of the closure?"
)

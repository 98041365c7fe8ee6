"""What the platform's key-value back end does differently from its SQLite one.

durasim has one meaning of storage, that of the SQLite back end. The recordings of the other one
(`cache`) hold durasim's gates, turns and alarms to account as well, so its own rules are kept here:
data dies with the instance (the classes are `durable=False`), only operations on a transaction's
object belong to the transaction (TX-3), and there is nothing synchronous (SQL-7).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from ...actors import Storage, TransactionOver
from ...wire import ABSENT, Absent, decode, encode
from .participants import ObjectCode
from .promises import Thrown
from .values import JsError

__all__ = ["refuse_synchronous", "storage_of"]

GET_KEYS_MAX: Final = 128
"""Keys of one get (KV-7)."""

_WRANGLER: Final = (
    "SQLite can be enabled on a new Durable Object class by using the `new_sqlite_classes` instead "
    "of `new_classes` under `migrations` in your wrangler.jsonc or wrangler.toml, but an "
    "already-deployed class cannot be converted to SQLite (except by deleting the existing data)."
)
_REFUSALS: Final = {
    "transactionSync": "Durable Object is not backed by SQL.",
    "kv": (
        "The storage.kv (synchronous KV) API is only available for SQLite-backed Durable Objects, "
        "but this object's namespace is not declared to use SQLite. You can use the older, "
        "asyncronous interface via methods of `storage` itself (e.g. `storage.get()`). " + _WRANGLER
    ),
    "sql": (
        "This Durable Object is not backed by SQLite storage, so the SQL API is not available. SQL "
        "can be enabled on a new Durable Object class by using the `new_sqlite_classes` instead of "
        "`new_classes` under `[[migrations]]` in your wrangler.toml, but an already-deployed class "
        "cannot be converted to SQLite (except by deleting the existing data)."
    ),
}


def refuse_synchronous(backend: str, what: str) -> None:
    """Throw if *backend* has no synchronous storage.

    Raises:
        Thrown: it has not; nothing was done.
    """
    if backend == "cache":
        raise Thrown(JsError("Error", _REFUSALS[what]))


def storage_of(code: ObjectCode) -> Any:
    """The storage of the object by the rules of its back end."""
    storage = code.object.storage
    return CacheStorage(storage) if code.run.backend == "cache" else storage


class CacheStorage:
    """The storage of an object of the key-value back end: transactions do not hold it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def get_many(self, keys: Iterable[str]) -> Any:
        """As `Storage.get_many`, of so many keys.

        Raises:
            ValueError: more keys than one get may have. Nothing was read.
        """
        asked = list(keys)
        if len(asked) > GET_KEYS_MAX:
            raise ValueError(
                f"Maximum number of key value pairs is {GET_KEYS_MAX}. "
                f"{len(asked)} pairs were provided."
            )
        return self._storage.get_many(asked)

    def section(self, work: Callable[[Any], Awaitable[Any]]) -> Awaitable[Any]:
        """Run *work* as a critical section; what it writes by its transaction stands or falls.

        The section is that of a transaction of durasim which always commits: what bypasses the
        other one is kept, however that ends. `outcome` reads what it gives.
        """

        async def inside(_transaction: object) -> tuple[Any, Exception | None]:
            transaction = CacheTransaction(self._storage)
            try:
                value = await work(transaction)
            except Exception as error:
                transaction.close(keep=False)
                return None, error
            transaction.close(keep=True)
            return value, None

        return self._storage.transaction(inside)

    @staticmethod
    def outcome(ended: tuple[Any, Exception | None]) -> Any:
        """The value of the *ended* section.

        Raises:
            Exception: what its work raised.
        """
        value, error = ended
        if error is not None:
            raise error
        return value


class CacheTransaction:
    """A transaction that holds only what is written by way of itself."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._writes: dict[str, bytes | None] = {}
        self._alarm: datetime | None | Absent = ABSENT
        self._state = "open"

    def get(self, key: str, default: Any = None) -> Any:
        """As `Storage.get`, its own writes included."""
        self._check("get")
        return self.seen((key,)).get(key, default)

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """As `Storage.get_many`, its own writes included."""
        self._check("get")
        return self.seen(sorted(set(keys)))

    def seen(self, keys: Iterable[str]) -> dict[str, Any]:
        """Those of *keys* that exist, in their order."""
        found: dict[str, Any] = {}
        for key in keys:
            if key in self._writes:
                data = self._writes[key]
                value = ABSENT if data is None else decode(data)
            else:
                value = self._storage.kv.get(key, ABSENT)
            if value is not ABSENT:
                found[key] = value
        return found

    def put(self, key: str, value: Any, **_how: bool) -> None:
        """As `Storage.put`."""
        self._check("put")
        self._writes[key] = encode(value)

    def put_many(self, entries: Mapping[str, Any], **_how: bool) -> None:
        """As `Storage.put_many`."""
        self._check("put")
        self._writes |= {
            key: encode(value) for key, value in entries.items() if value is not ABSENT
        }

    def delete(self, key: str, **_how: bool) -> bool:
        """As `Storage.delete`."""
        return self.delete_many((key,)) == 1

    def delete_many(self, keys: Iterable[str], **_how: bool) -> int:
        """As `Storage.delete_many`."""
        self._check("delete")
        gone = self.seen(dict.fromkeys(keys))
        self._writes |= dict.fromkeys(gone)
        return len(gone)

    def list(self, *, limit: int | None = None, reverse: bool = False, **bounds: Any) -> Any:
        """As `Storage.list`, its own writes included."""
        self._check("list")
        # The storage itself judges the options; the limit counts only once both are merged.
        ready = self._storage.kv.list(limit=limit, **bounds)
        del ready
        stored = self._storage.kv.list(**bounds)
        keys = {key for key in self._writes if _within(key, bounds)} | set(stored)
        return self.seen(sorted(keys, reverse=reverse)[:limit])

    def get_alarm(self) -> Any:
        """As `Storage.get_alarm`, its own alarm included."""
        self._check("getAlarm")
        return self._storage.get_alarm() if isinstance(self._alarm, Absent) else self._alarm

    def set_alarm(self, when: datetime) -> None:
        """As `Storage.set_alarm`."""
        self._check("setAlarm")
        self._alarm = when

    def delete_alarm(self) -> None:
        """As `Storage.delete_alarm`."""
        self._check("deleteAlarm")
        self._alarm = None

    def rollback(self) -> None:
        """As `Transaction.rollback`."""
        if self._state == "over":
            self._check("rollback")
        self._state = "rolled back"

    def close(self, *, keep: bool) -> None:
        """The transaction has ended: its writes are the object's now, or nothing."""
        if self._state == "rolled back":
            return
        self._state = "over"
        if not keep:
            return
        self._storage.kv.put_many(
            {key: decode(data) for key, data in self._writes.items() if data is not None}
        )
        self._storage.kv.delete_many(key for key, data in self._writes.items() if data is None)
        if self._alarm is None:
            self._storage.delete_alarm()
        elif not isinstance(self._alarm, Absent):
            self._storage.set_alarm(self._alarm)

    def _check(self, name: str) -> None:
        if self._state == "rolled back":
            raise TransactionOver(f"Cannot {name}() on rolled back transaction")
        if self._state == "over":
            raise TransactionOver(
                f"Cannot call {name}() on transaction that has already committed: "
                "did you move `txn` outside of the closure?"
            )


def _within(key: str, bounds: Mapping[str, str]) -> bool:
    return (
        key.startswith(bounds.get("prefix", ""))
        and key >= bounds.get("start", "")
        and ("start_after" not in bounds or key > bounds["start_after"])
        and ("end" not in bounds or key < bounds["end"])
    )

"""A Registry outside of every host: its storage is a dict, its clock a number."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any

from durasim.actors.fleet import FleetRefused
from durasim.actors.fleet.registry import Registry
from durasim.actors.storage import instant
from durasim.wire import decode, encode

__all__ = ["LoneRegistry"]


class Keys:
    """The operations on keys that a Registry uses."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}

    def get(self, key: str, default: Any = None) -> Any:
        """Return what is stored."""
        return decode(self.rows[key]) if key in self.rows else default

    def put(self, key: str, value: Any) -> None:
        """Store."""
        self.rows[key] = encode(value)

    def delete(self, key: str) -> bool:
        """Delete."""
        return self.rows.pop(key, None) is not None

    def delete_many(self, keys: list[str]) -> int:
        """Delete several."""
        return sum(map(self.delete, keys))

    def list(self, *, prefix: str) -> dict[str, Any]:
        """Return what begins so, by key."""
        return {key: decode(self.rows[key]) for key in sorted(self.rows) if key.startswith(prefix)}


class LoneRegistry:
    """The actor of one Registry, and the Registry.

    Attributes:
        now_ms: its clock.
        alarm: when it rings, milliseconds; None for never.
    """

    def __init__(self) -> None:
        self.kv = Keys()
        self.now_ms = 1_000_000
        self.alarm: int | None = None
        self.drawn = 0
        self.restart()

    def restart(self) -> None:
        """Begin a new incarnation: what it kept in memory is gone."""
        self.registry = Registry.__new__(Registry)
        self.registry._actor = self  # type: ignore[assignment] # pyright: ignore
        self.registry.__init__()  # type: ignore[misc] # pyright: ignore

    @property
    def storage(self) -> Any:
        """The storage, as the Registry sees it."""
        return self

    def now(self) -> datetime:
        """The clock, as the Registry sees it."""
        return instant(self.now_ms * 1000)

    def draw(self, count: int) -> bytes:
        """Chance, as the Registry sees it."""
        self.drawn += 1
        return self.drawn.to_bytes(count, "big")

    def set_alarm(self, when: datetime) -> None:
        """Ring then."""
        self.alarm = int(when.timestamp() * 1000)

    def delete_alarm(self) -> None:
        """Ring never."""
        self.alarm = None

    def transaction_sync(self, work: Callable[[], Any]) -> Any:
        """Do *work*, as the Registry sees it: here nothing fails."""
        return work()

    # ---- asked by a test

    def ask(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Run *call*, which never waits; returns its value, or its code where it refuses."""
        try:
            call.send(None)
        except StopIteration as ended:
            return ended.value
        except FleetRefused as error:
            return (error.reason or {})["code"]
        raise AssertionError("a request of the Registry waits in the middle of its transaction")

    def ring(self) -> None:
        """Let the alarm ring if its time has come."""
        if self.alarm is not None and self.alarm <= self.now_ms:
            self.alarm = None
            self.ask(self.registry.alarm(None))  # type: ignore[arg-type] # pyright: ignore

    def rows(self, prefix: str) -> Mapping[str, Any]:
        """Return the stored rows of *prefix*, by the rest of the key."""
        return {key.removeprefix(prefix): row for key, row in self.kv.list(prefix=prefix).items()}

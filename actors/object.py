"""`DurableObject`: what a user writes, and which of its methods may be called."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar
from uuid import UUID

import attrs

from ..wire import Address
from .limits import MAILBOX_REQUESTS_MAX
from .storage import Storage

if TYPE_CHECKING:
    from .incarnation import Incarnation
    from .objects import Objects

__all__ = ["AlarmInfo", "DurableObject"]

T = TypeVar("T")

RESERVED = frozenset(
    "alarm fetch connect web_socket_message web_socket_close web_socket_error".split()
)
"""Names that the runtime itself calls (RPC-6)."""


@attrs.frozen(kw_only=True)
class AlarmInfo:
    """What an alarm handler is told.

    Attributes:
        retry_count: how often this alarm has failed before; 0 at the first try.
        scheduled_time: when it was to run first.
    """

    retry_count: int
    scheduled_time: datetime

    @property
    def is_retry(self) -> bool:
        """Whether an earlier try failed."""
        return self.retry_count > 0


class DurableObject:
    """One object among many of its class: addressed by name, alone in its storage.

    Subclass it; public coroutine methods may be called from outside, one event at a time. `__init__`
    takes no arguments, runs once per incarnation and may use everything below.

    Class arguments:
        name: the stored name of the class; without it, the qualified name.
        sql: keep keys, SQL and alarm in a file of its own.
        durable: False for an object that keeps nothing beyond its incarnation: keys and alarm are in
            memory, no commit is waited for, and all is gone when it is evicted or reset.

    Class attributes:
        delivery: "gated": while the object waits for anything but its own storage, the next event
            may enter. "serial": the next request enters when the one before has ended.
        mailbox_requests_max: requests held, waiting or running; one more gets `Overloaded`.
    """

    delivery: ClassVar[Literal["gated", "serial"]] = "gated"
    mailbox_requests_max: ClassVar[int] = MAILBOX_REQUESTS_MAX
    stored_name: ClassVar[str] = "DurableObject"
    methods: ClassVar[frozenset[str]] = frozenset()
    uses_sql: ClassVar[bool] = False
    is_durable: ClassVar[bool] = True

    _incarnation: "Incarnation"

    def __init_subclass__(
        cls, *, name: str | None = None, sql: bool = False, durable: bool = True, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        cls.stored_name = cls.__qualname__ if name is None else name
        cls.uses_sql = sql
        cls.is_durable = durable
        cls.methods = frozenset(
            attribute
            for attribute in dir(cls)
            if not attribute.startswith("_")
            and attribute not in RESERVED
            and not hasattr(DurableObject, attribute)
            and inspect.iscoroutinefunction(inspect.getattr_static(cls, attribute))
        )

    @property
    def address(self) -> Address:
        """The stored class name and the name of this object."""
        return self._incarnation.address

    @property
    def storage(self) -> Storage:
        """What this object keeps."""
        return self._incarnation.storage

    @property
    def objects(self) -> "Objects":
        """Stubs of other objects, from inside this one."""
        return self._incarnation.objects

    @property
    def env(self) -> Mapping[str, object]:
        """What the host gives to all its objects."""
        return self._incarnation.ports.env

    def now(self) -> datetime:
        """Return the host's wall clock, which may be wrong; aware, UTC."""
        return self._incarnation.now()

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait from now on, and pass the input gate before going on. Other events enter meanwhile."""
        return self._incarnation.sleep(seconds)

    def token_bytes(self, count: int = 16) -> bytes:
        """Return *count* random bytes."""
        return self._incarnation.draw(count)

    def uuid(self) -> UUID:
        """Return a random UUID (version 4)."""
        return UUID(bytes=self._incarnation.draw(16), version=4)

    def random(self) -> float:
        """Return a random number from 0 (inclusive) to 1 (exclusive)."""
        return (int.from_bytes(self._incarnation.draw(8)) >> 11) / (1 << 53)

    def block_concurrency_while(self, work: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Run *work* as a critical section: until it ends, only events begun in it enter (IG-6).

        It begins after the current turn, awaited or not. If it raises, or takes over 30 s, the
        object is reset: all callers get `ObjectReset`, and nothing here goes on (IG-7, IG-9).
        """
        return self._incarnation.block_concurrency_while(work)

    def abort(self, reason: str | None = None, *, retry_alarm: bool = True) -> NoReturn:
        """Reset this object now: the writes of this turn are lost, all callers get `ObjectReset`.

        Raises:
            IncarnationGone: always, to leave. Nothing done on the way out has an effect.
        """
        self._incarnation.abort(reason, retry_alarm=retry_alarm)

    def wait_until(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run *work* beside everything else; replies do not wait for it, its failure is ignored."""
        self._incarnation.wait_until(work)

    async def alarm(self, info: AlarmInfo) -> None:
        """Handle the alarm that `storage.set_alarm` asked for. At least once; may be late.

        If it raises or the object is reset, it is tried again after 2 s, 4 s, … six times.
        """
        raise NotImplementedError


def has_alarm_handler(cls: type[DurableObject]) -> bool:
    """Whether *cls* has an alarm handler of its own."""
    return cls.alarm is not DurableObject.alarm


def at_utc(wall_us: int) -> datetime:
    """Return *wall_us*, microseconds since 1970 UTC, as an aware time."""
    return datetime.fromtimestamp(wall_us // 1_000_000, UTC).replace(
        microsecond=wall_us % 1_000_000
    )

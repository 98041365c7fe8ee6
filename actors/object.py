"""`DurableObject`: what a user writes, and which of its methods may be called."""

import inspect
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar

import attrs

from ..wire import Address
from .context import Context
from .limits import MAILBOX_REQUESTS_MAX
from .storage import Storage

if TYPE_CHECKING:
    from .incarnation import Incarnation

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


class DurableObject(Context):
    """One object among many of its class: addressed by name, alone in its storage.

    Subclass it; public coroutine methods may be called from outside, one event at a time.
    `__init__` takes no arguments, runs once per incarnation and may use everything below.

    Class arguments:
        name: the stored name of the class; without it, the qualified name.
        sql: the object has SQL data as well, in the same commits as its keys and its alarm.
        durable: False for an object that keeps nothing beyond its incarnation: keys and alarm are
            in memory, no commit is waited for, and all is gone when it is evicted or reset.

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

    _actor: "Incarnation"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init_subclass__(
        cls, *, name: str | None = None, sql: bool = False, durable: bool = True, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        cls.stored_name = cls.__qualname__ if name is None else name
        if sql and not durable:
            raise ValueError(f"{cls.__qualname__}: an object that keeps nothing has no SQL data")
        require_alarm_info(cls)
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
        return self._actor.address

    @property
    def storage(self) -> Storage:
        """What this object keeps."""
        return self._actor.storage

    def block_concurrency_while(self, work: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Run *work* as a critical section: until it ends, only events begun in it enter (IG-6).

        It begins after the current turn, awaited or not. If it raises, or takes over 30 s, the
        object is reset: all callers get `ObjectReset`, and nothing here goes on (IG-7, IG-9).
        """
        return self._actor.block_concurrency_while(work)

    def abort(self, reason: str | None = None, *, retry_alarm: bool = True) -> NoReturn:
        """Reset this object now: the writes of this turn are lost, all callers get `ObjectReset`.

        Raises:
            IncarnationGone: always, to leave. Nothing done on the way out has an effect.
        """
        self._actor.abort(reason, retry_alarm=retry_alarm)

    def wait_until(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run *work* beside everything else; replies do not wait for it, its failure is ignored."""
        self._actor.wait_until(work)

    async def alarm(self, info: AlarmInfo) -> None:
        """Handle the alarm that `storage.set_alarm` asked for. At least once; may be late.

        If it raises or the object is reset, it is tried again after 2 s, 4 s, … six times.
        """
        raise NotImplementedError


def has_alarm_handler(cls: type[DurableObject]) -> bool:
    """Whether *cls* has an alarm handler of its own."""
    return cls.alarm is not DurableObject.alarm


def require_alarm_info(cls: type[DurableObject]) -> None:
    """Refuse an alarm handler that cannot be called as the runtime calls it.

    Raises:
        TypeError: it is no coroutine function, or does not take an `AlarmInfo`.
    """
    handler = inspect.getattr_static(cls, "alarm")
    if not inspect.isfunction(handler):
        return
    said = f"{cls.__qualname__}.alarm has to be `async def alarm(self, info: AlarmInfo)`"
    if not inspect.iscoroutinefunction(handler):
        raise TypeError(f"{said}: it is no coroutine function")
    try:
        inspect.signature(handler).bind(None, None)
    except TypeError as error:
        raise TypeError(f"{said}: {error}") from error

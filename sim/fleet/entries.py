"""The entries of the event log: what happened, as checkers are shown it (K.3)."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from ...actors import Address
from ...wire import ErrorRecord, WireError, decode_envelope, decode_reply

if TYPE_CHECKING:
    from .log import Log

__all__ = ["Answer", "Call", "Change", "Commit", "Entry", "Seen", "Watcher"]


class Change(NamedTuple):
    """One key of one commit, decoded; None for nothing."""

    key: str
    before: Any
    after: Any


class Commit:
    """One transaction of one object, as it became durable.

    Attributes:
        kind: stored name of the class.
        name: of the object.
        changes: every key that was written, in order.
    """

    __slots__ = ("_found", "changes", "kind", "name")

    def __init__(self, kind: str, name: str, changes: tuple[Change, ...]) -> None:
        self.kind = kind
        self.name = name
        self.changes = changes
        self._found: dict[str, tuple[Change, ...]] = {}

    def of(self, prefix: str) -> tuple[Change, ...]:
        """Return the changes of keys that begin with *prefix*."""
        found = self._found.get(prefix)
        if found is None:
            # Many checkers ask for the same few prefixes of each commit.
            found = tuple([each for each in self.changes if each[0].startswith(prefix)])
            self._found[prefix] = found
        return found


class Call:
    """One call as it left its caller; what it asks is decoded when it is looked at.

    Attributes:
        caller: the participant; all requests of a worker are one.
        stack: numbers the incarnation, the program or the request of a worker that called: no two
            of them share it.
        number: of the call, unique in the log.
    """

    def __init__(self, caller: str, stack: int, number: int, detail: tuple[Any, ...]) -> None:
        """Take it from the detail of a `request` row."""
        self.caller = caller
        self.stack = stack
        self.number = number
        self.address = Address(detail[1], detail[2])
        self.method: str = detail[3]
        self._data: bytes = detail[4]

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What it asks, by position."""
        return tuple(decode_envelope(self._data).args)

    @cached_property
    def named(self) -> Mapping[str, Any]:
        """What it asks, by name."""
        return dict(decode_envelope(self._data).kwargs)


class Answer:
    """The end of one call as its caller learned it."""

    def __init__(self, call: Call, data: bytes | None) -> None:
        """*data* is the reply; None if there is none that can be read."""
        self.call = call
        self._data = data

    @cached_property
    def _parts(self) -> tuple[Any, ErrorRecord | None, bool]:
        if self._data is None:
            return None, None, False
        try:
            reply = decode_reply(self._data)
        except WireError:
            return None, None, False
        return reply.value, reply.error, True

    @property
    def value(self) -> Any:
        """What was answered; None if an error was."""
        return self._parts[0]

    @property
    def error(self) -> ErrorRecord | None:
        """The error that was answered, if one was."""
        return self._parts[1]

    @property
    def is_readable(self) -> bool:
        """Whether a reply came and can be read."""
        return self._parts[2]

    @property
    def is_granted(self) -> bool:
        """Whether a value came, which may still be a no in a body."""
        return self._parts[2] and self._parts[1] is None


class Entry(NamedTuple):
    """One thing that happened."""

    seq: int
    """Of the trace row."""
    time_ms: int
    """Since 1970 by a clock that is right."""
    kind: str
    actor: str
    incarnation: int
    data: Any


S = TypeVar("S")


class Seen(Generic[S]):
    """What a watcher is shown: its own state, the entry, and the log that has taken it in."""

    __slots__ = ("entry", "log", "own")

    entry: Entry

    def __init__(self, own: S, log: "Log") -> None:
        self.own = own
        self.log = log


class Watcher(Protocol):
    """Who is told of entries. `see` raises AssertionError if the entry may not be."""

    name: str
    sees: tuple[str, ...]
    level: int

    def see(self, seen: Seen[Any]) -> None:
        """Look at one entry."""
        ...

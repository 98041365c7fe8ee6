"""A host over ports that a test holds in its hand: a clock set by hand, stores in memory."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import trio
import trio.testing

from durasim.actors import (
    Address,
    Commit,
    DurableObject,
    Ports,
    StorageFailed,
    Worker,
)
from durasim.hosts import Host, Loopback, StepTurns
from durasim.wire import Absent, Envelope, Reply, decode_reply, encode_envelope, error_from

START_US = 1_800_000_000_000_000
"""The wall clock at the begin."""


@attrs.define(eq=False)
class HandTimer:
    """A wake-up; `action` is None once it was taken back or has happened."""

    at: float
    action: Callable[[], None] | None
    label: str

    def cancel(self) -> None:
        """Take it back."""
        self.action = None


class HandClock:
    """A `Clock` that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0
        self.wall_us = START_US
        self.timers: list[HandTimer] = []

    def time(self) -> float:
        """Seconds."""
        return self.now

    def wall(self) -> int:
        """Microseconds."""
        return self.wall_us

    def call_at(self, time: float, action: Callable[[], None], label: str) -> HandTimer:
        """Keep it."""
        timer = HandTimer(time, action, label)
        self.timers.append(timer)
        return timer

    def due(self, label: str = "") -> list[float]:
        """Return in how many seconds the timers are due whose label has *label* in it."""
        waiting = [t.at - self.now for t in self.timers if t.action and label in t.label]
        return [round(seconds, 6) for seconds in waiting]

    def advance(self, seconds: float, *, wall_s: float | None = None) -> None:
        """Move time, and the wall clock by *wall_s* if that is something else; run what is due."""
        self.now += seconds
        self.wall_us += round((seconds if wall_s is None else wall_s) * 1_000_000)
        for timer in sorted(self.timers, key=lambda timer: timer.at):
            if timer.at <= self.now + 1e-9 and timer.action is not None:
                action, timer.action = timer.action, None
                action()


class Zeros:
    """An `Entropy` without surprise: all bits 0, or all 1."""

    def __init__(self, byte: int = 0) -> None:
        self.byte = byte

    def draw(self, actor: str, count: int) -> bytes:
        """Return *count* equal bytes."""
        del actor
        return bytes([self.byte]) * count


class MemoryObject:
    """What one object keeps. Commits are durable at once, or when the test says so."""

    def __init__(self, store: "MemoryStore") -> None:
        self._store = store
        self.keys: dict[str, bytes] = {}
        self.time: int | None = None

    def get(self, key: str) -> bytes | None:
        """Read."""
        return self.keys.get(key)

    def scan(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterable[tuple[str, bytes]]:
        """Read all."""
        del start, end
        return sorted(self.keys.items(), reverse=reverse)

    def alarm(self) -> int | None:
        """Read."""
        return self.time

    def commit(self, commit: Commit, done: Callable[[Exception | None], None]) -> None:
        """Apply, and say so unless commits are held."""
        for key, value in commit.writes.items():
            self.keys.pop(key, None) if value is None else self.keys.update({key: value})
        if not isinstance(commit.alarm, Absent):
            self.time = commit.alarm
        if self._store.held is None:
            done(None)
        else:
            self._store.held.append(partial(done, None))

    def close(self) -> None:
        """Nothing is open."""


class MemoryStore:
    """A `Store`; `held` keeps the ends of commits, `refused` the objects that cannot be opened."""

    def __init__(self) -> None:
        self.objects: dict[Address, MemoryObject] = {}
        self.held: list[Callable[[], None]] | None = None
        self.refused: set[Address] = set()

    def open(self, address: Address) -> MemoryObject:
        """Open, or fail as told."""
        if address in self.refused:
            raise StorageFailed(address, "as told")
        return self.objects.setdefault(address, MemoryObject(self))

    def alarms(self) -> Iterable[tuple[Address, int]]:
        """Yield all."""
        for address, kept in sorted(self.objects.items()):
            if kept.time is not None:
                yield address, kept.time


class Watching:
    """A `Probe` that keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []

    def event(self, kind: str, actor: str, incarnation: int, *detail: object) -> None:
        """Keep it."""
        del detail
        self.seen.append((kind, actor, incarnation))


class Answer:
    """The way back of one request: `reply`, or why there is none."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self.reason: str | None = None

    def respond(self, data: bytes) -> None:
        """Keep the reply."""
        assert self.reply is None
        self.reply = decode_reply(data)

    def broken(self, reason: str) -> None:
        """Keep the reason."""
        self.reason = reason

    @property
    def error(self) -> BaseException | None:
        """The error that came back."""
        assert self.reply is not None
        return None if self.reply.error is None else error_from(self.reply.error)

    @property
    def value(self) -> Any:
        """The value that came back."""
        assert self.reply is not None
        assert self.reply.error is None, self.error
        return self.reply.value


class Stage:
    """A host with its ports, and a caller who writes envelopes by hand."""

    def __init__(self, *classes: type[DurableObject | Worker]) -> None:
        self.clock = HandClock()
        self.store = MemoryStore()
        self.probe = Watching()
        self._loopback = Loopback(self)
        self._number = 0
        self.host = Host("here", self.ports(), classes)

    def ports(self) -> Ports:
        """Return the ports of a host here."""
        self.turns = StepTurns(_loudly)
        return Ports(
            clock=self.clock, entropy=Zeros(), store=self.store, transport=self._loopback,
            turns=self.turns, probe=self.probe,
        )  # fmt: skip

    def receive(self, data: bytes, origin: Any) -> None:
        """Give what objects send to the host."""
        self.host.receive(data, origin)

    def send(self, to: str, method: str, *args: Any, stub: int = 1, incarnation: int = 0) -> Answer:
        """Send a request of *stub*, which believes to be bound to *incarnation*."""
        self._number += 1
        kind, _, name = to.partition("/")
        answer = Answer()
        envelope = Envelope(
            self._number, "caller", stub, self._number, incarnation, kind, name, method, args, {},
            START_US * 2, "",
        )  # fmt: skip
        self.host.receive(encode_envelope(envelope), answer)
        return answer

    async def ask(
        self, to: str, method: str, *args: Any, stub: int = 1, incarnation: int = 0
    ) -> Answer:
        """Send, and wait until nothing moves any more."""
        answer = self.send(to, method, *args, stub=stub, incarnation=incarnation)
        await settled()
        return answer

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Run the host."""
        trio.lowlevel.add_instrument(self.turns)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(self.host.run)
                yield
                nursery.cancel_scope.cancel()
        finally:
            trio.lowlevel.remove_instrument(self.turns)


async def settled() -> None:
    """Wait until every task waits for something that only a test can do."""
    await trio.testing.wait_all_tasks_blocked()


def _loudly(error: BaseException) -> None:
    raise error

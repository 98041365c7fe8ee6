"""One simulated host: a `Host` over simulated ports, which crashes, is swapped, starts again."""

from collections import ChainMap
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING

from ..actors import INCARNATION, Actor, DurableObject, Ports, Worker
from ..hosts import Host
from .agenda import Timer
from .disk import DiskStore
from .faults import Subject

if TYPE_CHECKING:
    from .network import Message
    from .world import World

__all__ = ["EPOCH_US", "Machine"]

EPOCH_US = 1_767_225_600_000_000
"""Virtual time 0 on a right wall clock: 2026-01-01 00:00 UTC, in microseconds since 1970."""

MINUTE_US = 60_000_000

Classes = tuple[type[DurableObject | Worker], ...]


HOST: "ContextVar[Host | None]" = ContextVar("host", default=None)
"""The host that the current task runs, if it is the task of a machine."""

DEATHS = frozenset({"crash", "reset", "killed"})
"""Events after which code may be left that has no actor any more."""


class HostClock:
    """The `Clock` of one machine: trio's virtual time, and a wall clock that may be wrong."""

    __slots__ = ("_kernel", "_machine", "_world")

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        self._world = machine.world
        self._kernel = machine.world.kernel

    def time(self) -> float:
        """Return virtual seconds."""
        return self._kernel.now_s

    def wall(self) -> int:
        """Return microseconds since 1970 UTC, as this machine believes."""
        return EPOCH_US + self._kernel.now_us + self._machine.skew_us

    def call_at(self, time: float, action: Callable[[], None], label: str) -> Timer:
        """Run *action* at *time*. An alarm may be late or ring twice, by a choice."""
        world = self._world
        kernel = world.kernel
        at_us = kernel.microseconds(time)
        timer = Timer(action, label)
        kind, _, owner = label.partition(" of ")
        if kind == "alarm" and self._machine.alarms_fail:
            cls, _, name = owner.partition("/")
            site = world.site(owner, Subject("alarm", cls, name))
            option = world.choices.choose(site)
            if option == "60 s late":
                at_us = max(at_us, kernel.now_us) + MINUTE_US
            elif option == "twice":
                kernel.agenda.at(max(at_us, kernel.now_us) + 1_000_000, Timer(action, label))
        if kind == "sleep":
            # Nobody may be waiting for it: then nobody takes it back.
            timer.owner = INCARNATION.get()
        timer.daemon = kind == "eviction"
        kernel.agenda.at(at_us, timer)
        return timer


class StreamEntropy:
    """Random bytes by seed, actor and ordinal: leaving out a deviation does not shift them."""

    __slots__ = ("_counts", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._counts: dict[str, int] = {}

    def draw(self, actor: str, count: int) -> bytes:
        """Return the next *count* bytes of *actor*."""
        number = self._counts[actor] = self._counts.get(actor, 0) + 1
        drawn = b""
        while len(drawn) < count:
            drawn += sha256(f"{self._seed}/{actor}/{number}/{len(drawn)}".encode()).digest()
        return drawn[:count]


class WorldProbe:
    """The `Probe` of a world: the trace, and what each object runs at the moment."""

    __slots__ = ("_add", "_kernel", "_origins", "_running")

    def __init__(self, world: "World") -> None:
        self._add = world.trace.add
        self._kernel = world.kernel
        self._running = world.running
        self._origins = world.origins

    def event(self, kind: str, actor: str, incarnation: int, *detail: object) -> None:
        """Note the event."""
        if kind == "begin":
            self._running[actor] = detail[0]
        elif kind in DEATHS:
            self._kernel.dead = True
            if kind == "reset":
                # Of a constructor that failed, or of a section.
                self._origins.note(actor, "")
        elif kind == "evict":
            self._kernel.evicted = True
        elif kind == "raised":
            self._origins.note(actor, str(detail[0]))
        self._add(kind, actor, incarnation, *detail)


class WorldTurns:
    """The `Turns` of a world: the kernel knows when a step has ended."""

    __slots__ = ("_kernel",)

    def __init__(self, world: "World") -> None:
        self._kernel = world.kernel

    def at_end(self, incarnation: Actor) -> None:
        """End its turn after the step."""
        self._kernel.ending.append(incarnation)


class Machine:
    """A place where objects run, by name."""

    def __init__(
        self,
        world: "World",
        name: str,
        versions: tuple[Classes, ...],
        env: Mapping[str, object] | None = None,
    ) -> None:
        """Make it; `start` turns it on.

        Args:
            world: where it stands.
            name: in traces and sentences.
            versions: the classes of each code version; the first is deployed, a swap changes over
                to the next, and back.
            env: what its code finds before the world's own `env`, the same for each version.
        """
        self.world = world
        self.name = name
        self.versions = versions
        self._envs = (env or {},) * len(versions)
        self.version = 0
        self.generation = 0
        self.skew_us = 0
        self.extra: list[type[DurableObject | Worker]] = []
        self.reads_fail = world.may("read")
        self.alarms_fail = world.may("alarm")
        self._clock = HostClock(self)
        self._early: list[Message] = []
        self.host = self._make()

    def _make(self) -> Host:
        world = self.world
        own = self._envs[self.version]
        ports = Ports(
            clock=self._clock,
            entropy=world.entropy,
            store=DiskStore(self, world.disk),
            transport=world.network,
            turns=WorldTurns(world),
            probe=WorldProbe(world),
            version=f"v{self.version + 1}",
            met=world.learn,
            env=ChainMap({**own}, world.env) if own else world.env,
            database=world.database,
        )
        classes: Classes = (*self.versions[self.version], *self.extra)
        return Host(self.name, ports, classes, numbers=world.number, find=world.incarnation)

    def start(self) -> None:
        """Turn it on; its alarms are those of the disk."""
        world = self.world
        if world.may("clock"):
            option = world.choices.choose(world.site(self.name, Subject("clock", self.name)))
            self.skew_us = {"60 s ahead": MINUTE_US, "60 s behind": -MINUTE_US}.get(option or "", 0)
        world.trace.add("up", self.name, 0, self.version + 1)
        host = self.host
        world.spawn(self.name, lambda: host.run(task_status=self))

    def started(self, value: None = None) -> None:
        """The host takes requests: those that came too early arrive now, in their order."""
        del value
        self.world.kernel.fresh.extend(self._early)
        self._early.clear()

    def is_early(self, message: "Message") -> bool:
        """Whether the host is only coming up: then *message* arrives as soon as it is there."""
        if self.host.state != "new":
            return False
        self._early.append(message)
        return True

    def receive(self, data: bytes, message: "Message") -> None:
        """Take in a request."""
        self.host.receive(data, message)

    def crash(self, reason: str) -> None:
        """Everything here is dead at once; it starts again at once, with what the disk has."""
        world = self.world
        world.trace.add("crash", self.name, 0)
        self.generation += 1
        old = self.host
        self.host = self._make()
        old.crash(reason)
        self.start()

    def deploy(self, classes: Classes, env: Mapping[str, object] | None = None) -> None:
        """Upload one more version of the code with what its env binds: every object restarts.

        A swap goes round among all versions that were ever here, each with its own bindings.
        """
        self.versions = (*self.versions, classes)
        self._envs = (*self._envs, env or {})
        self.version = len(self.versions) - 2
        self.swap()

    def swap(self) -> None:
        """Change over to the next version of the code: every object restarts."""
        self.version = (self.version + 1) % len(self.versions)
        self.world.trace.add("swap", self.name, 0, self.version + 1)
        self.crash("the code was swapped")

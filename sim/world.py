"""A world: machines, a disk, a network, clients and programs under one seed."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from typing import Any, TypeVar

import attrs
import trio

from ..actors import (
    CALL_DEADLINE_S,
    INCARNATION,
    Actor,
    Address,
    DurableObject,
    Incarnation,
    Program,
    ProgramRun,
    Worker,
)
from ..hosts import Client, Host
from .choices import Choices, Option, Site
from .disk import Disk
from .faults import Fault, Subject, options_at
from .kernel import ACTOR, Kernel
from .ledger import Ledger
from .machine import MINUTE_US, HostClock, Machine, StreamEntropy
from .network import Message, Network
from .reaper import Reaper
from .trace import Trace
from .waits import wait_graph

__all__ = ["Failure", "World"]

T = TypeVar("T", bound=DurableObject)
W = TypeVar("W", bound=Worker)

CUT_US = 5_000_000
"""Virtual microseconds that a partition lasts."""


@attrs.frozen
class Failure:
    """One thing that did not hold.

    Attributes:
        property: its name; "scenario" for an error of the scenario itself.
        message: what was seen.
    """

    property: str
    message: str


class World:
    """Everything in one run. Made by the runner; a scenario gets it as its argument.

    A machine called "host" is made when it is first needed and runs every class that a client asks
    for. `machine` makes more, with classes or code versions of their own.
    """

    def __init__(
        self,
        kernel: Kernel,
        choices: Choices,
        plan: tuple[Fault, ...],
        *,
        seed: int,
        keep: int,
        env: Mapping[str, object] | None = None,
    ) -> None:
        """Make an empty world."""
        self.kernel = kernel
        self.choices = choices
        self.plan = plan
        self.trace = Trace(kernel, keep=keep)
        self.disk = Disk()
        self.entropy = StreamEntropy(seed)
        self.network = Network(self)
        self.ledger = Ledger(self.trace)
        self.env: dict[str, object] = {"ledger": self.ledger, **(env or {})}
        self.machines: dict[str, Machine] = {}
        self.running: dict[str, object] = {}
        self.failures: list[Failure] = []
        self.error: BaseException | None = None
        self.is_over = False
        self._kinds = {kind for fault in plan for kind in fault.kinds}
        kernel.watched = self.may("await") or self.may("program")
        self._await_sites: dict[tuple[Address, str], Site] = {}
        self._wake_sites: dict[str, Site] = {}
        self._homes: dict[Address, Machine] = {}
        self._numbers: dict[Address, int] = {}
        self._programs: dict[str, int] = {}
        self._runs: dict[tuple[str, int], ProgramRun] = {}
        self.clients: dict[str, WorldClient] = {}
        self._reaper = Reaper()
        self._nursery: trio.Nursery | None = None
        self._quiet = trio.Event()

    # ---- for scenarios

    @property
    def now_s(self) -> float:
        """Virtual seconds since the world began."""
        return self.kernel.now_us / 1_000_000

    def client(self, name: str) -> "WorldClient":
        """Return the participant *name*, who calls from outside of all objects."""
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = WorldClient(self, name)
        return client

    def machine(
        self,
        name: str,
        *versions: tuple[type[DurableObject | Worker], ...],
    ) -> Machine:
        """Turn on a machine that runs the classes of *versions*, one tuple for each code version.

        Raises:
            ValueError: there is one of that name. Nothing changed.
        """
        if name in self.machines:
            raise ValueError(f"there is a machine {name!r} already")
        machine = self.machines[name] = Machine(self, name, versions or ((),))
        machine.start()
        return machine

    def start(self, program: Program, name: str) -> ProgramRun:
        """Start *program* as the participant *name*; `await run.ended()` says how it ended.

        It is no part of any machine: only `KillProgram` ends it early.
        """
        number = self._programs[name] = self._programs.get(name, 0) + 1
        ports = self.default().host.ports
        run = ProgramRun(program, name, number, ports, self._program_ended)
        self._runs[name, number] = run
        context = copy_context()
        context.run(INCARNATION.set, run)
        assert self._nursery is not None
        context.run(self._nursery.start_soon, run.run)
        return run

    def _program_ended(self, run: ProgramRun) -> None:
        del self._runs[run.name, run.number]
        self.bury(run)

    def end_faults(self) -> None:
        """From here on nothing deviates any more."""
        self.choices.stop()
        self.trace.add("calm", "world", 0)

    def stored(self, cls: type[DurableObject], name: str) -> dict[str, Any]:
        """Return what is durable of an object, decoded: the truth outside of all messages."""
        return self.disk.decoded(Address(cls.stored_name, name))

    def fail(self, name: str, message: str) -> None:
        """Report that property *name* does not hold."""
        if not any(failure.property == name for failure in self.failures):
            self.failures.append(Failure(name, message))
            self.trace.add("violated", "world", 0, name)

    # ---- for the parts of the world

    def may(self, kind: str) -> bool:
        """Whether the plan lets anything strike at sites of *kind*."""
        return kind in self._kinds

    def site(self, subject_name: str, subject: Subject, moves: tuple[Option, ...] = ()) -> Site:
        """Return the site of that name, made when it is first touched."""
        site = self.choices.site(subject.kind, subject_name)
        if site is None:
            options = (*moves, *options_at(self.plan, subject))
            site = self.choices.new_site(subject.kind, subject_name, options)
        return site

    def place(self, address: Address) -> Machine:
        """Return the machine of an object."""
        machine = self._homes.get(address)
        if machine is None:
            able = [
                machine
                for machine in self.machines.values()
                if address.kind in machine.host.classes or address.kind in machine.host.workers
            ]
            if not able:
                able = [self.default()]
            ordinal = sum(address.name.encode()) % len(able)
            machine = self._homes[address] = able[ordinal]
        return machine

    def default(self) -> Machine:
        """Return the machine for classes that no other one runs."""
        return self.machines.get("host") or self.machine("host")

    def learn(self, cls: type[DurableObject | Worker]) -> None:
        """Make sure that some machine can run *cls*."""
        for machine in self.machines.values():
            if any(cls.stored_name == k.stored_name for v in machine.versions for k in v):
                return
        machine = self.default()
        if cls not in machine.extra:
            machine.extra.append(cls)
            machine.host.learn(cls)

    def number(self, address: Address) -> int:
        """Number the next incarnation of an object."""
        number = self._numbers[address] = self._numbers.get(address, 0) + 1
        return number

    def incarnation(self, address: Address) -> Incarnation | None:
        """Return the live incarnation of an object, wherever it runs."""
        machine = self._homes.get(address)
        return None if machine is None else machine.host.incarnations.get(address)

    def spawn(self, actor: str, work: Callable[[], Awaitable[None]]) -> None:
        """Start a task of *actor*."""
        assert self._nursery is not None
        context = copy_context()
        context.run(ACTOR.set, actor)
        context.run(INCARNATION.set, None)
        context.run(self._nursery.start_soon, work)

    def bury(self, host: Host | Actor) -> None:
        """*host*, or somebody, is dead: what does not unwind by itself is reaped at the next quiet moment."""
        self._reaper.watch(host)
        self.kernel.dead = True

    def strike(self, option: str, message: Message) -> None:
        """Let a fault strike right before a request is sent."""
        machine = self.place(message.route.address)
        address = message.route.address
        self.trace.add("strike", machine.name, 0, option, str(address))
        if option == "evicted":
            machine.host.evict(address)
        elif option == "swapped":
            machine.swap()
        elif option == "replaced":
            machine.host.replace(address)
        elif option == "cut 5 s":
            self.network.cut(message, self.kernel.now_us + CUT_US)
        else:
            machine.skew_us += MINUTE_US if option == "clock +60 s" else -MINUTE_US

    # ---- for the kernel

    def before_end(self, ending: Any) -> None:
        """A turn of an incarnation is about to end: it may be its last."""
        if not ending.alive:
            return
        if isinstance(ending, ProgramRun):
            if self.choices.choose(self.site(ending.name, Subject("program", ending.name))):
                ending.kill()
            return
        address: Address = ending.address
        method = str(self.running.get(str(address), ""))
        site = self._await_sites.get((address, method))
        if site is None:
            name = f"{address} in {method}" if method else str(address)
            subject = Subject("await", address.kind, address.name, method)
            site = self._await_sites[address, method] = self.site(name, subject)
        if self.choices.choose(site) is not None:
            self.place(address).crash("the host crashed at an await")

    def split(self, batch: list[Any]) -> None:
        """Several tasks woke together: one runs now, each other one is an event of its own."""
        ours = [task for task in batch if self._actor(task) is not None]
        if len(ours) < 2:
            return
        others: list[Any] = [task for task in batch if self._actor(task) is None]
        queue: deque[Wake] = deque()
        for task in ours:
            wake = Wake(self.kernel, task)
            if self.choices.choose(self._wake_site(task)) is None:
                queue.append(wake)
            else:
                self.kernel.behind(wake)
        if queue:
            others.append(queue.popleft().task)
        if queue:
            self.kernel.push(queue)
        batch[:] = others

    def watch(self, batch: list[Any]) -> None:
        """These tasks run now: the end of each of their turns is a moment to die at."""
        for task in batch:
            actor = task.context.get(INCARNATION)
            if actor is not None:
                actor.touch()

    def _actor(self, task: Any) -> str | None:
        incarnation = task.context.get(INCARNATION)
        if incarnation is not None:
            return str(incarnation.name)
        actor: str | None = task.context.get(ACTOR)
        return actor

    def _wake_site(self, task: Any) -> Site:
        actor = self._actor(task)
        assert actor is not None
        site = self._wake_sites.get(actor)
        if site is None:
            behind = Option("behind", f"wake {{n}} of {actor} comes after all else of that moment")
            site = self._wake_sites[actor] = self.site(actor, Subject("wake", actor), (behind,))
        return site

    def quiet(self) -> None:
        """Nothing is scheduled any more."""
        if not self.kernel.settling:
            self.fail("no deadlock", wait_graph(self))
        self._end()

    def reap(self) -> None:
        """Whatever is left of the dead has to go."""
        self._reaper.reap()

    def failed(self, error: BaseException) -> None:
        """Something in the kernel raised."""
        if self.error is None:
            self.error = error
        self._end()

    def _end(self) -> None:
        self.is_over = True
        self._quiet.set()

    # ---- its life, run by `run.py`

    async def live(self, main: Callable[[], Awaitable[None]]) -> None:
        """Run *main* as the scenario until it has ended and nothing is left to happen."""

        async def scenario() -> None:
            try:
                await main()
            except Exception as error:
                self.fail("scenario", describe(error))
            self.end_faults()
            self.kernel.settling = True

        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self.spawn("scenario", scenario)
                await self._quiet.wait()
                for run in list(self._runs.values()):
                    run.kill()
                for machine in self.machines.values():
                    machine.host.crash("the world ended")
                    self._reaper.watch(machine.host)
                nursery.cancel_scope.cancel()
        finally:
            self._nursery = None


class Wake:
    """A task that woke together with others: its turn is an event of its own."""

    __slots__ = ("kernel", "task")

    def __init__(self, kernel: Kernel, task: Any) -> None:
        self.kernel = kernel
        self.task = task

    def fire(self) -> None:
        """Let it run."""
        self.kernel.run_task(self.task)


class WorldClient:
    """A participant without storage and gates, by name."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name
        self._client = Client(name, HostClock(world.default()), world.network, "")

    def awaited(self) -> list[Address]:
        """Whose replies it waits for."""
        return [call.address for call in self._client.calls.pending.values() if call.is_awaited()]

    def get(self, cls: type[T], name: str, *, deadline_s: float = CALL_DEADLINE_S) -> T:
        """Return a stub of the object *name* of *cls*, as `EmbeddedHost.get`."""
        self._world.learn(cls)
        return self._client.objects.get(cls, name, deadline_s=deadline_s)

    def worker(self, cls: type[W], *, deadline_s: float = CALL_DEADLINE_S) -> W:
        """Return a stub of the worker *cls*, whose one method is `fetch`."""
        self._world.learn(cls)
        return self._client.objects.worker(cls, deadline_s=deadline_s)


def describe(error: BaseException) -> str:
    """Say in one line what was raised."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

"""A world: machines, a disk, a network, clients and programs under one seed."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, copy_context
from math import inf
from typing import Any

import attrs
import trio
from trio.lowlevel import Task

from ..actors import (
    INCARNATION,
    Address,
    DurableObject,
    Incarnation,
    Program,
    ProgramRun,
    Worker,
    is_unwinding,
)
from ..hosts import Host
from ..wire import IncarnationGone
from .choices import Choices, Option, Site
from .client import WorldClient, refuse_dead
from .database import WorldDatabase
from .disk import Disk
from .errors import describe
from .faults import Fault, Subject, options_at
from .kernel import ACTOR, Kernel
from .ledger import Ledger
from .machine import HOST, Machine, StreamEntropy
from .network import Network
from .origins import Origins
from .reaper import Reaper
from .strikes import Strikes
from .trace import Trace
from .waits import wait_graph
from .wakes import Wakes, outside_steps

__all__ = ["Failure", "World"]


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
        self.database = WorldDatabase(self)
        self.ledger = Ledger(self.trace)
        self.env: dict[str, object] = {"ledger": self.ledger, **(env or {})}
        self.machines: dict[str, Machine] = {}
        self.running: dict[str, object] = {}
        self.origins = Origins()
        self.failures: list[Failure] = []
        self.error: BaseException | None = None
        self.is_over = False
        self.is_at_rest = False
        """Whether nothing is scheduled any more."""
        self._kinds = {kind for fault in plan for kind in fault.kinds}
        kernel.watched = any(map(self.may, ("await", "program", "start")))
        self.strikes = Strikes(self)
        self._wakes = Wakes(self)
        self._homes: dict[Address, Machine] = {}
        self._numbers: dict[Address, int] = {}
        self._programs: dict[str, int] = {}
        self._runs: dict[tuple[str, int], ProgramRun] = {}
        self.clients: dict[str, WorldClient] = {}
        self._reaper = Reaper(self._is_ours, self._is_dead)
        self._context = Context()
        self._steps = (0, 0)
        self._ends_s = inf
        self._settle_s = inf
        self._nursery: trio.Nursery | None = None
        self._quiet = trio.Event()

    # ---- for scenarios

    @property
    def now_s(self) -> float:
        """Virtual seconds since the world began."""
        return self.kernel.now_us / 1_000_000

    def client(self, name: str) -> "WorldClient":
        """Return the participant *name*, who calls from outside of all objects."""
        refuse_dead(self)
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = WorldClient(self, name)
        return client

    def machine(
        self,
        name: str,
        *versions: tuple[type[DurableObject | Worker], ...],
        env: Mapping[str, object] | None = None,
    ) -> Machine:
        """Turn on a machine that runs the classes of *versions*, one tuple for each code version.

        Its code finds *env* before the world's own.

        Raises:
            ValueError: there is one of that name. Nothing changed.
        """
        refuse_dead(self)
        if name in self.machines:
            raise ValueError(f"there is a machine {name!r} already")
        machine = self.machines[name] = Machine(self, name, versions or ((),), env)
        machine.start()
        return machine

    def start(self, program: Program, name: str) -> ProgramRun:
        """Start *program* as the participant *name*; `await run.ended()` says how it ended.

        It is no part of any machine: only `KillProgram` ends it early.
        """
        refuse_dead(self)
        number = self._programs[name] = self._programs.get(name, 0) + 1
        ports = self.default().host.ports
        run = ProgramRun(program, name, number, ports, self._program_ended)
        self._runs[name, number] = run
        context = self._context.copy()
        context.run(INCARNATION.set, run)
        self._start(context, run.run)
        return run

    def _program_ended(self, run: ProgramRun) -> None:
        del self._runs[run.name, run.number]

    def end_faults(self) -> None:
        """From here on nothing deviates any more."""
        refuse_dead(self)
        self.choices.stop()
        self.trace.add("calm", "world", 0)

    def stored(self, cls: type[DurableObject], name: str) -> dict[str, Any]:
        """Return what is durable of an object, decoded: the truth outside of all messages."""
        return self.disk.decoded(Address(cls.stored_name, name))

    def fail(self, name: str, message: str) -> None:
        """Report that property *name* does not hold."""
        if not self.is_over and not any(failure.property == name for failure in self.failures):
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

    def spawn(
        self, actor: str, work: Callable[[], Awaitable[None]], *, host: Host | None = None
    ) -> None:
        """Start a task of *actor*, which lives as long as the world, or as *host*."""
        context = self._context.copy()
        context.run(ACTOR.set, actor)
        context.run(HOST.set, host)
        self._start(context, work)

    def _start(self, context: Context, work: Callable[[], Awaitable[None]]) -> None:
        assert self._nursery is not None
        context.run(self._nursery.start_soon, work)

    # ---- for the kernel

    def before_end(self, ending: Any) -> None:
        """A turn of an actor is about to end: it may be its last."""
        self.strikes.at_turn_end(ending)

    def split(self, batch: list[Any]) -> None:
        """Several tasks woke together: one runs now, each other one is an event of its own."""
        self._wakes.split(batch)

    def put_behind(self, batch: list[Any]) -> None:
        """Tasks run on and on without waiting: whatever else can happen goes first."""
        self._wakes.put_behind(batch)

    def watch(self, batch: list[Any]) -> None:
        """These tasks run now: the end of each of their turns is a moment to die at."""
        for task in batch:
            actor = task.context.get(INCARNATION)
            if actor is not None:
                actor.touch()

    def look(self) -> None:
        """Many events have happened since the last time: end the world if they lead nowhere."""
        steps = outside_steps()
        if self.kernel.settling:
            self._look_at_rest()
        elif steps == self._steps:
            self.fail("no deadlock", f"{wait_graph(self)}; timers go on, and help nobody")
            self._quiet.set()
        elif self.now_s > self._ends_s:
            self.fail(
                "no livelock",
                f"the story goes on and on: after {self.kernel.events:,} events and "
                f"{self.now_s:.0f} s of virtual time, {self._ends_s:g} s allowed, it has not ended",
            )
            self._quiet.set()
        self._steps = steps

    def _look_at_rest(self) -> None:
        still = self.kernel.stands_still() if self._settle_s else False
        if still:
            self.fail(
                "no livelock",
                f"the story has ended, and at {self.now_s:g} s something goes on and on without "
                "any time passing, such as an alarm that sets itself to now: it never settles",
            )
        if still is not None:
            self._quiet.set()

    def quiet(self) -> None:
        """Nothing is scheduled any more, or nothing before the horizon."""
        self.is_at_rest = not self.kernel.was_cut
        if not self.kernel.settling:
            self.fail("no deadlock", wait_graph(self))
        self._quiet.set()

    def sort_out(self, batch: list[Any]) -> bool:
        """Somebody has died: leave in *batch* who may run; returns whether it is a turn."""
        self._reaper.sort_out(batch)
        return not self._reaper.is_at_work

    def reap(self) -> bool:
        """Go on with the end of the dead; returns whether all of them are gone."""
        return self._reaper.work()

    def failed(self, error: BaseException) -> None:
        """Something in the kernel raised."""
        if self.error is None or not is_unwinding(error):
            self.error = error
        self._close()
        self._quiet.set()

    def _is_ours(self, task: Task) -> bool:
        context = task.context
        return context.get(INCARNATION) is not None or context.get(ACTOR) is not None

    def _is_dead(self, task: Task) -> bool:
        context = task.context
        actor = context.get(INCARNATION)
        if actor is not None:
            return self.is_over or not actor.alive
        if context.get(ACTOR) is None:
            return False
        host = context.get(HOST)
        return self.is_over or (host is not None and host.state == "closed")

    # ---- its life, run by `run.py`

    async def live(
        self,
        main: Callable[[], Awaitable[None]],
        settle: Callable[[], None],
        settle_s: float,
        ends_s: float = inf,
    ) -> None:
        """Run *main* as the scenario until nothing is left to happen, then *settle*, then end.

        What still goes on *settle_s* virtual seconds after *main* has ended is left; what goes on
        at one instant until then is a failure, unless *settle_s* is 0. A *main* that
        goes on for more than *ends_s* of them is a failure, once there were very many events.

        Raises:
            BaseExceptionGroup: something in the world raised what no world may. It has ended.
        """

        async def scenario() -> None:
            try:
                await main()
            except (Exception, IncarnationGone, BaseExceptionGroup) as error:
                if not is_unwinding(error):
                    raise
                origin = self.origins.of(error)
                message = describe(error)
                self.fail("scenario", message if origin is None else f"{message}; {origin}")
            if not self.is_over:
                self.end_faults()
                self.kernel.settle(int(settle_s * 1_000_000))

        self._ends_s = ends_s
        self._settle_s = settle_s
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._context = copy_context()
                self.spawn("scenario", scenario)
                try:
                    await self._quiet.wait()
                    if self.error is None:
                        settle()
                finally:
                    self._close()
        finally:
            self._nursery = None
            self.database.close()

    def _close(self) -> None:
        # From here on everybody is dead, and nothing that happens is part of the run.
        if self.is_over:
            return
        self.is_over = True
        self.choices.stop()
        self.trace.seal()
        for run in list(self._runs.values()):
            run.kill()
        for machine in self.machines.values():
            machine.host.crash("the world ended")
        self.kernel.dead = True
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()

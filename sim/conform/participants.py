"""Who runs lists: the driver, and each incarnation of an object.

A participant has the jobs of its code and a way to wait for durasim: `watch` makes a promise of an
outcome to come. When that is there, one step of one task settles the promise and runs the jobs:
that step is the turn which durasim's gates and commits see. So the task that began a list waits,
in one race, for everything that the list's turns have begun.
"""

from collections.abc import Callable
from typing import Any, Protocol

import attrs
import trio

from ...actors import DurableObject, Objects, microseconds
from .faults import as_raised
from .promises import Jobs, Promise, Thrown
from .race import Race
from .record import Run
from .values import Value

__all__ = ["Driver", "ObjectCode", "Participant", "Translate", "same"]

Translate = Callable[[Exception], Value | None]
"""From an error of durasim's to what is thrown; None if no program can see that error."""


def same(value: Value) -> Value:
    """The value itself."""
    return value


@attrs.frozen(eq=False)
class Watched:
    """A promise of an outcome to come."""

    outcome: Any
    promise: Promise
    translate: Translate
    read: Callable[[Any], Value]

    async def settle(self, run: Run) -> None:
        """Await the outcome and settle the promise."""
        try:
            value = self.read(await self.outcome)
        except Thrown as thrown:
            self.promise.reject(thrown.value)
        except Exception as error:
            seen = self.translate(error)
            if seen is None:
                run.failed(f"{type(error).__name__}: {error}")
            else:
                self.promise.reject(seen)
        else:
            self.promise.resolve(value)


class Participant(Protocol):
    """What operations need of whoever runs them."""

    jobs: Jobs
    mem: dict[str, Value]
    gates: dict[str, Promise]
    run: Run

    @property
    def objects(self) -> Any:
        """Where stubs come from."""
        ...

    def now_ms(self) -> int:
        """Milliseconds since 1970, as the code's clock has it."""
        ...

    def sleep(self, ms: float) -> Promise:
        """A promise that a timer fulfils."""
        ...

    def watch(
        self, outcome: Any, translate: Translate, read: Callable[[Any], Value] = same
    ) -> Promise:
        """A promise of *outcome*: *read* makes its value, *translate* what its error throws."""
        ...


class Code:
    """What driver and objects have in common: jobs, memory, and promises of what durasim does."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.jobs = Jobs()
        self.mem: dict[str, Value] = {}
        self.gates: dict[str, Promise] = {}

    def run_jobs(self) -> None:
        """Run all jobs: the rest of the turn."""
        try:
            self.jobs.run()
        except Exception as error:
            self.run.failed(f"{type(error).__name__}: {error}")
            raise


class ObjectCode(Code):
    """The code of one incarnation."""

    def __init__(self, run: Run, target: DurableObject) -> None:
        super().__init__(run)
        self.object = target
        self._watched: list[Watched] = []

    @property
    def objects(self) -> Objects:
        """Stubs, as the object gets them."""
        return self.object.objects

    def now_ms(self) -> int:
        """The object's clock."""
        return microseconds(self.object.now()) // 1000

    def sleep(self, ms: float) -> Promise:
        """A timer of the object."""
        return self.watch(self.object.sleep(ms / 1000), _unexpected)

    def watch(
        self, outcome: Any, translate: Translate, read: Callable[[Any], Value] = same
    ) -> Promise:
        """As `Participant.watch`; whoever has the turn waits."""
        promise = Promise(self.jobs)
        self._watched.append(Watched(outcome, promise, translate, read))
        return promise

    def construct(self, start: Callable[[], object]) -> None:
        """Run *start*, which waits for nothing, as the constructor's turn.

        Raises:
            Exception: what the constructor is to raise.
        """
        watched: list[Watched] = []
        self._watched = watched
        try:
            start()
        except Thrown as thrown:
            raise as_raised(thrown.value) from None
        self.run_jobs()
        self._leave(watched)

    async def finish(self, start: Callable[[], Promise]) -> Value:
        """Run the list that *start* begins, for a method: its value, once it has one.

        Raises:
            Exception: what the method is to raise.
        """
        watched: list[Watched] = []
        self._watched = watched
        promise = start()
        self.run_jobs()
        await self._until(promise, watched)
        self._leave(watched)
        if promise.rejected:
            raise as_raised(promise.value)
        return promise.value

    async def _until(self, promise: Promise, watched: list[Watched]) -> None:
        races: list[Race] = []

        def stop(_value: Value) -> None:
            for race in races:
                race.stop()

        promise.then(stop, stop)
        self.run_jobs()
        while not promise.settled:
            races[:] = [Race([each.outcome for each in watched])]
            await races[0]
            await self._go_on(watched)

    async def _go_on(self, watched: list[Watched]) -> None:
        self._watched = watched
        for each in [each for each in watched if each.outcome.done]:
            watched.remove(each)
            await each.settle(self.run)
        self.run_jobs()

    def _leave(self, watched: list[Watched]) -> None:
        if watched:
            self.object.wait_until(lambda: self._left_over(watched))

    async def _left_over(self, watched: list[Watched]) -> None:
        while watched:
            await Race([each.outcome for each in watched])
            await self._go_on(watched)


def _unexpected(_error: Exception) -> None:
    """A timer does not fail."""


class Driver(Code):
    """The code of the driver: a stateless worker that lives as long as its run."""

    def __init__(
        self, run: Run, objects: Any, nursery: trio.Nursery, now_ms: Callable[[], int]
    ) -> None:
        super().__init__(run)
        self.objects = objects
        self.now_ms = now_ms
        self._nursery = nursery

    def sleep(self, ms: float) -> Promise:
        """A timer of the driver."""
        waiting = trio.sleep(ms / 1000)  # noqa: ASYNC105 (awaited by `watch`)
        return self.watch(waiting, _unexpected)

    def watch(
        self, outcome: Any, translate: Translate, read: Callable[[Any], Value] = same
    ) -> Promise:
        """As `Participant.watch`; a task beside the driver's waits, since it has no gate."""
        watched = Watched(outcome, Promise(self.jobs), translate, read)

        async def wait() -> None:
            await watched.settle(self.run)
            self.run_jobs()

        self._nursery.start_soon(wait)
        return watched.promise

    async def finish(self, promise: Promise) -> Value:
        """Run the jobs, then wait until *promise* is settled.

        Raises:
            Thrown: it was rejected.
        """
        self.run_jobs()
        if not promise.settled:
            over = trio.Event()
            promise.then(lambda _value: over.set(), lambda _error: over.set())
            await over.wait()
        if promise.rejected:
            raise Thrown(promise.value)
        return promise.value

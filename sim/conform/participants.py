"""Who runs lists: the driver, and each incarnation of an object.

A participant has the jobs of its code and a way to wait for durasim: `watch` makes a promise of an
awaitable. The awaitable is awaited in a task of its own; when it is over, that task settles the
promise and runs the jobs, which is the turn that durasim's gates see.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import trio

from ...actors import DurableObject, Objects
from .faults import as_raised
from .promises import Jobs, Promise, Thrown
from .record import Run
from .values import Value

__all__ = ["Driver", "ObjectCode", "Participant"]


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
        self, awaitable: Awaitable[Any], translate: Callable[[Exception], Value | None]
    ) -> Promise:
        """A promise of *awaitable*'s outcome; *translate* makes what is thrown of its errors."""
        ...


class Code:
    """What driver and objects have in common: jobs, memory, and promises of what durasim does."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.jobs = Jobs()
        self.mem: dict[str, Value] = {}
        self.gates: dict[str, Promise] = {}

    async def settle(
        self,
        promise: Promise,
        awaitable: Awaitable[Any],
        translate: Callable[[Exception], Value | None],
    ) -> None:
        """Await *awaitable*, settle *promise* as it ended, and run what that leads to."""
        try:
            value = await awaitable
        except Exception as error:
            thrown = translate(error)
            if thrown is None:
                self.run.failed(f"{type(error).__name__}: {error}")
                return
            promise.reject(thrown)
        else:
            promise.resolve(value)
        self.run_jobs()

    async def outcome(self, promise: Promise) -> Value:
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

    @property
    def objects(self) -> Objects:
        """Stubs, as the object gets them."""
        return self.object.objects

    def now_ms(self) -> int:
        """The object's clock."""
        return int(self.object.now().timestamp() * 1000)

    def sleep(self, ms: float) -> Promise:
        """A timer of the object."""
        return self.watch(self.object.sleep(ms / 1000), lambda _error: None)

    def watch(
        self, awaitable: Awaitable[Any], translate: Callable[[Exception], Value | None]
    ) -> Promise:
        """As `Participant.watch`; the waiting is work of the object."""
        promise = Promise(self.jobs)
        self.object.wait_until(lambda: self.settle(promise, awaitable, translate))
        return promise

    async def finish(self, promise: Promise) -> Value:
        """As `outcome`, for a method of the object: raises what its caller is to see."""
        try:
            return await self.outcome(promise)
        except Thrown as thrown:
            raise as_raised(thrown.value) from None


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
        return self.watch(trio.sleep(ms / 1000), lambda _error: None)

    def watch(
        self, awaitable: Awaitable[Any], translate: Callable[[Exception], Value | None]
    ) -> Promise:
        """As `Participant.watch`; the waiting is a task beside the driver's."""
        promise = Promise(self.jobs)
        self._nursery.start_soon(self.settle, promise, awaitable, translate)
        return promise

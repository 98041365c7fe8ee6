"""Promises and microtasks: how the code of one JavaScript participant takes its turns.

The jobs of ECMAScript, no more: an async function runs at once until its first await; every await,
also of something settled, goes on in a job; jobs run in order until none is left, and that is the
end of the turn. Recordings are compared event by event, so the number of jobs between two steps of
a program counts.
"""

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

__all__ = ["Jobs", "Promise", "Thrown", "async_function"]

Steps = Generator[Any, Any, Any]


class Thrown(Exception):
    """A JavaScript exception on its way; `value` is what was thrown."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Jobs:
    """The microtasks of one participant."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: deque[Callable[[], None]] = deque()

    def add(self, job: Callable[[], None]) -> None:
        """Run *job* later in this turn."""
        self._queue.append(job)

    def run(self) -> None:
        """Run all jobs, also those that they add. If one cannot go on, none does."""
        queue = self._queue
        try:
            while queue:
                queue.popleft()()
        except BaseException:
            queue.clear()
            raise


class Promise:
    """A promise. Settled once; who waits is told in a job."""

    __slots__ = ("_jobs", "_reactions", "_taken", "rejected", "settled", "value")

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._reactions: list[tuple[Callable[[Any], None], Callable[[Any], None]]] = []
        self._taken = False
        self.settled = False
        self.rejected = False
        self.value: Any = None

    @classmethod
    def resolved(cls, jobs: Jobs, value: Any) -> "Promise":
        """``Promise.resolve``: *value* itself if it is a promise, else one that is fulfilled."""
        if isinstance(value, Promise):
            return value
        promise = cls(jobs)
        promise.resolve(value)
        return promise

    def resolve(self, value: Any) -> None:
        """Fulfil with *value*, or follow it if it is a promise."""
        if self._taken:
            return
        self._taken = True
        if isinstance(value, Promise):
            promise = value
            self._jobs.add(
                lambda: promise.then(
                    lambda v: self._settle(v, False), lambda e: self._settle(e, True)
                )
            )
        else:
            self._settle(value, False)

    def reject(self, error: Any) -> None:
        """Reject with *error*."""
        if not self._taken:
            self._taken = True
            self._settle(error, True)

    def then(self, fulfilled: Callable[[Any], None], rejected: Callable[[Any], None]) -> None:
        """Call one of the two in a job, once this is settled."""
        if self.settled:
            reaction = rejected if self.rejected else fulfilled
            self._jobs.add(lambda: reaction(self.value))
        else:
            self._reactions.append((fulfilled, rejected))

    def _settle(self, value: Any, rejected: bool) -> None:
        self.settled, self.rejected, self.value = True, rejected, value
        reactions, self._reactions = self._reactions, []
        for pair in reactions:
            reaction = pair[rejected]
            self._jobs.add(partial(reaction, value))


def async_function(jobs: Jobs, steps: Steps) -> Promise:
    """Run *steps* as an async function: every value that it yields is awaited."""
    result = Promise(jobs)

    def go_on(resume: Callable[[Any], Any], value: Any) -> None:
        try:
            awaited = resume(value)
        except StopIteration as returned:
            result.resolve(returned.value)
        except Thrown as thrown:
            result.reject(thrown.value)
        else:
            Promise.resolved(jobs, awaited).then(
                lambda v: go_on(steps.send, v), lambda e: go_on(steps.throw, Thrown(e))
            )

    go_on(steps.send, None)
    return result

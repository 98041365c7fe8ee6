"""Code that does not go quietly: shapes of waiting that somebody dies in, and what each tries then.

Every shape waits for something that does not come in the life of whoever runs it. The first does
nothing when it dies. All others try every port on their way out, and note who refused them.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from types import TracebackType

import trio

from .dying import Dying

Shape = Callable[[Dying], Awaitable[None]]
SHAPES: dict[str, Shape] = {}


def shape(story: Shape) -> Shape:
    """Keep *story* by its name."""
    SHAPES[story.__name__] = story
    return story


@shape
async def quiet(dying: Dying) -> None:
    """Wait, and do nothing else."""
    await trio.sleep(dying.long_s)


@shape
async def in_finally(dying: Dying) -> None:
    """Clean up without waiting."""
    try:
        await trio.sleep(dying.long_s)
    finally:
        dying.effects()


@shape
async def in_except(dying: Dying) -> None:
    """Handle the end as if it were an error."""
    try:
        await trio.sleep(dying.long_s)
    except BaseException:
        dying.effects()
        raise


@shape
async def after_swallowing_once(dying: Dying) -> None:
    """Swallow the end and return as if nothing were."""
    try:
        await trio.sleep(dying.long_s)
    except BaseException:
        dying.effects()


@shape
async def waiting_in_finally(dying: Dying) -> None:
    """Clean up, and wait before and after it."""
    try:
        await trio.sleep(dying.long_s)
    finally:
        try:
            await trio.sleep(1)
        finally:
            dying.effects()
            await trio.sleep(1)


@shape
async def shielded_for_a_while(dying: Dying) -> None:
    """Clean up in a shield with a bound, as one should."""
    try:
        await trio.sleep(dying.long_s)
    finally:
        with trio.move_on_after(3, shield=True):
            dying.effects()
            await trio.sleep(2)
            dying.effects()


@shape
async def shielded_for_ever(dying: Dying) -> None:
    """Wait in a shield for what never comes."""
    with trio.CancelScope(shield=True):
        try:
            await trio.Event().wait()
        finally:
            dying.effects()


@shape
async def shielded_in_shield(dying: Dying) -> None:
    """One shield in another, both with deadlines."""
    with trio.move_on_after(dying.long_s, shield=True):
        try:
            await trio.sleep(dying.long_s)
        finally:
            with trio.move_on_after(2, shield=True):
                dying.effects()
                await trio.sleep_forever()


@shape
async def swallowing_everything(dying: Dying) -> None:
    """Go on for ever, whatever comes."""
    tried = 0
    while True:
        try:
            await trio.sleep(dying.long_s)
        except BaseException:
            tried += 1
            if tried < 4:
                dying.effects()


@shape
async def swallowing_in_shields(dying: Dying) -> None:
    """Go on for ever in shields with deadlines."""
    while True:
        try:
            with trio.move_on_after(dying.long_s, shield=True):
                await trio.sleep_forever()
        except BaseException:
            dying.effects()


@shape
async def yielding_for_ever(dying: Dying) -> None:
    """Spin once it is cancelled."""
    try:
        await trio.sleep(dying.long_s)
    finally:
        dying.effects()
        with trio.CancelScope(shield=True):
            while True:
                await trio.lowlevel.checkpoint()


@shape
async def in_children(dying: Dying) -> None:
    """Let children clean up, each in its own way."""

    async def child(shielded: bool) -> None:
        with trio.CancelScope(shield=shielded):
            try:
                await trio.sleep(dying.long_s)
            finally:
                dying.effects()

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(child, number % 2 == 0)
        await trio.sleep(dying.long_s)


@shape
async def parent_that_swallows(dying: Dying) -> None:
    """Swallow everything inside a nursery with a child."""
    tried = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, dying.long_s)
        while True:
            try:
                await trio.sleep(dying.long_s)
            except BaseException:
                tried += 1
                if tried < 3:
                    dying.effects()


@shape
async def children_of_children(dying: Dying) -> None:
    """Start new children on the way out."""

    async def grandchild() -> None:
        try:
            with trio.CancelScope(shield=True):
                await trio.sleep(dying.long_s)
        finally:
            dying.effects()

    async def child(nursery: trio.Nursery) -> None:
        try:
            await trio.sleep(dying.long_s)
        finally:
            nursery.start_soon(grandchild)
            async with trio.open_nursery() as inner:
                inner.start_soon(grandchild)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(child, nursery)


@shape
async def endless_offspring(dying: Dying) -> None:
    """Each child starts the next one when it ends."""

    async def child(nursery: trio.Nursery) -> None:
        try:
            await trio.sleep(dying.long_s)
        finally:
            if not dying.attempts:
                dying.effects()
            nursery.start_soon(child, nursery)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(child, nursery)


@shape
async def child_that_never_starts(dying: Dying) -> None:
    """Wait in `nursery.start` for a child in a shield."""

    async def child(task_status: trio.TaskStatus[None]) -> None:
        del task_status
        with trio.CancelScope(shield=True):
            try:
                await trio.sleep(dying.long_s)
            finally:
                dying.effects()

    async with trio.open_nursery() as nursery:
        await nursery.start(child)


class Closing:
    """A context manager that waits when it is left."""

    def __init__(self, dying: Dying) -> None:
        self._dying = dying

    async def __aenter__(self) -> None:
        self._dying.attempts.clear()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._dying.effects()
        with trio.CancelScope(shield=True):
            await trio.sleep(2)
        self._dying.effects()
        return True


@shape
async def in_aexit(dying: Dying) -> None:
    """Leave a context manager that waits and swallows."""
    async with Closing(dying):
        await trio.sleep(dying.long_s)


@shape
async def in_context_manager(dying: Dying) -> None:
    """Leave a context manager that is a generator."""

    @asynccontextmanager
    async def closing() -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            try:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1)
            finally:
                dying.effects()

    async with closing():
        await trio.sleep(dying.long_s)


async def numbers(dying: Dying) -> AsyncGenerator[int, None]:
    """Give numbers, and clean up when nobody wants more."""
    try:
        while True:
            yield 1
    finally:
        dying.effects()
        await trio.sleep(1)


@shape
async def in_generator(dying: Dying) -> None:
    """Drop an async generator half-way."""
    async for _ in numbers(dying):
        await trio.sleep(dying.long_s)


@shape
async def in_closed_generator(dying: Dying) -> None:
    """Close an async generator on the way out."""
    async with aclosing(numbers(dying)) as given:
        async for _ in given:
            await trio.sleep(dying.long_s)


@shape
async def in_garbage(dying: Dying) -> None:
    """Leave an object in a cycle, which acts when it is collected."""

    class Loud:
        def __init__(self) -> None:
            self.myself = self

        def __del__(self) -> None:
            dying.effects()

    loud = Loud()
    await trio.sleep(dying.long_s)
    del loud


@shape
async def with_lock_and_channel(dying: Dying) -> None:
    """Hold a lock, wait for a channel, and use both on the way out."""
    lock = trio.Lock()
    sender, receiver = trio.open_memory_channel[int](0)

    async def other() -> None:
        try:
            async with lock:
                await trio.sleep(dying.long_s)
        finally:
            dying.effects()
            sender.close()

    async with trio.open_nursery() as nursery, lock:
        nursery.start_soon(other)
        try:
            await receiver.receive()
        finally:
            dying.effects()


@shape
async def raising_otherwise(dying: Dying) -> None:
    """Turn the end into an error of its own."""
    try:
        await trio.sleep(dying.long_s)
    finally:
        dying.effects()
        raise ValueError("something else")


@shape
async def in_own_wait(dying: Dying) -> None:
    """Wait for ports, not for trio, in a loop that swallows."""
    waiting = dying.actor.sleep(dying.long_s)
    tried = 0
    while True:
        try:
            await waiting
        except BaseException:
            tried += 1
            if tried < 3:
                dying.effects()

"""Tasks that are ended by force leave trio as if they had ended by themselves."""

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from trio.lowlevel import Task, checkpoint

from durasim.sim.trio_order import runner
from durasim.sim.trio_tasks import abandon, age, children, interrupt, is_scheduled, steps
from durasim.wire import IncarnationGone

Work = Callable[[], Awaitable[None]]


async def started(nursery: trio.Nursery, work: Work) -> Task:
    """Start *work* and return its task when it waits."""
    before = nursery.child_tasks
    nursery.start_soon(work)
    await trio.testing.wait_all_tasks_blocked()
    (task,) = nursery.child_tasks - before
    return task


async def test_an_interrupted_task_is_gone(autojump_clock: trio.testing.MockClock) -> None:
    """Its error is dropped, its waiting is taken back, and its deadline is forgotten."""
    event = trio.Event()
    seen: list[str] = []

    async def work() -> None:
        with trio.move_on_after(1000, shield=True):
            try:
                await event.wait()
            except BaseException as error:
                seen.append(type(error).__name__)
                raise

    began = autojump_clock.current_time()
    async with trio.open_nursery() as nursery:
        task = await started(nursery, work)
        assert event.statistics().tasks_waiting == 1

        assert interrupt(task)
        assert event.statistics().tasks_waiting == 0
        assert nursery.child_tasks == frozenset()
    assert seen == ["IncarnationGone"]
    assert autojump_clock.current_time() == began
    assert trio.lowlevel.current_task() in runner().tasks


async def test_a_task_that_goes_on_is_a_task_like_any_other() -> None:
    """Whatever it waits for next wakes it, and then it may end by itself."""
    event = trio.Event()
    seen: list[str] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            seen.append("yielded")
            await event.wait()
            seen.append("woken")

    with pytest.RaisesGroup(IncarnationGone):
        async with trio.open_nursery() as nursery:
            task = await started(nursery, work)
            assert not interrupt(task)
            assert is_scheduled(task)
            await trio.testing.wait_all_tasks_blocked()
            assert seen == ["yielded"]
            assert not is_scheduled(task)
            event.set()
    assert seen == ["yielded", "woken"]


async def test_inner_coroutines_may_wait_in_a_finally() -> None:
    """Each is told where it waits; nothing is closed over their heads."""
    seen: list[str] = []

    async def inner() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await checkpoint()
            seen.append("inner")

    async def work() -> None:
        try:
            await inner()
        finally:
            seen.append("outer")

    with pytest.RaisesGroup(IncarnationGone):
        async with trio.open_nursery() as nursery:
            assert not interrupt(await started(nursery, work))
    assert seen == ["inner", "outer"]


async def test_a_task_that_has_not_begun_never_begins() -> None:
    """Its coroutine ends without a warning that nobody awaited it."""
    seen: list[str] = []

    async def work() -> None:
        seen.append("began")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        (task,) = nursery.child_tasks
        assert is_scheduled(task)
        runner().runq.remove(task)
        assert interrupt(task)
    assert seen == []


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
async def test_what_ends_the_process_comes_out(ending: type[BaseException]) -> None:
    """The task is gone all the same."""

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ending

    async with trio.open_nursery() as nursery:
        task = await started(nursery, work)
        with pytest.raises(ending):
            interrupt(task)
        assert nursery.child_tasks == frozenset()


async def test_an_abandoned_task_moves_no_time(autojump_clock: trio.testing.MockClock) -> None:
    """Its scopes, nurseries and deadlines count no more, and its parent ends."""

    async def work() -> None:
        async with trio.open_nursery():
            while True:
                try:
                    with trio.move_on_after(1000, shield=True):
                        await trio.sleep_forever()
                except BaseException:
                    continue

    began = autojump_clock.current_time()
    async with trio.open_nursery() as nursery:
        task = await started(nursery, work)
        for _ in range(3):
            assert not interrupt(task)
        abandon(task)
        assert nursery.child_tasks == frozenset()
        await trio.sleep(1)
    assert autojump_clock.current_time() == began + 1
    assert task not in runner().tasks


async def test_children_are_told_in_the_order_of_their_age() -> None:
    """Those of all nurseries that the task has open."""

    async def work() -> None:
        async with trio.open_nursery() as outer:
            outer.start_soon(trio.sleep_forever)
            async with trio.open_nursery() as inner:
                inner.start_soon(trio.sleep_forever)
                outer.start_soon(trio.sleep_forever)

    async with trio.open_nursery() as nursery:
        task = await started(nursery, work)
        found = children(task)

        assert len(found) == 3
        assert found == sorted(found, key=age)
        assert steps(task) >= 1
        nursery.cancel_scope.cancel()

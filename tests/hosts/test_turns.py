"""When a turn ends, by trio's own account."""

import trio
import trio.testing

from durasim.actors import INCARNATION, Incarnation
from durasim.hosts import StepTurns


class Recorder:
    """Stands for an incarnation: notes its turns, and raises if told."""

    def __init__(self, log: list[str], name: str, error: BaseException | None = None) -> None:
        self.log = log
        self.name = name
        self.error = error

    def end_turn(self) -> None:
        """Note it."""
        self.log.append(f"{self.name} ends")
        if self.error is not None:
            raise self.error

    def as_incarnation(self) -> Incarnation:
        """What the port expects."""
        return self  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


async def steps(log: list[str], recorder: Recorder, turns: StepTurns, asks: list[bool]) -> None:
    """Take a step for each of *asks*, and ask for the end of the turn in those that are true."""
    INCARNATION.set(recorder.as_incarnation())
    for number, ask in enumerate(asks):
        if ask:
            turns.at_end(recorder.as_incarnation())
            turns.at_end(recorder.as_incarnation())
        log.append(f"{recorder.name} {number}")
        await trio.lowlevel.checkpoint()


async def test_a_turn_ends_after_the_step_that_asked(nursery: trio.Nursery) -> None:
    """Once, whatever is asked how often, and only then; other tasks end no turn of it."""
    log: list[str] = []
    crashes: list[BaseException] = []
    turns = StepTurns(crashes.append)
    trio.lowlevel.add_instrument(turns)
    a = Recorder(log, "a")
    nursery.start_soon(steps, log, a, turns, [True, False, True])
    await trio.testing.wait_all_tasks_blocked()
    trio.lowlevel.remove_instrument(turns)

    assert log == ["a 0", "a ends", "a 1", "a 2", "a ends"]
    assert crashes == []


async def test_the_last_step_of_a_task_ends_a_turn_as_well(nursery: trio.Nursery) -> None:
    """A task that ends without waiting has taken one step."""
    log: list[str] = []
    turns = StepTurns(lambda _: None)
    trio.lowlevel.add_instrument(turns)
    a = Recorder(log, "a")

    async def one_step() -> None:
        INCARNATION.set(a.as_incarnation())
        turns.at_end(a.as_incarnation())
        log.append("a 0")

    nursery.start_soon(one_step)
    await trio.testing.wait_all_tasks_blocked()
    trio.lowlevel.remove_instrument(turns)

    assert log == ["a 0", "a ends"]


async def test_asked_from_outside_the_next_step_is_meant(nursery: trio.Nursery) -> None:
    """Of a task of that incarnation: its children count, those of others do not."""
    log: list[str] = []
    turns = StepTurns(lambda _: None)
    trio.lowlevel.add_instrument(turns)
    a, b = Recorder(log, "a"), Recorder(log, "b")
    turns.at_end(a.as_incarnation())

    async def parent() -> None:
        INCARNATION.set(a.as_incarnation())
        async with trio.open_nursery() as inner:
            turns.at_end(a.as_incarnation())
            inner.start_soon(child)

    async def child() -> None:
        turns.at_end(a.as_incarnation())
        log.append("child")

    nursery.start_soon(steps, log, b, turns, [False, False])
    await trio.testing.wait_all_tasks_blocked()
    assert log == ["b 0", "b 1"]
    nursery.start_soon(parent)
    await trio.testing.wait_all_tasks_blocked()
    trio.lowlevel.remove_instrument(turns)

    assert log == ["b 0", "b 1", "a ends", "child", "a ends"]


async def test_an_error_does_not_vanish_with_the_instrument(nursery: trio.Nursery) -> None:
    """It is handed on, and later turns still end."""
    log: list[str] = []
    crashes: list[BaseException] = []
    turns = StepTurns(crashes.append)
    trio.lowlevel.add_instrument(turns)
    bug = KeyboardInterrupt("a bug")
    a = Recorder(log, "a", bug)
    nursery.start_soon(steps, log, a, turns, [True, True])
    await trio.testing.wait_all_tasks_blocked()
    trio.lowlevel.remove_instrument(turns)

    assert crashes == [bug, bug]
    assert log == ["a 0", "a ends", "a 1", "a ends"]

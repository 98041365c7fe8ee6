"""Provider poll: one look at the fence in a pass, and a cursor that misses nothing."""

from typing import Any

import pytest

from durasim.actors import Statement
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.poll import Page, Polled, ProviderPoll

from .local import LOCKED, Clock, LocalDatabase, Log, always_locked, move, never


class Feed:
    """A provider with numbered items, some at a time."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[str | None] = []
        self.error: Exception | None = None

    async def poll(self, cursor: str | None) -> Page:
        """Return the next two."""
        self.asked.append(cursor)
        if self.error is not None:
            raise self.error
        begin = int(cursor or 0)
        end = min(begin + 2, self.count)
        return Page(range(begin, end), str(end))


class Sink:
    """Handles items, or fails at one."""

    def __init__(self) -> None:
        self.items: list[tuple[str, Any]] = []
        self.fails_at: Any = None

    async def __call__(self, provider: str, item: Any) -> None:
        """Handle one."""
        if item == self.fails_at:
            raise ValueError("not this one")
        self.items.append((provider, item))


@pytest.fixture
def feed() -> Feed:
    """Return a provider with three items."""
    return Feed(3)


@pytest.fixture
def sink() -> Sink:
    """Return a sink that works."""
    return Sink()


@pytest.fixture
def poll(
    database: LocalDatabase, fence: ExecutionFence, feed: Feed, sink: Sink, clock: Clock, log: Log
) -> ProviderPoll:
    """Return the poll of two providers, of which one has nothing."""
    return ProviderPoll(database, fence, {"b": feed, "a": Feed(0)}, sink, clock, log)


async def test_each_item_comes_once(poll: ProviderPoll, feed: Feed, sink: Sink) -> None:
    """The next pass goes on where the one before has ended."""
    assert await poll.poll() == Polled(providers=2, items=2)
    assert await poll.poll() == Polled(providers=2, items=1)
    assert await poll.poll() == Polled(providers=2)
    assert sink.items == [("b", 0), ("b", 1), ("b", 2)]
    assert feed.asked == [None, "2", "3"]


@pytest.mark.parametrize("state", [FenceState.LOCKED, FenceState.PROOF_ONLY])
async def test_a_shut_fence_asks_nobody(
    poll: ProviderPoll,
    fence: ExecutionFence,
    feed: Feed,
    database: LocalDatabase,
    state: FenceState,
) -> None:
    """A zero tally, one read, nothing written."""
    await move(fence, state, "proof" if state is FenceState.PROOF_ONLY else None)
    before = database.dump()
    database.asked.clear()

    assert await poll.poll() == Polled()
    assert database.asked == ["SELECT flowsafe_execution_fence"]
    assert database.dump() == before
    assert feed.asked == []


async def test_an_unreadable_fence_asks_nobody_and_is_logged(
    poll: ProviderPoll, feed: Feed, database: LocalDatabase, log: Log
) -> None:
    """The next pass looks again."""
    database.failing = always_locked

    assert await poll.poll() == Polled()
    assert log.kinds == ["provider-poll-fence-error"]
    assert feed.asked == []


async def test_a_pass_reads_the_fence_once(poll: ProviderPoll, database: LocalDatabase) -> None:
    """Not for each provider."""
    await poll.poll()

    assert database.asked.count("SELECT flowsafe_execution_fence") == 1


async def test_a_provider_that_fails_leaves_the_others_alone(
    poll: ProviderPoll, feed: Feed, log: Log
) -> None:
    """It is counted and logged."""
    feed.error = ConnectionError("down")

    assert await poll.poll() == Polled(providers=2, failed=1)
    assert log.lines == [("provider-poll-failed", {"provider": "b", "error": "down"})]


async def test_an_item_that_cannot_be_handled_comes_again(poll: ProviderPoll, sink: Sink) -> None:
    """With those before it: the cursor stays where the page began."""
    sink.fails_at = 1
    assert (await poll.poll()).failed == 1
    sink.fails_at = None
    assert (await poll.poll()).items == 2
    assert sink.items == [("b", 0), ("b", 0), ("b", 1)]


async def test_a_cursor_that_could_not_be_moved_is_where_it_was(
    poll: ProviderPoll, sink: Sink, database: LocalDatabase
) -> None:
    """An item may come twice, but none is missed."""
    database.failing = lambda label: LOCKED if "INSERT" in label else None
    assert (await poll.poll()).failed == 2
    database.failing = never
    await poll.poll()
    await poll.poll()
    assert {item for _, item in sink.items} == {0, 1, 2}


async def test_a_pass_that_is_behind_moves_no_cursor_back(
    poll: ProviderPoll, database: LocalDatabase
) -> None:
    """Another pass has gone further meanwhile."""
    await poll.poll()

    def overtake(label: str) -> None:
        del label
        if database.asked[-2:] == ["SELECT flowsafe_poll_cursors"] * 2:
            database.run([Statement("UPDATE flowsafe_poll_cursors SET cursor = '9'")])

    database.after = overtake
    await poll.poll()
    assert database.look("SELECT cursor FROM flowsafe_poll_cursors WHERE provider = 'b'") == [
        ("9",)
    ]

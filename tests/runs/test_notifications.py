"""Notifications: sent when due, by passes that ask the fence once and never raise."""

import pytest

from durasim.actors import Statement
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.notifications import (
    ATTEMPTS_MAX,
    RETRY_MS,
    TAKEN_MS,
    Notification,
    NotificationDispatch,
    Notifications,
    Sent,
)

from .local import LOCKED, START_MS, Clock, LocalDatabase, Log, always_locked, move

THEFT = Statement("UPDATE flowsafe_notifications SET state = 'sending', due_at = due_at + 1000")


class Post:
    """Sends, or fails as told."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.error: Exception | None = None

    async def __call__(self, message: Notification) -> None:
        """Send it."""
        if self.error is not None:
            raise self.error
        self.sent.append(message.id)


@pytest.fixture
def post() -> Post:
    """Return a post that works."""
    return Post()


@pytest.fixture
def messages(database: LocalDatabase, clock: Clock) -> Notifications:
    """Return no messages yet."""
    return Notifications(database, clock)


@pytest.fixture
def dispatch(
    messages: Notifications, post: Post, fence: ExecutionFence, clock: Clock, log: Log
) -> NotificationDispatch:
    """Return the dispatcher."""
    return NotificationDispatch(messages, post, fence, clock, log)


async def test_what_is_due_is_sent_once(
    dispatch: NotificationDispatch, messages: Notifications, post: Post, clock: Clock
) -> None:
    """Neither before its time nor again; added twice it is one message."""
    for _ in range(2):
        await messages.add("a", "ann", {"hello": 1}, START_MS)
    await messages.add("later", "ann", "hello", START_MS + 1)

    assert await dispatch.tick() == Sent(sent=1)
    assert await dispatch.tick() == Sent()
    assert post.sent == ["a"]
    clock.now += 1
    assert await dispatch.tick() == Sent(sent=1)


async def test_a_pass_under_a_lock_does_nothing_and_asks_once(
    dispatch: NotificationDispatch,
    messages: Notifications,
    fence: ExecutionFence,
    database: LocalDatabase,
    log: Log,
) -> None:
    """Before the due read; a fence that cannot be read is logged as well."""
    await messages.add("a", "ann", "hello", START_MS)
    await move(fence, FenceState.LOCKED)
    before = database.dump()
    database.asked.clear()

    assert await dispatch.tick() == Sent()
    assert database.asked == ["SELECT flowsafe_execution_fence"]
    database.failing = always_locked
    assert await dispatch.tick() == Sent()
    assert log.kinds == ["notification-dispatch-fence-error"]
    assert database.dump() == before


async def test_what_could_not_be_sent_is_due_again_but_not_for_ever(
    dispatch: NotificationDispatch, messages: Notifications, post: Post, clock: Clock, log: Log
) -> None:
    """Each try a minute later; the last one that fails is the end."""
    await messages.add("a", "ann", "hello", START_MS)
    post.error = ValueError("no such address")

    for _ in range(ATTEMPTS_MAX - 1):
        assert await dispatch.tick() == Sent(again=1)
        assert await dispatch.tick() == Sent()
        clock.now += RETRY_MS
    assert await dispatch.tick() == Sent(failed=1)
    clock.now += 10 * RETRY_MS
    assert await dispatch.tick() == Sent()
    assert log.kinds == ["notification-not-sent"] * ATTEMPTS_MAX


async def test_what_a_dispatcher_had_taken_when_it_died_is_sent_by_the_next(
    dispatch: NotificationDispatch, messages: Notifications, post: Post, clock: Clock
) -> None:
    """After a while; two that look at once send it once."""
    await messages.add("a", "ann", "hello", START_MS)
    (due,) = await messages.due()
    assert await messages.take(due)
    assert not await messages.take(due)

    assert await dispatch.tick() == Sent()
    clock.now += TAKEN_MS
    assert await dispatch.tick() == Sent(sent=1)
    assert post.sent == ["a"]


@pytest.mark.parametrize("label", ["SELECT", "UPDATE"])
async def test_a_database_that_fails_is_logged(
    dispatch: NotificationDispatch,
    messages: Notifications,
    database: LocalDatabase,
    log: Log,
    label: str,
) -> None:
    """No pass raises."""
    await messages.add("a", "ann", "hello", START_MS)
    database.failing = lambda asked: LOCKED if asked == f"{label} flowsafe_notifications" else None

    assert await dispatch.tick() == Sent()
    assert log.kinds == ["notification-dispatch-unreadable"]


async def test_a_message_taken_by_another_is_left_to_it(
    dispatch: NotificationDispatch, messages: Notifications, database: LocalDatabase, post: Post
) -> None:
    """Between the list and the taking another dispatcher may come."""
    await messages.add("a", "ann", "hello", START_MS)

    def steal(label: str) -> None:
        if label == "SELECT flowsafe_notifications":
            database.run([THEFT])

    database.after = steal
    assert await dispatch.tick() == Sent()
    assert post.sent == []

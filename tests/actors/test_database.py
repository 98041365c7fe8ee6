"""The shared database as an actor sees it: what leaves, when, and what comes back."""

import pytest
import trio
import trio.testing

from durasim.actors import (
    DatabaseFailed,
    IncarnationGone,
    Queried,
    QueryRows,
    SharedDatabase,
    Statement,
)

from .stage import Someone

ROWS = QueryRows(("a",), [(1,)], 0)


class Link:
    """A way to a database that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, tuple[Statement, ...]]] = []
        self.waiting: list[Queried] = []

    def submit(self, caller: str, statements: tuple[Statement, ...], done: Queried) -> None:
        """Keep it."""
        self.sent.append((caller, statements))
        self.waiting.append(done)


async def test_a_query_is_sent_at_the_call_with_its_askers_name() -> None:
    """Awaited or not; its answer is what its one statement gave."""
    link = Link()
    query = SharedDatabase(Someone(), "alice", link).execute("SELECT ?", 1)

    assert link.sent == [("alice", (Statement("SELECT ?", (1,)),))]
    assert not query.done
    link.waiting[0]([ROWS], None)
    assert await query == ROWS


async def test_a_batch_gives_what_each_statement_gave() -> None:
    """Its parameters may be any sequence."""
    link = Link()
    query = SharedDatabase(Someone(), "alice", link).batch([("SELECT ?", [1]), ("SELECT 2", ())])

    assert link.sent == [("alice", (Statement("SELECT ?", (1,)), Statement("SELECT 2")))]
    link.waiting[0]([ROWS, ROWS], None)
    assert await query == [ROWS, ROWS]


async def test_several_may_wait_for_one_answer() -> None:
    """Also for an error: each gets it."""
    link = Link()
    query = SharedDatabase(Someone(), "alice", link).execute("SELECT 1")
    failure = DatabaseFailed("lost", nothing_ran=False)
    caught: list[BaseException] = []

    async def waits() -> None:
        with pytest.raises(DatabaseFailed) as raised:
            await query
        caught.append(raised.value)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits)
        nursery.start_soon(waits)
        await trio.testing.wait_all_tasks_blocked()
        link.waiting[0](None, failure)
    assert caught == [failure, failure]


async def test_a_host_without_a_database_says_so() -> None:
    """Nothing ran."""
    database = SharedDatabase(Someone(), "alice", None)

    with pytest.raises(DatabaseFailed, match="the host has no database; nothing ran") as caught:
        await database.execute("SELECT 1")
    assert caught.value.nothing_ran
    with pytest.raises(DatabaseFailed):
        await database.batch([("SELECT 1", ())])


def test_the_dead_and_the_mistaken_send_nothing() -> None:
    """Nor does a batch of which one part is wrong."""
    link = Link()
    someone = Someone()
    database = SharedDatabase(someone, "alice", link)
    with pytest.raises(TypeError):
        _ = database.execute("SELECT ?", object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than 64 bits"):
        _ = database.batch([("SELECT 1", ()), ("SELECT ?", (2**64,))])
    with pytest.raises(ValueError, match="a batch of no statements"):
        _ = database.batch(())
    someone.alive = False
    with pytest.raises(IncarnationGone):
        _ = database.execute("SELECT 1")

    assert link.sent == []


def test_an_error_says_whether_it_may_be_sent_again() -> None:
    """In its text and as a fact."""
    certain = DatabaseFailed("refused", nothing_ran=True)
    open_question = DatabaseFailed("lost", nothing_ran=False)

    assert (str(certain), certain.nothing_ran) == ("refused; nothing ran", True)
    assert str(open_question) == "lost; nobody can tell whether it ran"

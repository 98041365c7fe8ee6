"""What those who share the database promise each other, in a file and in a world."""

import pytest
import trio

from durasim.actors import DatabaseFailed, DurableObject

from .databases import Desk, Tell, cents, opened


def test_a_batch_is_stored_as_a_whole_or_not_at_all(tell: Tell) -> None:
    """What came before the statement that failed is undone; what comes behind it never runs."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        with pytest.raises(DatabaseFailed) as caught:
            await database.batch(
                [
                    ("UPDATE accounts SET cents = cents + 150 WHERE name = ?", ("b",)),
                    ("UPDATE accounts SET cents = cents - 150 WHERE name = ?", ("a",)),
                    ("DELETE FROM accounts", ()),
                ]
            )
        assert caught.value.nothing_ran
        assert "SQLITE_CONSTRAINT_CHECK" in str(caught.value)
        assert await cents(database) == {"a": 100, "b": 100, "c": 0}

        given = await database.batch(
            [
                ("UPDATE accounts SET cents = cents + 50 WHERE name = ?", ("b",)),
                ("UPDATE accounts SET cents = cents - 50 WHERE name = ?", ["a"]),
                ("SELECT sum(cents) FROM accounts", ()),
            ]
        )
        assert [each.changes for each in given] == [1, 1, 0]
        assert given[2].one() == (200,)

    tell(story)


def test_a_batch_of_nothing_is_refused(tell: Tell) -> None:
    """It would be a transaction about nothing: most likely a mistake."""

    async def story(desk: Desk) -> None:
        with pytest.raises(ValueError, match="nothing was sent"):
            _ = desk.database.batch([])

    tell(story)


def test_a_constraint_is_judged_at_the_end_of_a_batch_if_it_is_deferred(tell: Tell) -> None:
    """Violated then, nothing of the batch is stored, and others are not drawn in."""

    async def story(desk: Desk) -> None:
        database = desk.database
        await database.batch(
            [
                ("CREATE TABLE runs (id TEXT PRIMARY KEY)", ()),
                (
                    "CREATE TABLE steps (run TEXT REFERENCES runs DEFERRABLE INITIALLY DEFERRED)",
                    (),
                ),
            ]
        )
        await database.batch(
            [("INSERT INTO steps VALUES ('r')", ()), ("INSERT INTO runs VALUES ('r')", ())]
        )
        outcomes: dict[str, str] = {}

        async def insert(name: str, sql: str) -> None:
            try:
                await database.execute(sql)
            except DatabaseFailed as error:
                outcomes[name] = "refused" if error.nothing_ran else "in doubt"
            else:
                outcomes[name] = "stored"

        async with trio.open_nursery() as nursery:
            nursery.start_soon(insert, "orphan", "INSERT INTO steps VALUES ('s')")
            nursery.start_soon(insert, "child", "INSERT INTO steps VALUES ('r')")
            nursery.start_soon(insert, "parent", "INSERT INTO runs VALUES ('t')")
        assert outcomes == {"orphan": "refused", "child": "stored", "parent": "stored"}
        assert (await database.execute("SELECT count(*) FROM steps")).one() == (2,)

    tell(story)


def test_a_query_is_sent_when_it_is_made_and_may_be_dropped(tell: Tell) -> None:
    """Dropping or cancelling takes nothing back."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        _ = database.execute("UPDATE accounts SET cents = 1 WHERE name = 'a'")
        with trio.CancelScope() as scope:
            scope.cancel()
            await database.execute("UPDATE accounts SET cents = 2 WHERE name = 'b'")
        assert scope.cancelled_caught
        for _ in range(500):
            if await cents(database) == {"a": 1, "b": 2, "c": 0}:
                break
            await trio.sleep(0.01)
        assert await cents(database) == {"a": 1, "b": 2, "c": 0}

    tell(story)


class Teller(DurableObject):
    """Moves money by batches, and wins what only one can have."""

    async def move(self, source: str, target: str, times: int) -> int:
        """Move one cent *times* times."""
        for _ in range(times):
            given = await self.database.batch(
                [
                    ("UPDATE accounts SET cents = cents - 1 WHERE name = ?", (source,)),
                    ("UPDATE accounts SET cents = cents + 1 WHERE name = ?", (target,)),
                ]
            )
            assert [each.changes for each in given] == [1, 1]
        return times

    async def win(self) -> bool:
        """Take all of a, if nobody else has."""
        given = await self.database.execute(
            "UPDATE accounts SET cents = 0 WHERE name = 'a' AND cents = ?", 100
        )
        await self.storage.put("won", given.changes == 1)
        return given.changes == 1

    async def fail(self) -> str:
        """Ask for what is not there."""
        try:
            await self.database.execute("SELECT * FROM nowhere")
        except DatabaseFailed as error:
            return str(error)
        return "there"


def test_batches_of_several_objects_do_not_mix(tell: Tell) -> None:
    """Whoever looks sees each batch as a whole: the sum is the same at every moment."""

    async def story(desk: Desk) -> None:
        database = await opened(desk)
        over = trio.Event()
        sums: list[object] = []

        async def looks() -> None:
            while not over.is_set():
                sums.append((await database.execute("SELECT sum(cents) FROM accounts")).one()[0])
                await trio.lowlevel.checkpoint()

        async def moves(name: str, source: str, target: str) -> None:
            await desk.get(Teller, name).move(source, target, 40)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(looks)
            async with trio.open_nursery() as tellers:
                tellers.start_soon(moves, "one", "a", "b")
                tellers.start_soon(moves, "two", "b", "c")
            over.set()
        assert set(sums) == {200}
        assert await cents(database) == {"a": 60, "b": 100, "c": 40}

    tell(story)


def test_a_conditional_update_is_won_by_one(tell: Tell) -> None:
    """However many objects try at the same time."""

    async def story(desk: Desk) -> None:
        await opened(desk)
        won: list[bool] = []

        async def tries(name: str) -> None:
            won.append(await desk.get(Teller, name).win())

        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(tries, f"teller-{number}")
        assert sorted(won) == [False] * 4 + [True]

    tell(story)


def test_an_object_can_catch_the_error(tell: Tell) -> None:
    """It goes on as before."""

    async def story(desk: Desk) -> None:
        assert (
            await desk.get(Teller, "t").fail() == "SELECT nowhere failed: SQLITE_ERROR; nothing ran"
        )

    tell(story)

"""SQL data of an object: one commit with its keys, transactions, what is refused."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from durasim.actors import (
    DurableObject,
    IncarnationGone,
    ObjectReset,
    Rows,
    SqlFailed,
    TransactionByStatement,
)
from durasim.sim import Crash, SlowDisk, World

from .stage import tell


class Accounts(DurableObject, sql=True):
    """Keeps rows and keys."""

    async def setup(self) -> None:
        """Two tables, one that refers to the other at the end of a turn."""
        self.storage.sql.exec("CREATE TABLE account(name TEXT PRIMARY KEY, cents INTEGER)")
        self.storage.sql.exec(
            "CREATE TABLE entry(name TEXT REFERENCES account(name) DEFERRABLE INITIALLY DEFERRED)"
        )

    async def add(self, name: str, cents: int) -> int:
        """Add an account; the key is written in the same turn."""
        await self.storage.put("last", name)
        return len(self.storage.sql.exec("INSERT INTO account VALUES (?, ?)", name, cents))

    async def stray(self) -> str:
        """End a turn in which a constraint does not hold."""
        await self.storage.put("last", "stray")
        self.storage.sql.exec("INSERT INTO entry VALUES ('nobody')")
        return "replied"

    async def all(self) -> list[dict[str, object]]:
        """All accounts."""
        return self.storage.sql.exec("SELECT name, cents FROM account ORDER BY name").dicts()

    async def last(self) -> Any:
        """The key."""
        return await self.storage.get("last")

    async def refused(self, statement: str) -> tuple[str, str]:
        """Class and message of what executing *statement* raises."""
        try:
            self.storage.sql.exec(statement)
        except SqlFailed as error:
            return type(error).__name__, str(error)
        return "", ""

    async def abort_after(self, name: str) -> None:
        """Lose what this turn wrote."""
        await self.add(name, 1)
        self.abort("stop")

    async def transfer(self, name: str, how: str) -> str:
        """Write in a transaction that ends in one of several ways."""

        async def work(transaction: Any) -> str:
            await self.add(name, 1)
            await self.sleep(1)
            if how == "raise":
                raise ValueError("on purpose")
            if how == "roll back":
                transaction.rollback()
            return how

        try:
            return await self.storage.transaction(work)
        except ValueError as error:
            return str(error)

    async def transfer_sync(self, name: str, how: str = "commit") -> None:
        """The same without waiting."""

        def work() -> None:
            self.storage.sql.exec("INSERT INTO account VALUES (?, 0)", name)
            if how == "raise":
                raise ValueError("on purpose")
            if how == "abort":
                self.abort("stop")
            if how == "abort and go on":
                with suppress(IncarnationGone):
                    self.abort("stop")

        try:
            self.storage.transaction_sync(work)
        except ValueError:
            return

    async def clear(self) -> None:
        """Delete everything."""
        await self.storage.delete_all()


class Plain(DurableObject):
    """Has no SQL data."""

    async def refused(self) -> str:
        """What it is told."""
        with pytest.raises(SqlFailed) as caught:
            self.storage.sql.exec("SELECT 1")
        return str(caught.value)


def names(rows: list[dict[str, object]]) -> list[object]:
    """The names in *rows*."""
    return [row["name"] for row in rows]


def with_accounts(
    work: Callable[[World], Any], *deviations: tuple[str, str], faults: Any = ()
) -> None:
    """Tell a story in which the tables exist."""

    async def story(world: World) -> None:
        await world.client("a").get(Accounts, "x").setup()
        await work(world)

    tell(story, *deviations, faults=faults)


def test_rows_are_given_by_column_or_as_they_are() -> None:
    """And one of them only if there is exactly one."""
    rows = Rows(("a", "b"), [(1, 2)])

    assert (list(rows), len(rows), rows.dicts(), rows.one()) == (
        [(1, 2)], 1, [{"a": 1, "b": 2}], (1, 2),
    )  # fmt: skip
    with pytest.raises(LookupError, match="exactly one row, there are 0"):
        Rows(("a",), []).one()


def test_rows_and_keys_of_a_turn_are_one_commit() -> None:
    """Both are there for the next incarnation, or neither is."""

    async def work(world: World) -> None:
        client = world.client("a")
        assert await client.get(Accounts, "x").add("ann", 5) == 0
        with pytest.raises(ObjectReset, match="stop"):
            await client.get(Accounts, "x").abort_after("bob")
        again = client.get(Accounts, "x")
        assert await again.all() == [{"name": "ann", "cents": 5}]
        assert await again.last() == "ann"

    with_accounts(work)


def test_a_violated_constraint_resets_the_object_and_stores_nothing() -> None:
    """OG-5: the reply is replaced by the error, the key of the same turn is not stored either."""

    async def work(world: World) -> None:
        client = world.client("a")
        with pytest.raises(ObjectReset, match="FOREIGN KEY constraint failed"):
            await client.get(Accounts, "x").stray()
        again = client.get(Accounts, "x")
        assert await again.last() is None
        assert await again.add("ann", 1) == 0

    with_accounts(work)


@pytest.mark.parametrize(
    ("statement", "cls", "message"),
    [
        ("BEGIN", TransactionByStatement, "use storage.transaction()"),
        ("SAVEPOINT s", TransactionByStatement, "use storage.transaction()"),
        ("COMMIT", TransactionByStatement, "use storage.transaction()"),
        ("ATTACH 'x' AS y", SqlFailed, "not authorized: SQLITE_AUTH"),
        ("SELECT * FROM nowhere", SqlFailed, "no such table: nowhere: SQLITE_ERROR"),
        ("SELECT ?", SqlFailed, "Incorrect number of bindings"),
    ],
)
def test_what_cannot_be_executed_changes_nothing(statement: str, cls: type, message: str) -> None:
    """The error says so, and the object goes on."""

    async def work(world: World) -> None:
        stub = world.client("a").get(Accounts, "x")
        name, text = await stub.refused(statement)
        assert name == cls.__name__
        assert message in text
        assert await stub.all() == []

    with_accounts(work)


@pytest.mark.parametrize(
    ("how", "result", "stored"),
    [
        ("commit", "commit", ["ann"]),
        ("raise", "on purpose", []),
        ("roll back", "roll back", []),
    ],
)
def test_a_transaction_holds_rows_as_well(how: str, result: str, stored: list[str]) -> None:
    """They stand or fall with it, over several turns."""

    async def work(world: World) -> None:
        stub = world.client("a").get(Accounts, "x")
        assert await stub.transfer("ann", how) == result
        assert names(await stub.all()) == stored
        assert await stub.last() == ("ann" if stored else None)

    with_accounts(work)


def test_a_synchronous_transaction_is_part_of_the_turn() -> None:
    """What it kept is committed with the turn, what failed is not."""

    async def work(world: World) -> None:
        client = world.client("a")
        stub = client.get(Accounts, "x")
        await stub.transfer_sync("ann")
        await stub.transfer_sync("bob", "raise")
        with pytest.raises(ObjectReset):
            await stub.abort_after("zoe")
        assert names(await client.get(Accounts, "x").all()) == ["ann"]

    with_accounts(work)


@pytest.mark.parametrize("how", ["abort", "abort and go on"])
def test_an_abort_in_a_synchronous_transaction_stores_nothing(how: str) -> None:
    """TX-7: also if the code swallows it and returns."""

    async def work(world: World) -> None:
        client = world.client("a")
        with pytest.raises(ObjectReset, match="stop"):
            await client.get(Accounts, "x").transfer_sync("ann", how)
        assert await client.get(Accounts, "x").all() == []

    with_accounts(work)


def test_delete_all_drops_the_tables() -> None:
    """KV-8."""

    async def work(world: World) -> None:
        stub = world.client("a").get(Accounts, "x")
        await stub.add("ann", 1)
        await stub.clear()
        assert await stub.last() is None
        assert (await stub.refused("SELECT * FROM account"))[1].startswith("no such table")

    with_accounts(work)


def test_rows_survive_a_crash_after_the_commit_and_not_before() -> None:
    """The image is durable with the keys."""

    async def work(world: World) -> None:
        with pytest.raises(Exception, match="crashed"):
            await world.client("a").get(Accounts, "x").add("ann", 1)
        stub = world.client("b").get(Accounts, "x")
        assert names(await stub.all()) == ([] if await stub.last() is None else ["ann"])

    for option in ("crash before", "crash after"):
        with_accounts(work, ("commit 1 of Accounts/x in add", option), faults=(Crash(Accounts),))


def test_a_class_without_sql_is_told_so() -> None:
    """Nothing is executed."""

    async def story(world: World) -> None:
        told = await world.client("a").get(Plain, "p").refused()
        assert told == "Plain is not declared with sql=True"

    tell(story)


def test_an_object_that_keeps_nothing_has_no_sql_data() -> None:
    """The class itself is refused."""
    with pytest.raises(ValueError, match="has no SQL data"):
        type("Both", (DurableObject,), {}, sql=True, durable=False)


def test_a_slow_disk_keeps_rows_with_their_keys() -> None:
    """What is committed behind a slow commit becomes durable after it."""

    async def work(world: World) -> None:
        stub = world.client("a").get(Accounts, "x")
        slow, fast = stub.add("ann", 1), stub.add("bob", 2)
        await slow
        await fast
        assert names(await stub.all()) == ["ann", "bob"]

    with_accounts(work, ("commit 1 of Accounts/x in add", "1 s"), faults=(SlowDisk(Accounts),))

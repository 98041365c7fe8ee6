"""Storage as an object's code sees it: reads, writes, ranges, transactions, the alarm."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from durasim.actors import (
    AlarmInfo,
    DurableObject,
    ObjectReset,
    Transaction,
    TransactionOver,
)
from durasim.sim import World
from durasim.wire import ABSENT, UnsendableValue

from .stage import tell

Ops = list[tuple[Any, ...]]


class Shelf(DurableObject):
    """Runs what a test sends, by name."""

    async def do(self, operations: Ops) -> list[Any]:
        """Run (name, arguments…) one after the other; a list takes keywords."""
        results: list[Any] = []
        for name, *arguments in operations:
            keywords: dict[str, Any] = arguments.pop() if name == "list" and arguments else {}
            results.append(await getattr(self.storage, name)(*arguments, **keywords))
        return results

    async def sync_forms(self) -> list[Any]:
        """Use the forms without awaitables."""
        kv = self.storage.kv
        kv.put_many({"a": 1, "b": 2, "c": ABSENT})
        kv.put("d", 4)
        return [
            kv.get("a"),
            kv.get("c", "none"),
            kv.get_many(["d", "a", "z"]),
            kv.delete("a"),
            kv.delete("a"),
            kv.delete_many(["b", "b", "z"]),
            kv.list(),
        ]

    async def shared_list(self) -> Any:
        """Change a value after storing it."""
        value = [1]
        await self.storage.put("list", value)
        value.append(2)
        read = await self.storage.get("list")
        read.append(3)
        return await self.storage.get("list")

    async def transact(self, how: str) -> Any:
        """Write in a transaction that ends as *how* says."""
        handle: list[Transaction] = []

        async def work(transaction: Transaction) -> str:
            handle.append(transaction)
            await transaction.put("t", how)
            await self.storage.put("s", how)
            if how == "raise":
                raise ValueError("on purpose")
            if how == "rollback":
                transaction.rollback()
                transaction.rollback()
                with pytest.raises(TransactionOver, match="on rolled back transaction"):
                    transaction.get("t")
            return "value"

        try:
            value = await self.storage.transaction(work)
        except ValueError as error:
            value = str(error)
        for name in ("get", "rollback"):
            if how == "commit":
                with pytest.raises(TransactionOver, match="already committed"):
                    handle[0].get("t") if name == "get" else handle[0].rollback()
        assert not hasattr(handle[0], "transaction")
        return [value, await self.storage.list()]

    async def nested(self) -> dict[str, Any]:
        """Roll an inner transaction back inside one that is kept."""

        async def inner(transaction: Transaction) -> None:
            transaction.put("inner", 1)
            transaction.rollback()

        async def outer(transaction: Transaction) -> None:
            transaction.put("outer", 1)
            await self.storage.transaction(inner)
            with pytest.raises(RuntimeError, match="within a transaction"):
                self.storage.delete_all()

        await self.storage.transaction(outer)
        return await self.storage.list()

    async def synchronous(self, fail: bool) -> Any:
        """Write in a transaction that cannot wait."""

        def work() -> str:
            self.storage.put("k", 1)
            if fail:
                raise ValueError("on purpose")
            return "value"

        try:
            value = self.storage.transaction_sync(work)
        except ValueError as error:
            value = str(error)
        return [value, await self.storage.list()]

    async def durable_after_sync(self) -> None:
        """Write, wait until it is durable, then lose the turn."""
        self.storage.put("kept", 1)
        await self.storage.sync()
        await self.storage.sync()
        self.storage.put("lost", 1)
        self.abort("on purpose")


class Bell(Shelf):
    """As `Shelf`, with an alarm handler."""

    async def alarm(self, info: AlarmInfo) -> None:
        """Note that it rang."""
        await self.storage.put("rang", info.retry_count)

    async def set(self, when: Any) -> Any:
        """Set the alarm and say what is stored then."""
        self.storage.set_alarm(when)
        return await self.storage.get_alarm()

    async def set_naive(self) -> None:
        """Set it to a time without a zone, which no call carries."""
        self.storage.set_alarm(datetime(2030, 1, 1))

    async def set_in(self, seconds: float) -> None:
        """Set the alarm so many seconds from now."""
        self.storage.set_alarm(timedelta(seconds=seconds))

    async def moved(self) -> list[Any]:
        """Set, move, look and delete."""
        at = self.now() + timedelta(hours=1)
        self.storage.set_alarm(at)
        first = await self.storage.get_alarm()
        self.storage.delete_alarm()
        return [first == at, await self.storage.get_alarm()]


def test_values_are_read_as_they_were_written() -> None:
    """A missing key gives the default; deletes say what existed (KV-1)."""

    async def story(world: World) -> None:
        shelf = world.client("a").get(Shelf, "s")
        answers = await shelf.do(
            [
                ("get", "a"),
                ("get", "a", "default"),
                ("put", "a", {"x": (1, 2)}),
                ("get", "a"),
                ("put_many", {"b": 2, "c": 3}),
                ("get_many", ["c", "z", "b"]),
                ("delete", "a"),
                ("delete", "a"),
                ("delete_many", ["b", "b"]),
                ("list",),
            ]
        )
        assert answers == [
            None, "default", None, {"x": (1, 2)}, None, {"b": 2, "c": 3}, True, False, 1, {"c": 3},
        ]  # fmt: skip
        assert world.stored(Shelf, "s") == {"c": 3}

    assert tell(story).ok


def test_the_synchronous_forms_give_values() -> None:
    """The same data, without awaitables."""

    async def story(world: World) -> None:
        answers = await world.client("a").get(Shelf, "s").sync_forms()
        assert answers == [1, "none", {"a": 1, "d": 4}, True, False, 1, {"d": 4}]

    assert tell(story).ok


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["a", "b", "ba", "c"]),
        ({"start": "b"}, ["b", "ba", "c"]),
        ({"start_after": "b"}, ["ba", "c"]),
        ({"end": "c"}, ["a", "b", "ba"]),
        ({"prefix": "b"}, ["b", "ba"]),
        ({"prefix": "b", "start": "ba"}, ["ba"]),
        ({"prefix": "b", "end": "ba"}, ["b"]),
        ({"prefix": "b", "end": "z"}, ["b", "ba"]),
        ({"prefix": ""}, ["a", "b", "ba", "c"]),
        ({"reverse": True, "limit": 2}, ["c", "ba"]),
        ({"limit": 1}, ["a"]),
        ({"start": "c", "end": "a"}, []),
        ({"prefix": "\U0010ffff"}, []),
    ],
)
def test_a_range_is_what_its_options_say(options: dict[str, Any], expected: list[str]) -> None:
    """KV-5, one case each."""

    async def story(world: World) -> None:
        shelf = world.client("a").get(Shelf, "s")
        await shelf.do([("put_many", dict.fromkeys(["c", "ba", "a", "b"], 0))])
        (answer,) = await shelf.do([("list", options)])
        assert list(answer) == expected

    assert tell(story).ok


@given(
    st.text(st.sampled_from("a\ud7ff\ue000\U0010ffff"), max_size=3), st.lists(st.text(max_size=3))
)
def test_a_prefix_lists_exactly_what_begins_with_it(prefix: str, names: list[str]) -> None:
    """Also at the edges of the code points, where the next character does not exist."""
    keys = [prefix + name for name in names if name.isprintable()] + names
    keys = [key for key in keys if not any("\ud800" <= char <= "\udfff" for char in key)]

    async def story(world: World) -> None:
        shelf = world.client("a").get(Shelf, "s")
        await shelf.do([("put_many", dict.fromkeys(keys, 0))])
        (answer,) = await shelf.do([("list", {"prefix": prefix})])
        assert list(answer) == sorted({key for key in keys if key.startswith(prefix)})

    assert tell(story).ok


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("put", "k", bytearray(b"x")), "UnsendableValue"),
        (("put", "k", ABSENT), "TypeError: ABSENT is no value"),
        (("put", "\ud800", 1), "ValueError: the key"),
        (("put", 5, 1), "TypeError: a key is a str, not int"),
        (("put_many", {"fine": 1, "bad": object}), "UnsendableValue"),
        (("get", 5), "TypeError: a key is a str"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(
    call: tuple[Any, ...], said: str
) -> None:
    """One clear error, before anything changes."""

    class Strict(DurableObject):
        async def try_it(self) -> str:
            before = await self.storage.list()
            name, *arguments = call
            try:
                getattr(self.storage, name)(*arguments)
            except (TypeError, ValueError, UnsendableValue) as error:
                assert await self.storage.list() == before
                return f"{type(error).__name__}: {error}"
            return "accepted"

    async def story(world: World) -> None:
        answer = await world.client("a").get(Strict, "s").try_it()
        assert answer.startswith(said)

    assert tell(story).ok


def test_a_list_needs_one_start_and_a_positive_limit() -> None:
    """The platform's own refusals (KV-5)."""

    async def story(world: World) -> None:
        shelf = world.client("a").get(Shelf, "s")
        with pytest.raises(TypeError, match="both start and start_after"):
            await shelf.do([("list", {"start": "a", "start_after": "a"})])
        with pytest.raises(TypeError, match="must be positive"):
            await shelf.do([("list", {"limit": 0})])

    assert tell(story).ok


def test_a_stored_value_is_a_copy() -> None:
    """Changing it later, before or after reading, changes nothing stored (KV-10)."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Shelf, "s").shared_list() == [1]

    assert tell(story).ok


NOTHING: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("commit", ["value", {"t": "commit", "s": "commit"}]),
        ("raise", ["on purpose", NOTHING]),
        ("rollback", ["value", NOTHING]),
    ],
)
def test_a_transaction_stands_or_falls_whole(how: str, expected: list[Any]) -> None:
    """TX-1, TX-2, TX-3: what is written by either name is part of it."""

    async def story(world: World) -> None:
        answer = await world.client("a").get(Shelf, "s").transact(how)
        assert answer[0] == expected[0]
        assert answer[1] == expected[1]
        assert world.stored(Shelf, "s") == expected[1]

    assert tell(story).ok


def test_an_inner_rollback_keeps_what_the_outer_transaction_wrote() -> None:
    """TX-6; and everything cannot be deleted inside of one (KV-8)."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Shelf, "s").nested() == {"outer": 1}

    assert tell(story).ok


@pytest.mark.parametrize(
    ("fail", "expected"), [(False, ["value", {"k": 1}]), (True, ["on purpose", NOTHING])]
)
def test_a_synchronous_transaction_stands_or_falls_whole(fail: bool, expected: list[Any]) -> None:
    """TX-8."""

    async def story(world: World) -> None:
        assert await world.client("a").get(Shelf, "s").synchronous(fail) == expected

    assert tell(story).ok


def test_what_was_synced_survives_an_abort_and_the_rest_of_the_turn_does_not() -> None:
    """OG-3: sync is the barrier."""

    async def story(world: World) -> None:
        with pytest.raises(ObjectReset, match="on purpose"):
            await world.client("a").get(Shelf, "s").durable_after_sync()
        assert world.stored(Shelf, "s") == {"kept": 1}

    assert tell(story).ok


def test_deleting_everything_takes_the_alarm_with_it() -> None:
    """KV-8."""

    async def story(world: World) -> None:
        bell = world.client("a").get(Bell, "b")
        await bell.set_in(5)
        answers = await bell.do([("put", "k", 1), ("delete_all",), ("list",), ("get_alarm",)])
        assert answers == [None, None, {}, None]

    assert "alarm" not in [row.detail[0] for row in tell(story).rows if row.kind == "begin"]


def test_an_alarm_is_a_time_with_a_zone_after_1970() -> None:
    """AL-1; a time that has passed is moved to now (AL-2)."""

    async def story(world: World) -> None:
        bell = world.client("a").get(Bell, "b")
        for bad, kind, said in (
            (datetime(2026, 1, 1), UnsendableValue, "zone"),
            (datetime(1969, 1, 1, tzinfo=UTC), ValueError, "alarm time <= 0"),
            (5, TypeError, "a datetime or a timedelta"),
        ):
            with pytest.raises(kind, match=re.escape(said)):
                await bell.set(bad)
        with pytest.raises(ValueError, match="no time zone"):
            await bell.set_naive()
        past = await bell.set(datetime(2000, 1, 1, tzinfo=UTC))
        assert past == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=world.now_s)
        assert await bell.moved() == [True, None]

    assert tell(story).ok


def test_an_alarm_without_a_handler_is_refused() -> None:
    """AL-3."""

    class Deaf(DurableObject):
        async def set(self) -> None:
            self.storage.set_alarm(timedelta(seconds=1))

    async def story(world: World) -> None:
        with pytest.raises(TypeError, match="must have an alarm"):
            await world.client("a").get(Deaf, "d").set()

    assert tell(story).ok

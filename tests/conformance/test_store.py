"""What every `Store` promises."""

from collections.abc import Mapping
from functools import partial

import pytest
import trio

from durasim.actors import Commit, ObjectStore, Store
from durasim.wire import ABSENT, Absent, Address

from .arms import Arm

CART = Address("Cart", "a")


async def committed(
    held: ObjectStore,
    number: int,
    writes: Mapping[str, bytes | None],
    *,
    alarm: int | None | Absent = ABSENT,
    clears: bool = False,
) -> Exception | None:
    """Commit and wait for the end; returns the error."""
    ended = trio.Event()
    outcome: list[Exception | None] = []

    def done(error: Exception | None) -> None:
        outcome.append(error)
        ended.set()

    held.commit(Commit(number=number, writes=writes, alarm=alarm, clears=clears), done)
    await ended.wait()
    assert len(outcome) == 1
    return outcome[0]


def keys(held: ObjectStore, start: str | None = None, end: str | None = None) -> list[str]:
    """The keys of a scan."""
    return [key for key, _ in held.scan(start, end, reverse=False)]


def test_an_object_is_empty_before_its_first_commit(stores: Arm[Store]) -> None:
    """Opening an object writes nothing."""

    async def body(store: Store) -> None:
        held = store.open(CART)
        assert held.get("x") is None
        assert list(held.scan(None, None, reverse=False)) == []
        assert held.alarm() is None
        assert list(store.alarms()) == []
        held.close()

    stores.run(body)


def test_reads_see_a_commit_at_once(stores: Arm[Store]) -> None:
    """Before and after it is durable, and by whoever opens the object next."""

    async def body(store: Store) -> None:
        held = store.open(CART)
        ended = trio.Event()
        held.commit(Commit(number=1, writes={"x": b"1", "y": b""}, alarm=5), lambda _: ended.set())
        for last in (False, True):
            assert (held.get("x"), held.get("y"), held.alarm()) == (b"1", b"", 5)
            assert list(held.scan(None, None, reverse=True)) == [("y", b""), ("x", b"1")]
            if not last:
                held.close()
                held = store.open(CART)
        await ended.wait()
        assert (held.get("x"), held.get("y"), held.alarm()) == (b"1", b"", 5)
        assert list(store.alarms()) == [(CART, 5)]

    stores.run(body)


def test_a_commit_is_there_after_a_restart(stores: Arm[Store]) -> None:
    """Values, deletions and the alarm."""

    async def write(store: Store) -> None:
        held = store.open(CART)
        assert await committed(held, 1, {"x": b"1", "y": b"2"}, alarm=7) is None
        assert await committed(held, 2, {"x": None, "never": None}) is None

    async def read(store: Store) -> None:
        held = store.open(CART)
        assert (held.get("x"), held.get("y"), held.alarm()) == (None, b"2", 7)
        assert list(store.alarms()) == [(CART, 7)]

    stores.run(write)
    stores.run(read)


def test_commits_end_in_the_order_made(stores: Arm[Store]) -> None:
    """Each object's, and `done` is called once for each."""

    async def body(store: Store) -> None:
        first, second = store.open(CART), store.open(Address("Cart", "b"))
        ended: list[tuple[str, int]] = []
        everything = trio.Event()

        def done(name: str, number: int, error: Exception | None) -> None:
            assert error is None
            ended.append((name, number))
            if len(ended) == 40:
                everything.set()

        for number in range(1, 21):
            writes = {"n": b"%d" % number}
            first.commit(Commit(number=number, writes=writes), partial(done, "a", number))
            second.commit(Commit(number=number, writes=writes), partial(done, "b", number))
        await everything.wait()
        assert [number for name, number in ended if name == "a"] == list(range(1, 21))
        assert [number for name, number in ended if name == "b"] == list(range(1, 21))
        assert first.get("n") == second.get("n") == b"20"

    stores.run(body)


def test_keys_are_in_code_point_order(stores: Arm[Store]) -> None:
    """Not in that of UTF-16, nor of any language; NUL, the empty key and all planes included."""
    ordered = [
        "",
        "\0",
        "\0a",
        "A",
        "Z",
        "a",
        "a\0",
        "aa",
        "é",
        "\ud7ff",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
    ]

    async def body(store: Store) -> None:
        held = store.open(CART)
        shuffled = {key: key.encode() for key in sorted(ordered, key=lambda key: key[::-1])}
        held.commit(Commit(number=1, writes=shuffled), lambda _: None)
        for _ in range(2):
            assert keys(held) == ordered == sorted(ordered)
            assert [key for key, _ in held.scan(None, None, reverse=True)] == ordered[::-1]
            assert keys(held, "a", "é") == ["a", "a\0", "aa"]
            assert keys(held, "b", None) == ordered[ordered.index("é") :]
            assert keys(held, None, "\0a") == ["", "\0"]
            assert keys(held, "a", "a") == []
            assert await committed(held, 2, {}, alarm=None) is None

    stores.run(body)


def test_a_scan_merges_what_is_durable_and_what_is_not(stores: Arm[Store]) -> None:
    """New, replaced and deleted keys, in both directions, over more than a page of entries."""

    async def body(store: Store) -> None:
        held = store.open(CART)
        whole = {f"{number:04}": b"old" for number in range(0, 1200, 2)}
        assert await committed(held, 1, whole) is None
        fresh: dict[str, bytes | None] = {f"{number:04}": b"new" for number in range(1, 1200, 6)}
        fresh |= {f"{number:04}": b"newer" for number in range(0, 1200, 8)}
        fresh |= {f"{number:04}": None for number in range(0, 1200, 10)}
        ended = trio.Event()
        held.commit(Commit(number=2, writes=fresh), lambda _: ended.set())
        expected = sorted(
            (key, value) for key, value in (whole | fresh).items() if value is not None
        )
        assert list(held.scan(None, None, reverse=False)) == expected
        assert list(held.scan(None, None, reverse=True)) == expected[::-1]
        inside = [entry for entry in expected if "0100" <= entry[0] < "0900"]
        assert list(held.scan("0100", "0900", reverse=False)) == inside
        await ended.wait()
        assert list(held.scan("0100", "0900", reverse=True)) == inside[::-1]

    stores.run(body)


def test_a_clearing_commit_leaves_only_its_own_writes(stores: Arm[Store]) -> None:
    """Keys and alarm of before are gone, at once and after a restart; other objects keep theirs."""
    other = Address("Cart", "a2")

    async def body(store: Store) -> None:
        held, beside = store.open(CART), store.open(other)
        assert await committed(beside, 1, {"x": b"kept"}, alarm=3) is None
        assert await committed(held, 1, {"x": b"1", "y": b"2"}, alarm=7) is None
        ended = trio.Event()
        held.commit(Commit(number=2, writes={"y": b"3"}, clears=True), lambda _: ended.set())
        assert (held.get("x"), held.get("y"), held.alarm()) == (None, b"3", None)
        assert keys(held) == ["y"]
        held.commit(Commit(number=3, writes={"z": b"4"}), lambda _: None)
        assert keys(held) == ["y", "z"]
        await ended.wait()

    async def read(store: Store) -> None:
        held = store.open(CART)
        assert (keys(held), held.get("y"), held.alarm()) == (["y", "z"], b"3", None)
        assert store.open(other).get("x") == b"kept"
        assert list(store.alarms()) == [(other, 3)]

    stores.run(body)
    stores.run(read)


def test_a_clearing_commit_may_set_an_alarm(stores: Arm[Store]) -> None:
    """The writes of the commit itself come after the clearing."""

    async def body(store: Store) -> None:
        held = store.open(CART)
        assert await committed(held, 1, {"x": b"1"}, alarm=7) is None
        assert await committed(held, 2, {}, alarm=9, clears=True) is None
        assert (held.get("x"), held.alarm()) == (None, 9)

    stores.run(body)
    stores.run(partial(expect_alarm, 9))


async def expect_alarm(time: int, store: Store) -> None:
    """The alarm of CART is *time*."""
    assert list(store.alarms()) == [(CART, time)]


def test_objects_are_apart(stores: Arm[Store]) -> None:
    """By class and by name, also where one name begins with another or looks like a path."""
    addresses = [
        Address("A", "b/c"), Address("A/b", "c"), Address("A", "b"), Address("A", ""),
        Address("A", "é"), Address("A", "e\u0301"), Address("a", "b"),
    ]  # fmt: skip

    async def body(store: Store) -> None:
        for place, address in enumerate(addresses):
            assert (
                await committed(store.open(address), 1, {"k": b"%d" % place}, alarm=place) is None
            )
        for place, address in enumerate(addresses):
            assert list(store.open(address).scan(None, None, reverse=False)) == [
                ("k", b"%d" % place)
            ]

    async def read(store: Store) -> None:
        found = list(store.alarms())
        assert found == sorted((address, place) for place, address in enumerate(addresses))

    stores.run(body)
    stores.run(read)


def test_alarms_include_those_not_yet_durable(stores: Arm[Store]) -> None:
    """Set, moved and removed ones."""
    a, b, c = (Address("Cart", name) for name in "abc")

    async def body(store: Store) -> None:
        held = [store.open(address) for address in (a, b, c)]
        assert await committed(held[0], 1, {}, alarm=1) is None
        assert await committed(held[1], 1, {}, alarm=2) is None
        ended = trio.Event()
        held[0].commit(Commit(number=2, writes={}, alarm=None), lambda _: None)
        held[1].commit(Commit(number=2, writes={}, alarm=22), lambda _: None)
        held[2].commit(Commit(number=1, writes={}, alarm=3), lambda _: ended.set())
        assert list(store.alarms()) == [(b, 22), (c, 3)]
        await ended.wait()
        assert list(store.alarms()) == [(b, 22), (c, 3)]

    stores.run(body)


def test_commits_of_a_closed_object_still_end(stores: Arm[Store]) -> None:
    """An incarnation may go while its last commit is under way; the next one reads it."""

    async def body(store: Store) -> None:
        held = store.open(CART)
        ended = trio.Event()
        errors: list[Exception | None] = []

        def done(error: Exception | None) -> None:
            errors.append(error)
            ended.set()

        held.commit(Commit(number=1, writes={"x": b"1"}), done)
        held.close()
        assert store.open(CART).get("x") == b"1"
        await ended.wait()
        assert errors == [None]
        assert store.open(CART).get("x") == b"1"

    stores.run(body)


@pytest.mark.parametrize("size", [0, 1, 4096, 2_000_000])
def test_values_are_kept_whole(stores: Arm[Store], size: int) -> None:
    """Of any size that the platform allows, and all byte values."""
    value = (bytes(range(256)) * (size // 256 + 1))[:size]

    async def write(store: Store) -> None:
        assert await committed(store.open(CART), 1, {"x": value}) is None

    async def read(store: Store) -> None:
        assert store.open(CART).get("x") == value

    stores.run(write)
    stores.run(read)

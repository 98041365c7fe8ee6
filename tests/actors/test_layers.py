"""Layers: what a reader sees of a turn, of open transactions and of the store below."""

from hypothesis import given, strategies as st

from durasim.actors import Commit, StorageFailed
from durasim.actors.fleeting import FleetingStore
from durasim.actors.layers import Layers
from durasim.wire import ABSENT, Address


def stored(**keys: bytes) -> FleetingStore:
    """Return a store that holds *keys*."""
    store = FleetingStore()
    store.commit(Commit(1, keys), lambda _error: None)
    return store


def seen(layers: Layers, *, reverse: bool = False) -> list[tuple[str, bytes]]:
    """Return everything that a reader sees."""
    return list(layers.scan(None, None, reverse=reverse))


def test_a_write_hides_what_is_stored() -> None:
    """Reads look at the turn first: new values, deletions and all."""
    layers = Layers(stored(a=b"1", b=b"2"))
    layers.top.writes.update({"a": None, "c": b"3"})

    assert [layers.get(key) for key in "abc"] == [None, b"2", b"3"]
    assert seen(layers) == [("b", b"2"), ("c", b"3")]
    assert seen(layers, reverse=True) == [("c", b"3"), ("b", b"2")]


def test_a_transaction_is_seen_until_it_is_dropped() -> None:
    """Its layer lies on top; dropping it shows what was below."""
    layers = Layers(stored(a=b"1"))
    layers.turn.writes["b"] = b"turn"
    layer = layers.push()
    layers.top.writes.update({"a": b"txn", "b": None})
    assert (layers.get("a"), layers.get("b"), layers.get("c")) == (b"txn", None, None)
    layers.pop(layer, keep=False)

    assert (layers.get("a"), layers.get("b")) == (b"1", b"turn")
    assert layers.depth == 0


def test_a_kept_transaction_becomes_part_of_what_is_below() -> None:
    """Writes and alarm go down together."""
    layers = Layers(stored())
    layer = layers.push()
    layers.top.writes["a"] = b"1"
    layers.top.alarm = 7
    layers.pop(layer, keep=True)
    commit = layers.seal(1)

    assert commit == Commit(1, {"a": b"1"}, 7, clears=False)


def test_transactions_may_end_in_any_order() -> None:
    """A layer is dropped by itself, whatever lies above it."""
    layers = Layers(stored())
    low, high = layers.push(), layers.push()
    low.writes["a"] = b"low"
    high.writes["b"] = b"high"
    layers.pop(low, keep=True)
    layers.pop(high, keep=True)

    assert layers.seal(1) == Commit(1, {"a": b"low", "b": b"high"}, ABSENT, clears=False)


def test_clearing_hides_everything_and_writes_come_after_it() -> None:
    """One commit holds both."""
    layers = Layers(stored(a=b"1"))
    layers.turn.writes["x"] = b"gone"
    layers.clear()
    layers.turn.writes["b"] = b"2"

    assert layers.get("a") is None
    assert seen(layers) == [("b", b"2")]
    assert layers.alarm() is None
    assert layers.seal(1) == Commit(1, {"b": b"2"}, None, clears=True)


def test_the_alarm_of_the_topmost_layer_counts() -> None:
    """Without one, the stored alarm; while its handler runs, none (AL-5)."""
    store = FleetingStore()
    store.commit(Commit(1, {}, 5), lambda _error: None)
    layers = Layers(store)
    assert layers.alarm() == 5
    layers.alarm_hidden = True
    assert layers.alarm() is None
    layers.turn.alarm = 9
    assert layers.alarm() == 9
    layers.seal(2)

    assert layers.alarm_hidden is False


KEYS = st.sampled_from("abcd")


@given(
    st.dictionaries(KEYS, st.binary(max_size=2)),
    st.dictionaries(KEYS, st.none() | st.binary(max_size=2)),
    st.dictionaries(KEYS, st.none() | st.binary(max_size=2)),
    st.none() | KEYS,
    st.none() | KEYS,
    st.booleans(),
)
def test_a_scan_shows_what_a_plain_dictionary_would(
    below: dict[str, bytes],
    turn: dict[str, bytes | None],
    transaction: dict[str, bytes | None],
    start: str | None,
    end: str | None,
    reverse: bool,
) -> None:
    """Any store, any turn, any transaction, any range, both directions."""
    layers = Layers(stored(**below))
    layers.turn.writes.update(turn)
    layers.push().writes.update(transaction)
    model = {**below, **turn, **transaction}
    expected = [
        (key, value)
        for key, value in sorted(model.items(), reverse=reverse)
        if value is not None and (start is None or key >= start) and (end is None or key < end)
    ]

    assert list(layers.scan(start, end, reverse=reverse)) == expected
    assert {key: layers.get(key) for key in "abcd"} == {key: model.get(key) for key in "abcd"}


def test_an_alarm_is_kept_if_the_store_has_it_and_can_say_so() -> None:
    """A store that cannot be read says nothing."""

    class Damaged(FleetingStore):
        def alarm(self) -> int | None:
            raise StorageFailed(Address("Bell", "b"), "the stored alarm is damaged")

    store = FleetingStore()
    store.commit(Commit(1, {}, 7), lambda _error: None)

    assert Layers(store).keeps(7)
    assert not Layers(store).keeps(8)
    assert not Layers(Damaged()).keeps(7)

"""What is under way, laid over what is stored."""

from hypothesis import given, strategies as st

from durasim.actors import Commit
from durasim.hosts.overlay import Overlay, merged
from durasim.wire import ABSENT, Absent, Address

CART = Address("Cart", "a")
KEYS = st.sampled_from("abcdef")
WRITES = st.dictionaries(KEYS, st.none() | st.binary(max_size=2), max_size=4)
COMMITS = st.lists(
    st.builds(
        Commit,
        number=st.just(1),
        writes=WRITES,
        alarm=st.none() | st.integers(1, 9) | st.just(ABSENT),
        clears=st.booleans(),
    ),
    max_size=6,
)


def applied(stored: dict[str, bytes], alarm: int | None, commit: Commit) -> int | None:
    """Do to *stored* what *commit* says, plainly; returns the alarm."""
    if commit.clears:
        stored.clear()
        alarm = None
    for key, value in commit.writes.items():
        if value is None:
            stored.pop(key, None)
        else:
            stored[key] = value
    return alarm if isinstance(commit.alarm, Absent) else commit.alarm


@given(st.dictionaries(KEYS, st.binary(max_size=2), max_size=4), COMMITS, st.data())
def test_a_reader_sees_every_commit_whatever_is_durable(
    stored: dict[str, bytes], commits: list[Commit], data: st.DataObject
) -> None:
    """Any number of commits under way, of which any number have ended, and the file lags or not."""
    overlay = Overlay(CART)
    expected = dict(stored)
    alarm: int | None = 5
    stored_alarm: int | None = 5
    for commit in commits:
        overlay.add(commit)
        alarm = applied(expected, alarm, commit)
    in_file = data.draw(st.integers(0, len(commits)))
    ended = data.draw(st.integers(0, in_file))
    for commit in commits[:in_file]:
        stored_alarm = applied(stored, stored_alarm, commit)
    for serial, commit in enumerate(commits[:ended], 1):
        overlay.settle(commit, serial)

    assert overlay.pending == len(commits) - ended
    for key in "abcdef":
        laid = overlay.get(key)
        assert (stored.get(key) if laid is ABSENT else laid) == expected.get(key)
    seen = overlay.alarm()
    assert (stored_alarm if seen is ABSENT else seen) == alarm
    for reverse in (False, True):
        for start, end in ((None, None), ("b", "e"), ("c", None), (None, "c")):
            entries = [
                (key, value)
                for key, value in sorted(stored.items(), reverse=reverse)
                if (start is None or key >= start) and (end is None or key < end)
            ]
            laid_over = overlay.entries(start, end, reverse=reverse)
            found = merged(iter([] if overlay.hides_file else entries), laid_over, reverse=reverse)
            assert list(found) == [
                (key, value)
                for key, value in sorted(expected.items(), reverse=reverse)
                if (start is None or key >= start) and (end is None or key < end)
            ]


def test_a_failure_drops_all_that_stands_on_it() -> None:
    """Once for all commits of the epoch; those of the next epoch stay."""
    overlay = Overlay(CART)
    commits = [
        Commit(number=1, writes={"a": b"1"}, alarm=3),
        Commit(number=2, writes={"b": b"2"}, clears=True),
    ]
    for commit in commits:
        overlay.add(commit)

    overlay.settle(commits[0], 1)
    overlay.fail(1)

    assert overlay.epoch == 2
    assert (overlay.get("a"), overlay.get("b"), overlay.alarm()) == (ABSENT, ABSENT, ABSENT)
    assert not overlay.hides_file
    later = Commit(number=1, writes={"b": b"3"})
    overlay.add(later)
    overlay.settle(commits[1], 2)
    overlay.fail(1)
    assert (overlay.epoch, overlay.get("b"), overlay.pending) == (2, b"3", 1)

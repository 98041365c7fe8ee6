"""How times, values and names are written."""

import pytest

from durasim.sim.wording import cut, listed, seconds, shown, visible


@pytest.mark.parametrize(
    ("time_us", "text"),
    [(0, "0 s"), (1, "0.000001 s"), (10_000, "0.01 s"), (30_000_000, "30 s"), (1_500_000, "1.5 s")],
)
def test_times_are_exact_seconds(time_us: int, text: str) -> None:
    """No digit is lost, and none is written that says nothing."""
    assert seconds(time_us) == text


def test_nothing_moves_the_cursor() -> None:
    """Line breaks, escapes and marks of direction are written out; other languages are not."""
    assert visible("a\nb\x1b[2Jc\u202ed") == "a\\nb\\x1b[2Jc\\u202ed"
    assert visible("日本 ünï") == "日本 ünï"


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    """What is left is never longer than asked."""
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcdef", 0) == ""


def test_a_value_that_cannot_be_written_is_named() -> None:
    """A broken `__repr__` of a user's class does not break the chart."""

    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert shown(Shy()) == "<Shy>"
    assert shown("a\nb") == r"'a\nb'"
    assert shown(list(range(100)), 10) == "[0, 1, 2,…"


@pytest.mark.parametrize(
    ("words", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ("abc", "a, b and c")]
)
def test_lists_read_as_in_a_sentence(words: list[str], text: str) -> None:
    """Commas, and one `and`."""
    assert listed(words) == text

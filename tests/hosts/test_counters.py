"""What a host counts."""

from durasim.hosts import Counters


def test_requests_are_counted_by_how_they_ended() -> None:
    """With a value, with an error, and work left over that failed; nothing else."""
    counters = Counters()
    for kind, *detail in (
        ("start",),
        ("end", "increment", 1, None),
        ("end", "increment", 2, None),
        ("end", "alarm", 3, ValueError()),
        ("left-over failed", ValueError()),
        ("evict",),
    ):
        counters.event(kind, "Cart/a", 1, *detail)

    assert (counters.done, counters.failed, counters.left_over_failed) == (2, 1, 1)

"""What a host counts."""

from durasim.hosts import Counters


def test_requests_are_counted_as_they_begin_and_raise() -> None:
    """And work left over that failed; nothing else."""
    counters = Counters()
    for kind, *detail in (
        ("start",),
        ("begin", "increment", 1),
        ("begin", "alarm", 2),
        ("raised", "alarm", "ValueError"),
        ("left-over failed", "ValueError"),
        ("evict",),
    ):
        counters.event(kind, "Cart/a", 1, *detail)

    assert (counters.begun, counters.failed, counters.left_over_failed) == (2, 1, 1)

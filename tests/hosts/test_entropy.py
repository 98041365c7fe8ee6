"""The operating system's entropy, beyond what every source promises."""

from durasim.hosts import SystemEntropy


def test_two_sources_are_not_the_same_stream() -> None:
    """Unlike in a world, nothing repeats."""
    assert SystemEntropy().draw("Cart/a", 32) != SystemEntropy().draw("Cart/a", 32)

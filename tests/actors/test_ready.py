"""An awaitable that is already there."""

import pytest

from durasim.actors import Ready


async def test_awaiting_what_is_there_suspends_nothing() -> None:
    """As often as anybody likes; driven by hand, it never yields."""
    ready = Ready([1])
    assert await ready == [1]
    assert await ready is await ready
    with pytest.raises(StopIteration) as stop:
        next(iter(ready.__await__()))
    assert stop.value.value == [1]


def test_it_shows_what_it_holds() -> None:
    """To whoever forgot to await it."""
    assert repr(Ready("x")) == "Ready('x')"

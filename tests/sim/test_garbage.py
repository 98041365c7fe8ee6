"""Garbage is collected between worlds, and Python's own way is put back."""

import gc
import weakref

import pytest

from durasim.sim import garbage
from durasim.sim.garbage import collected_by_hand


class Cycle:
    """Garbage."""

    def __init__(self) -> None:
        self.myself = self


def test_nothing_is_collected_until_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """A little garbage waits; much of it goes at the next call."""
    monkeypatch.setattr(garbage, "GARBAGE_MAX", 5_000)
    with collected_by_hand() as collect:
        assert not gc.isenabled()
        gc.collect()
        there = weakref.ref(Cycle())
        collect()
        assert there() is not None
        for _ in range(5_000):
            Cycle()
        assert there() is not None
        collect()
        assert there() is None
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    """And what somebody has frozen stays frozen."""
    gc.disable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collected_by_hand():
            assert gc.get_freeze_count() == frozen
        assert not gc.isenabled()
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
        gc.enable()
    assert gc.isenabled()


def test_it_is_put_back_after_an_error() -> None:
    """Also when Ctrl-C ends the worlds."""
    with pytest.raises(KeyboardInterrupt), collected_by_hand():
        raise KeyboardInterrupt
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0

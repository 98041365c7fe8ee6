"""The switch of trio: on while worlds run, and refused on a trio that is another."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

import pytest
import trio
import trio.testing
from trio._core import _run

from durasim.sim import trio_order
from durasim.sim.trio_order import RELIED_ON, deterministic_order, run_loop, unsupported


class Reverse:
    """Runs batches backwards."""

    def shuffle(self, batch: list[object]) -> None:
        """Turn it around."""
        batch.reverse()

    def random(self) -> float:
        """Not used."""
        return 0.0


def test_this_trio_has_all_that_is_relied_on() -> None:
    """If this fails, trio has changed: read its run loop again before anything else."""
    assert unsupported() is None


@pytest.mark.parametrize("line", RELIED_ON)
def test_a_trio_without_one_of_the_lines_is_refused(line: str) -> None:
    """Each of them is looked for; the message names it."""
    other = run_loop().replace(line, "pass")
    lack = unsupported(other)

    assert lack is not None
    assert repr(line) in lack or "has no line" in lack
    assert trio.__version__ in lack


def test_lines_in_another_order_are_refused() -> None:
    """A loop that takes tasks before it sorts them is another loop."""
    first, last = RELIED_ON[0], RELIED_ON[-1]
    turned = run_loop().replace(first, "THE LAST").replace(last, first).replace("THE LAST", last)

    assert unsupported(turned) is not None


def test_worlds_do_not_run_on_another_trio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loudly, before anything has run, and nothing is switched."""
    monkeypatch.setattr(trio_order, "run_loop", lambda: "def unrolled_run(): pass")
    before = (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r)

    with (
        pytest.raises(RuntimeError, match="cannot simulate on this trio"),
        deterministic_order(Reverse()),
    ):
        raise AssertionError("it began")
    assert (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r) == before


def test_batches_are_ordered_and_the_switch_is_put_back() -> None:
    """Tasks that wake together come in the order that is decided, then trio is as before."""
    before = (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r)
    order: list[int] = []

    async def child(number: int) -> None:
        order.append(number)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(child, number)

    with deterministic_order(Reverse()):
        trio.run(main, clock=trio.testing.MockClock())
    assert order == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="of the run"), deterministic_order(Reverse()):
        raise ValueError("of the run")
    assert (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r) == before

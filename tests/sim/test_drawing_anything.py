"""Whatever happens in a world can be drawn, as wide as the terminal, and in Mermaid's grammar."""

from datetime import timedelta

import pytest
import trio
from rich.cells import cell_len

from durasim.actors import AlarmInfo, DurableObject
from durasim.sim import World, every_fault, scenario, simulate
from durasim.sim.chart import chart
from durasim.sim.diagram import diagram_of
from durasim.sim.mermaid import mermaid

from .test_mermaid import check_grammar


class Busy(DurableObject):
    """Does a little of everything."""

    async def work(self, times: int) -> int:
        """Store, call another one, ask for an alarm."""
        total: int = await self.storage.get("total", 0) + times
        await self.storage.put("total", total)
        await self.storage.set_alarm(timedelta(seconds=3))
        if times:
            await self.objects.get(Busy, "other").work(times - 1)
        return total

    async def alarm(self, info: AlarmInfo) -> None:
        """Fail once."""
        if not info.is_retry:
            raise ValueError("not yet")


@scenario(faults=every_fault())
async def everything(world: World) -> None:
    """Two versions of the code on two machines, and calls that may fail."""
    world.machine("left", (Busy,), (Busy,))
    world.machine("right", (Busy,), (Busy,))

    async def ask(name: str) -> None:
        for _ in range(3):
            try:
                await world.client(name).get(Busy, name, deadline_s=2).work(2)
            except Exception:
                world.ledger.note("failed", name)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for name in ("a", "b"):
            nursery.start_soon(ask, name)


@pytest.mark.parametrize("strategy", ["swarm", "uniform", "singles"])
def test_any_run_can_be_drawn(strategy: str) -> None:
    """Under every fault there is."""
    said: set[str] = set()
    for seed in range(40):
        report = simulate(everything, seed=seed, strategy=strategy)
        diagram = diagram_of(report.rows, report.deviations, report.failures)
        for width in (40, 80):
            lines = chart(diagram, width=width, steps_max=30)
            assert max(cell_len(line.plain) for line in lines) <= width
        assert len(chart(diagram, steps_max=None)) == 2 + len(diagram.steps)
        check_grammar(mermaid(diagram, steps_max=None))
        times = [step.time_us for step in diagram.steps]
        assert times == sorted(times)
        said |= {step.text.partition(" ")[0] for step in diagram.steps}

    assert {"work(2)", "reply", "total", "alarm"} <= said


@pytest.mark.parametrize(
    ("choice", "option", "words"),
    [
        ("request 2 of Busy/a.work by a", "swapped", "changes over to version 2"),
        ("request 2 of Busy/a.work by a", "clock +60 s", "jumps: clock +60 s"),
        ("request 2 of Busy/a.work by a", "cut 5 s", "is cut for 5 s"),
        ("request 1 of Busy/a.work by a", "corrupt", "[corrupt]"),
        ("reply 1 of Busy/a.work to a", "corrupt", "cannot be read"),
        ("request 1 of Busy/a.work by a", "twice", "[twice]"),
    ],
)
def test_each_fault_has_its_words(choice: str, option: str, words: str) -> None:
    """What struck is in the chart, marked."""
    report = simulate(everything, deviations=[(choice, option)])
    assert report.unused == ()
    diagram = diagram_of(report.rows, report.deviations, report.failures)

    assert any(words in step.text and step.is_marked for step in diagram.steps)

"""Every gate site of spec/run-claims.md 1.10, driven in all four states, twice in proof-only.

Each is driven at its own place, whole: what a refusal looks like there, and that nothing was
written behind it.
"""

import pytest

from durasim.actors.runs import GATES, Owner, Services
from durasim.actors.runs.topology import ObjectBacked
from durasim.sim import World

from .gate_sites import SITES, Site
from .stage import WORKFLOWS, play

CASES = ("open", "draining", "migration-locked", "nominated", "not nominated")
PASSES = {
    "run-start": {"open", "nominated"},
    "existing-run": {"open", "draining", "nominated"},
    "work-authoring": {"open"},
    "drainable": {"open", "draining"},
}
"""The matrix of 1.9."""


def test_every_gate_of_the_table_is_driven() -> None:
    """Both ways: what is in one is in the other."""
    assert SITES.keys() == GATES.keys()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("entry", SITES)
def test_a_gate_site_lets_through_what_the_matrix_says(entry: str, case: str) -> None:
    """And where it does not, nothing at all was written or done."""

    async def story(world: World) -> None:
        site = Site(world, case)
        await site.stage.open()
        passed = await SITES[entry](site)
        assert passed == (case in PASSES[GATES[entry].predicate])
        assert passed or site.is_untouched

    play(story)


UNGATED: tuple[tuple[str, str], ...] = (
    ("GET", "/runs/ask/run-1"),
    ("GET", "/runs/ask/run-1/dispatch-status"),
    ("GET", "/runs/ask/run-1/start-liveness"),
    ("POST", "/runs/ask/run-1/terminate"),
    ("POST", "/runs/ask/run-1/deadline"),
    ("POST", "/runs/ask/run-1/terminate-replay"),
)


@pytest.mark.parametrize("case", CASES)
def test_what_is_ungated_is_answered_in_every_state(case: str) -> None:
    """Status, probes, ending, ending again; and the replay of a start, which is a read."""

    async def story(world: World) -> None:
        site = Site(world, case)
        await site.stage.open()
        await site.parked()
        _, first = await site.stage.start("k1")
        site.put("another-run")

        async def all_of_them(services: Services) -> list[int]:
            topology = ObjectBacked(services)
            owner = Owner("human", "ann")
            return [
                (await topology.ask(method, "ask", "run-1", path, owner, {})).status
                for method, path in UNGATED
            ]

        assert await site.stage.work(all_of_them) == [200] * len(UNGATED)
        assert await site.stage.start("k1") == (200, first)

    play(story)


def test_workflows_of_the_stage_are_there() -> None:
    """The sites use two of them."""
    assert {"order", "ask"} <= {workflow.id for workflow in WORKFLOWS}

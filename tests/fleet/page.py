"""The page about the fleet: what in it is drawn from the code, and by running it.

    python -m tests.fleet.page

brings tables and charts of docs/fleet.md up to date.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from durasim.actors.fleet import CODES, RUNNER_MACHINE
from durasim.actors.fleet.drain import DRAIN_MACHINE
from durasim.actors.fleet.images import IMAGE_DECISIONS, IMAGE_MACHINE
from durasim.actors.fleet.machines import Machine
from durasim.actors.fleet.owners import CLASSIFICATION
from durasim.actors.fleet.permits import PERMIT_MACHINE
from durasim.actors.fleet.recovery import RECOVERY_MACHINE
from durasim.sim import Job, Ordinary, Row, Scenario, World, run_once, scenario
from durasim.sim.diagram import diagram_of
from durasim.sim.fleet.acting import Run, begun, deploy, ended, recover
from durasim.sim.fleet.levels import set_fleet
from durasim.sim.mermaid import mermaid

from ..tidy import ROOT

__all__ = ["PAGE", "PARTS", "written"]

PAGE = ROOT / "docs" / "fleet.md"
MARKS = re.compile(r"<!-- drawn: ([\w ]+) -->\n.*?<!-- end -->", re.DOTALL)
RUN = Run("run-1", "thread-1")


@scenario()
async def one_deploy(world: World) -> None:
    """One member, one workspace of a run that has ended, one deploy of the Worker."""
    fleet = set_fleet(world, RUN.resource, machines=1)
    await begun(fleet, RUN, work="write")
    await ended(fleet, RUN)
    world.ledger.note("the deploy begins")
    report = await deploy(fleet, fleet.artifact()).report()
    assert report["outcome"] == "ready"


@scenario()
async def one_recovery(world: World) -> None:
    """A request whose stack died is recovered on an operator's word."""
    fleet = set_fleet(world, RUN.resource, machines=1)
    permit = str((await fleet.registry("dead stack").begin_deploy_admission("exec"))["id"])
    await fleet.ask("operator", "POST", "/drain", {"minutes": 90}, scope="drain")
    world.ledger.note("the recovery begins")
    assert (await recover(fleet, permit))["outcome"] == "recovered"


def chart(story: Scenario, since: str) -> str:
    """Return the chart of *story*, from the note *since* on."""
    result = run_once(Job(scenario=story, seed=0, source=Ordinary(), parameters={}))
    assert result.ok, result.failures
    rows = result.rows
    first = next(n for n, row in enumerate(rows) if row.kind == "effect" and row.detail[0] == since)
    last = max(n for n, row in enumerate(rows) if row.kind in ("done", "answer"))
    shown = [row for row in rows[first + 1 : last + 1] if is_shown(row)]
    numbered = tuple(row._replace(number=number) for number, row in enumerate(shown, 1))
    return "```mermaid\n" + mermaid(diagram_of(numbered, ()), steps_max=None) + "```"


def is_shown(row: Row) -> bool:
    """Whether a row is of use to a reader: what a runner notes, its calls show as well."""
    is_noted = row.kind == "effect" and row.detail[0] in ("runner", "deploy")
    return not is_noted and row.kind != "evict"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    heads = list(head)
    lines = [heads, ["---"] * len(heads), *map(list, rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def machine(of: Machine[Any]) -> str:
    """Return the table of a state machine, in the order in which its rows are tried."""
    rows = (
        (
            ", ".join(edge.states) if set(edge.states) < set(of.states) else "any",
            edge.event,
            edge.guard.text,
            f"refused: `{edge.code}`" if edge.code else edge.next or "the same",
            edge.effect,
        )
        for edge in of.edges
    )
    return table(("state", "event", "if", "next", "effect"), rows)


def images() -> str:
    """Return the table of a member's image progress."""
    rows = ((move.state, move.event, move.after, move.effect) for move in IMAGE_MACHINE)
    return table(("state", "event", "next", "effect"), rows)


def owners() -> str:
    """Return the table by which a registration is judged; the first row that matches decides."""
    rows = (
        (
            ", ".join(rule.registration),
            rule.fence or "any",
            rule.answer or "any",
            f"**{rule.standing}**",
            rule.why,
        )
        for rule in CLASSIFICATION
    )
    return table(("registration", "accepted attach", "ledger", "counts as", "why"), rows)


def decisions() -> str:
    """Return the table of what a request for an image asks of a member."""
    rows = (
        ("yes" if owed else "no", form, f"`{decision}`")
        for (owed, form), decision in IMAGE_DECISIONS.items()
    )
    return table(("owes a report", "build and target in store", "decision"), rows)


def codes() -> str:
    """Return the table of reason codes."""
    rows = (
        (f"`{row.code}`", str(row.status), "yes" if row.certain else "**no**", row.truth)
        for row in sorted(CODES.values(), key=lambda row: row.code)
    )
    return table(("code", "status", "certain", "what is true after it"), rows)


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "drain and fence": lambda: machine(DRAIN_MACHINE),
    "permit and receipt": lambda: machine(PERMIT_MACHINE),
    "quoted recovery": lambda: machine(RECOVERY_MACHINE),
    "deploy runner": lambda: machine(RUNNER_MACHINE),
    "member image": images,
    "image decision": decisions,
    "owners": owners,
    "reason codes": codes,
    "one deploy": lambda: chart(one_deploy, "the deploy begins"),
    "one recovery": lambda: chart(one_recovery, "the recovery begins"),
}
"""What is drawn, by its name in the page."""


def written(text: str) -> str:
    """Return the page with everything drawn anew."""

    def drawn(found: re.Match[str]) -> str:
        name = found[1]
        return f"<!-- drawn: {name} -->\n\n{PARTS[name]()}\n\n<!-- end -->"

    return MARKS.sub(drawn, text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))

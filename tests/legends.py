"""What the legends in docs/ must say; `python -m tests.legends` writes the table of faults."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import trio

from durasim.actors import DurableObject
from durasim.sim import Job, Recorded, World, run_once, scenario
from durasim.sim.choices import Option
from durasim.sim.faults import KINDS, Fault, Subject, options_at

from .tidy import ROOT

FAULTS = ROOT / "docs" / "faults.md"
MARKS = re.compile(r"<!-- table: (\w+) -->.*?<!-- end of the table -->", re.S)

# What says that something happened, and how many arguments it has at least: `set.add` has one.
SAYERS = {"add": 3, "_add": 3, "event": 3, "close": 1, "_close": 1, "_finish": 2}


def kinds_said(source: str) -> Iterator[str]:
    """Yield the kinds of trace rows that *source* makes."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        least = SAYERS.get(node.func.attr)
        if least is None or len(node.args) < least:
            continue
        kind = node.args[0]
        if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
            yield kind.value


def kinds_in(folder: Path) -> set[str]:
    """Return the kinds of trace rows that the shipped code of *folder* makes."""
    files = [path for layer in ("actors", "hosts", "sim") for path in (folder / layer).glob("*.py")]
    return {kind for path in files for kind in kinds_said(path.read_text())}


def first_cells(text: str, head: str) -> list[str]:
    """Return the words in backticks in the first cell of each row of the tables headed *head*."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        inside = line.startswith("|") and (inside or cells[0] == head)
        if inside and cells[0] != head:
            found += re.findall(r"`([^`]+)`", cells[0])
    return found


def options_of(kind: type[Fault]) -> list[tuple[str, Option]]:
    """Return what *kind* can do, at which kind of site, told of an example."""
    found: list[tuple[str, Option]] = []
    for site in kind.kinds:
        host = site in ("clock", "program")
        subject = Subject(
            kind=site,
            cls=("host" if site == "clock" else "Deploy") if host else "Counter",
            name="" if host else "cart",
            method="increment" if site in ("request", "reply", "commit", "await") else "",
            caller="alice" if site in ("request", "reply") else "",
        )
        found += [(site, option) for option in options_at((kind(),), subject)]
    return found


def table_of_faults() -> str:
    """Return the table of docs/faults.md."""
    rows = ["| fault | does | option | as a sentence |", "|---|---|---|---|"]
    for kind in KINDS:
        does = (kind.__doc__ or "").strip().partition("\n")[0]
        first = f"| `{kind.__name__}` | {does} "
        for _, option in options_of(kind):
            rows.append(f"{first}| `{option.name}` | {option.sentence.format(n=2)} |")
            first = "| | "
    return "\n".join(rows)


class Counter(DurableObject):
    """What the faults strike."""

    async def increment(self) -> int:
        """Count."""
        total = await self.storage.get("total", 0) + 1
        await self.storage.put("total", total)
        return total


PLACES = {
    "request": "Counter/cart.increment by alice",
    "reply": "Counter/cart.increment to alice",
    "commit": "Counter/cart in increment",
    "await": "Counter/cart in increment",
    "read": "Counter/cart",
    "start": "Counter/cart",
}
"""Where a fault can meet a call: the first choice of each kind, by what it touches."""


def met_by(fault: Fault, site: str, option: str) -> tuple[str, int, float]:
    """Return what one call that *fault* strikes comes to: outcome, stored total, seconds."""
    outcomes: list[tuple[str, float]] = []

    @scenario(faults=(fault,))
    async def one_call(world: World) -> None:
        try:
            value = await world.client("alice").get(Counter, "cart").increment()
        except Exception as error:
            outcomes.append((f"`{type(error).__name__}`", world.now_s))
        else:
            outcomes.append((f"granted: {value}", world.now_s))
        await trio.sleep(60)
        totals.append(world.stored(Counter, "cart").get("total", 0))

    totals: list[int] = []
    deviation = (f"{site} 1 of {PLACES[site]}", option)
    result = run_once(Job(scenario=one_call, seed=0, source=Recorded([deviation])))
    assert len(result.deviations) == 1, (fault, deviation)
    return outcomes[0][0], totals[0], outcomes[0][1]


def table_of_outcomes() -> str:
    """Return the table of what a caller gets, of every fault that can meet a call."""
    heads = ("fault", "option", "the caller has", "after", "stored in the end")
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for kind in KINDS:
        first = f"| `{kind.__name__}` "
        for site, option in options_of(kind):
            if site in PLACES:
                outcome, total, after = met_by(kind(), site, option.name)
                rows.append(f"{first}| `{option.name}` | {outcome} | {after:g} s | {total} |")
                first = "| "
    return "\n".join(rows)


TABLES = {"faults": table_of_faults, "outcomes": table_of_outcomes}


def with_tables(text: str) -> str:
    """Return *text* with its tables as they are now."""

    def table(match: re.Match[str]) -> str:
        made = TABLES[match[1]]()
        return f"<!-- table: {match[1]} -->\n\n{made}\n\n<!-- end of the table -->"

    return MARKS.sub(table, text)


def main() -> None:
    """Write the tables."""
    FAULTS.write_text(with_tables(FAULTS.read_text()))


if __name__ == "__main__":
    main()

"""What the legends in docs/ must say; `python -m tests.legends` writes the table of faults."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import trio

from durasim.actors import DatabaseFailed, DurableObject
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


EXAMPLES = {
    "request": Subject("request", "Counter", "cart", "increment", "alice"),
    "reply": Subject("reply", "Counter", "cart", "increment", "alice"),
    "commit": Subject("commit", "Counter", "cart", "increment"),
    "await": Subject("await", "Counter", "cart", "increment"),
    "clock": Subject("clock", "host"),
    "program": Subject("program", "Deploy"),
    "query": Subject("query", "claims", method="UPDATE", caller="Router"),
}
"""What a fault strikes in its sentence, by kind of site; elsewhere it is just an object."""


def options_of(kind: type[Fault]) -> list[tuple[str, Option]]:
    """Return what *kind* can do, at which kind of site, told of an example."""
    return [
        (site, option)
        for site in kind.kinds
        for option in options_at((kind(),), EXAMPLES.get(site) or Subject(site, "Counter", "cart"))
    ]


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


ADD_ONE = "UPDATE counts SET total = total + 1"
"""What tells how often it ran."""


def asked_under(fault: Fault, option: str) -> tuple[str, int, float]:
    """Return what one query that *fault* strikes comes to: outcome, stored total, seconds."""
    outcomes: list[tuple[str, float]] = []
    totals: list[int] = []

    @scenario(faults=(fault,))
    async def one_query(world: World) -> None:
        world.database.prepare(
            "CREATE TABLE counts (total INTEGER)", "INSERT INTO counts VALUES (0)"
        )
        try:
            given = await world.client("alice").database.execute(ADD_ONE)
        except DatabaseFailed as error:
            fact = "nothing ran" if error.nothing_ran else "nobody can tell"
            outcomes.append((f"`DatabaseFailed`, {fact}", world.now_s))
        else:
            outcomes.append((f"{given.changes} row changed", world.now_s))
        await trio.sleep(60)
        totals.append(int(str(world.database.look("SELECT total FROM counts").one()[0])))

    deviation = ("query 1 of UPDATE counts by alice", option)
    result = run_once(Job(scenario=one_query, seed=0, source=Recorded([deviation])))
    assert len(result.deviations) == 1, (fault, deviation)
    return outcomes[0][0], totals[0], outcomes[0][1]


def table_of_queries() -> str:
    """Return the table of what a query comes to, of every fault that can meet one."""
    rows = ["| fault | option | who asked has | after | stored |", "|---|---|---|---|---|"]
    for kind in KINDS:
        first = f"| `{kind.__name__}` "
        for site, option in options_of(kind):
            if site == "query":
                outcome, total, after = asked_under(kind(), option.name)
                rows.append(f"{first}| `{option.name}` | {outcome} | {after:g} s | {total} |")
                first = "| "
    return "\n".join(rows)


TABLES = {"faults": table_of_faults, "outcomes": table_of_outcomes, "queries": table_of_queries}


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

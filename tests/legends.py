"""What the legends in docs/ must say; `python -m tests.legends` writes the table of faults."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from durasim.sim.choices import Option
from durasim.sim.faults import KINDS, Fault, Subject, options_at

from .tidy import ROOT

FAULTS = ROOT / "docs" / "faults.md"
BEGIN, END = "<!-- table of faults -->", "<!-- end of the table -->"

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


def main() -> None:
    """Write the table."""
    before, _, rest = FAULTS.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    FAULTS.write_text(f"{before}{BEGIN}\n\n{table_of_faults()}\n\n{END}{after}")


if __name__ == "__main__":
    main()

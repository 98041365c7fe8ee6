"""The lessons and findings, as documents: each says how it is run, and shows the chart of that.

    python -m tests.runs.lessons

brings the charts up to date.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from ..tidy import ROOT

__all__ = ["DOCUMENTS", "chart_in", "chart_of", "command_in"]

FINDINGS = [file.with_suffix(".md") for file in (ROOT / "docs/findings").glob("*.json")]
"""Each beside the file that replays it; the other documents there are tables."""
DOCUMENTS = sorted([*(ROOT / "docs/lessons").glob("*.md"), *FINDINGS])
COMMAND = re.compile(r"^    durasim (.+)$", re.MULTILINE)
CHART = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)


def command_in(document: Path) -> list[str]:
    """Return the arguments of the one command of a document."""
    (command,) = COMMAND.findall(document.read_text())
    return shlex.split(command)


def chart_in(document: Path) -> str:
    """Return the one chart of a document."""
    (found,) = CHART.findall(document.read_text())
    return str(found)


def chart_of(document: Path) -> tuple[int, str]:
    """Run the command of a document; returns its exit status and its chart."""
    arguments = [
        str(ROOT / each) if each.endswith(".json") else each for each in command_in(document)
    ]
    command = "import sys; from durasim.sim.cli import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", command, *arguments, "--mermaid"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    (chart,) = CHART.findall(ran.stdout) or [ran.stdout]
    return ran.returncode, str(chart)


def update() -> None:
    """Write the chart of each document into it."""
    for document in DOCUMENTS:
        _, chart = chart_of(document)
        text = document.read_text()
        document.write_text(text.replace(chart_in(document), chart))


if __name__ == "__main__":
    update()

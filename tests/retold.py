"""`python -m tests.retold DOCUMENT...` writes into documents what their commands print now.

For when the program has changed on purpose: look at the difference before it is committed. What
agrees already is left as it is, `…` included.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .tidy import ROOT
from .transcript import Command, Mismatch, mismatches


def retold(text: str, wrong: Sequence[Mismatch]) -> str:
    """Return *text* with what was printed in place of what was expected."""
    lines = text.splitlines()
    for each in sorted(wrong, key=lambda each: each.command.line, reverse=True):
        first, end = extent(each.command)
        status = [f"[{each.status}]"] if each.status else []
        printed = list(each.printed)
        while printed and not printed[-1]:
            printed.pop()
        lines[first:end] = [*printed, *status]
    return "\n".join(lines) + "\n"


def extent(command: Command) -> tuple[int, int]:
    """Return where what follows *command* begins and ends, as indices of lines."""
    first = command.line + command.text.count("\n")
    return first, first + len(command.expected) + (command.status != 0)


def main() -> int:
    """Rewrite the documents that are named."""
    for name in sys.argv[1:]:
        path = Path(name)
        text = path.read_text()
        with tempfile.TemporaryDirectory() as room:
            folder = Path(room) / "document"
            shutil.copytree(ROOT / "examples", folder / "examples")
            wrong = mismatches(name, text, folder)
        path.write_text(retold(text, wrong))
        print(f"{name}: {len(wrong)} commands print something else")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
